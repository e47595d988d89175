"""The service that the cases play on, with a real store."""

import pytest

from service.app import create_app
from service.config import Config
from tests.cases.online import Service


@pytest.fixture(scope="session")
def service(redis_url: str) -> Service:
    """The app as it is served; each test makes tables of its own."""
    return Service(create_app(Config(redis_url=redis_url, redis_timeout_seconds=10)), redis_url)
