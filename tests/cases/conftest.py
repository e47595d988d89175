"""The service that the cases play on, with a real store."""

import pytest

from service.app import create_app
from service.config import Config
from service.servers import Servers
from service.store import Store
from service.tables import Tables
from service.watch import Watch
from tests.cases.online import Service
from tests.http.tables import EXPIRY, Clock


@pytest.fixture(scope="session")
def service(redis_url: str) -> Service:
    """The app as it is served; each test makes tables of its own."""
    return Service(
        create_app(Config(redis_url=redis_url, redis_timeout_seconds=10, rate_limits=False)),
        redis_url,
    )


@pytest.fixture(scope="session")
def clock() -> Clock:
    """The time of `timed_service`; it stands still until a test moves it on."""
    return Clock()


@pytest.fixture(scope="session")
def timed_service(redis_url: str, clock: Clock) -> Service:
    """The service with a clock that the test moves on."""
    app = create_app(Config(redis_url=redis_url, rate_limits=False))
    app.extensions["tables"] = Tables(
        Store(Servers(redis_url, 10), EXPIRY), Watch(Servers(redis_url, 2)), clock
    )
    return Service(app, redis_url)
