"""What waiting for a replica costs, and what is lost without: `python -m tests.scale.measure`.

Both in a set with sentinels on this machine, where a replica is as near as it can be.
"""

import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from service.errors import StoreUnavailable
from service.game import Game
from service.servers import Servers
from service.store import LostRace, Store
from tests.fleets import sentinel_set
from tests.patience import until
from tests.test_store import EXPIRY, change, create

COMMITS = 1_000
WRITERS = 8
TRIALS = 10


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        cost(Path(directory))
        for replicas in (0, 1):
            losses = [loss(Path(directory), trial, replicas) for trial in range(TRIALS)]
            print(f"kill -9 of the primary, {replicas} replicas waited for: moves lost {losses}")


def cost(directory: Path) -> None:
    with sentinel_set(directory) as fleet:
        servers = Servers(fleet.url, 0.8)
        stores = [Store(servers, EXPIRY, replicas=replicas) for replicas in (0, 1)]
        for writers in (1, WRITERS):
            times: tuple[list[float], list[float]] = ([], [])

            def write(_: int, times: tuple[list[float], list[float]] = times) -> None:
                game = create(stores[0], public=False)
                for number in range(COMMITS):
                    began = time.perf_counter()
                    game = change(stores[number % 2], game)
                    times[number % 2].append(time.perf_counter() - began)

            with ThreadPoolExecutor(writers) as threads:
                list(threads.map(write, range(writers)))
            without, waiting = map(statistics.median, times)
            print(
                f"{writers} at once: {1e3 * without:.2f} ms a commit, {1e3 * waiting:.2f} ms with"
                f" one replica: {waiting / without:.2f} times"
            )


def loss(directory: Path, trial: int, replicas: int) -> int:
    """How many of the acknowledged moves are gone when the primary is killed under load."""
    place = directory / f"{replicas}-{trial}"
    place.mkdir()
    with sentinel_set(place) as fleet:
        servers = Servers(fleet.url, 0.8)
        store = Store(servers, EXPIRY, replicas=replicas)
        gone = fleet.primary()
        games = [create(Store(servers, EXPIRY, replicas=1), public=False) for _ in range(WRITERS)]

        def write(game: Game) -> Game:
            """The game as it was acknowledged last."""
            with suppress(StoreUnavailable, LostRace):
                while True:
                    game = change(store, game)
            return game

        with ThreadPoolExecutor(WRITERS) as threads:
            writing = [threads.submit(write, game) for game in games]
            time.sleep(1)
            gone.kill()
            written = [last.result() for last in writing]
        until(lambda: fleet.primary() is not gone)
        kept = [Store(Servers(fleet.url, 0.8), EXPIRY).load(game.id) for game in written]
        return sum(
            max(0, told.version - stored.version)
            for told, stored in zip(written, kept, strict=True)
        )


if __name__ == "__main__":
    main()
