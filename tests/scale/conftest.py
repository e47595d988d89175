"""A set with sentinels and a cluster for the tests of this folder, in order before each of them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.fleets import Fleet, cluster, sentinel_set


class Dock:
    """Has a fleet that is in order. One that a test has upset is put right, or replaced by another.

    Sentinels take ten seconds to put a set right, which is longer than making a new one.
    """

    def __init__(
        self,
        make: Callable[[Path], AbstractContextManager[Fleet]],
        new_directory: Callable[[], Path],
    ) -> None:
        self._make = make
        self._new_directory = new_directory
        self._stack = ExitStack()
        self._fleet: Fleet | None = None

    def fleet(self) -> Fleet:
        if self._fleet is not None and self._fleet.sentinels and not self._fleet.is_settled():
            self.close()
        if self._fleet is None:
            self._fleet = self._stack.enter_context(self._make(self._new_directory()))
        self._fleet.revive()
        return self._fleet

    def close(self) -> None:
        self._stack.close()
        self._fleet = None


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dock]:
    dock = Dock(sentinel_set, lambda: tmp_path_factory.mktemp("set"))
    yield dock
    dock.close()


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dock]:
    dock = Dock(cluster, lambda: tmp_path_factory.mktemp("cluster"))
    yield dock
    dock.close()


@pytest.fixture
def sentinels(sets: Dock) -> Fleet:
    return sets.fleet()


@pytest.fixture
def nodes(clusters: Dock) -> Fleet:
    return clusters.fleet()


@pytest.fixture(params=["sentinels", "nodes"])
def fleet(request: pytest.FixtureRequest) -> Fleet:
    """First the one, then the other."""
    found: Fleet = request.getfixturevalue(request.param)
    return found
