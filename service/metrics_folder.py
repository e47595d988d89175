"""The folder in which the workers count, so that any of them can tell the sum over all.

Used by the master of gunicorn, which therefore does not import the library that counts: that is
for the workers, after gevent has patched what it builds on. Each worker has a number, the lowest
that no living one has, and goes on with the files of the last one that had it. So there are never
more files than workers at a time, what was counted stays when a worker ends or is killed, and how
often that happens makes no difference.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where the library looks for the folder."""

_PREFIX = "rummy-metrics-"
_PLACES = ("/dev/shm", tempfile.gettempdir)  # noqa: S108 (a name of its own is made there)


class _Own:
    """What this process has: set in the master before the workers are forked, then in each."""

    folder: Path | None = None
    number = 0


def folder() -> Path | None:
    """The folder; None where a single process counts for itself."""
    return _Own.folder


def number() -> int:
    """The number of this worker."""
    return _Own.number


def hooks() -> dict[str, Callable[..., None]]:
    """What gunicorn has to call, by the names of its settings."""
    return {
        "on_starting": _make,
        "pre_fork": _give_number,
        "post_fork": _take_number,
        "child_exit": _forget,
        "on_exit": _remove,
    }


def _make(_: Any) -> None:
    """Make the folder, empty. Leaves by SystemExit if there is no place for it."""
    for place in _PLACES:
        with suppress(OSError):
            parent = Path(place() if callable(place) else place)
            _remove_abandoned(parent)
            _Own.folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
            os.environ[_VARIABLE] = str(_Own.folder)
            return
    sys.exit(
        "Error: There is no place to count in: let TMPDIR name a folder that can be written,"
        " or set RUMMY_METRICS=false."
    )


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders of masters that were killed."""
    for left in parent.glob(f"{_PREFIX}*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and left.stat().st_uid == os.getuid() and not _is_alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _give_number(master: Any, worker: Any) -> None:
    taken = {other.metrics_number for other in master.WORKERS.values()}
    worker.metrics_number = next(free for free in range(len(taken) + 1) if free not in taken)


def _take_number(_: Any, worker: Any) -> None:
    _Own.number = worker.metrics_number
    _forget(_, worker)  # should the master not have heard of the last one's end


def _forget(_: Any, worker: Any) -> None:
    """What a worker did at the moment when it ended is not being done any more."""
    if _Own.folder is not None:
        # As prometheus_client.multiprocess.mark_process_dead does.
        for file in _Own.folder.glob(f"gauge_live*_{worker.metrics_number}.db"):
            file.unlink(missing_ok=True)


def _remove(_: Any) -> None:
    if _Own.folder is not None:
        shutil.rmtree(_Own.folder, ignore_errors=True)
