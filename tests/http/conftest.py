"""Fixtures for tests over HTTP."""

import pytest

from tests.http.tables import Clock, House


@pytest.fixture(scope="session")
def house(redis_url: str) -> House:
    """The service as it is."""
    return House(redis_url)


@pytest.fixture
def clock() -> Clock:
    """The clock of `timed_house`."""
    return Clock()


@pytest.fixture
def timed_house(redis_url: str, clock: Clock) -> House:
    """The service with a clock that the test moves on."""
    return House(redis_url, clock)
