"""Fixtures for tests over HTTP."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.embedded import EmbeddedStore
from tests.http.tables import Clock, House


@pytest.fixture(scope="session")
def house(redis_url: str) -> House:
    """The service as it is."""
    return House(redis_url)


@pytest.fixture(scope="session")
def house_with_a_clock(redis_url: str) -> House:
    """One for all tests that ask for `timed_house`."""
    return House(redis_url, Clock())


@pytest.fixture
def clock(house_with_a_clock: House) -> Clock:
    """The clock of `timed_house`; it shows the time of day when a test begins."""
    clock = house_with_a_clock.clock
    assert clock is not None
    clock.set()
    return clock


@pytest.fixture
def timed_house(house_with_a_clock: House, clock: Clock) -> House:
    """The service with a clock that the test moves on."""
    return house_with_a_clock


@pytest.fixture
def valkey() -> Iterator[EmbeddedStore]:
    """A server of the test's own, free to be killed; its socket's path has to be short."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedStore(Path(directory)) as store:
        yield store


@pytest.fixture
def fragile(valkey: EmbeddedStore) -> House:
    """The service on a store that can be killed."""
    return House(valkey.url)
