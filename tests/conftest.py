"""Fixtures for all tests: a real Valkey always, a service that is served, and the contract."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.api import contract
from service.app import create_app
from service.config import Config
from service.embedded import EmbeddedStore
from tests.fleets import cluster, sentinel_set
from tests.serving import served_at


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One Valkey for the session, or the server that RUMMY_TEST_REDIS_URL names."""
    if url := os.environ.get("RUMMY_TEST_REDIS_URL"):
        yield url
        return
    with EmbeddedStore(tmp_path_factory.mktemp("valkey")) as store:
        yield store.url


@pytest.fixture(scope="session", params=["valkey", "redis", "sentinel", "cluster"])
def each_redis_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The session's Valkey, Debian's Redis if it is installed, a set with sentinels, a cluster."""
    directory = tmp_path_factory.mktemp(request.param)
    match request.param:
        case "valkey":
            yield request.getfixturevalue("redis_url")
        case "redis":
            binary = shutil.which("redis-server")
            if binary is None:
                pytest.skip("redis-server is not installed")
            with EmbeddedStore(directory, binary=Path(binary)) as store:
                yield store.url
        case "sentinel":
            with sentinel_set(directory) as fleet:
                yield fleet.url
        case "cluster":
            with cluster(directory) as fleet:
                yield fleet.url


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one running `rummy serve`; who stops it takes one of their own."""
    with served_at(tmp_path_factory.mktemp("served")) as address:
        yield address


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """The contract as the code makes it, which takes no store. Change only copies of it."""
    return contract(create_app(Config(redis_url="redis://localhost:1")))
