"""What the processes that are started here have in common."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG = 1

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What somebody sends to end us."""


def usable_cores(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """How many cores this process may keep busy, the limit of a container or unit considered.

    `groups` is where Linux shows its control groups.
    """
    if sys.platform != "linux":
        return os.cpu_count() or 1
    cores = len(os.sched_getaffinity(0))
    with suppress(OSError, ValueError):  # no control groups, or no limit: "max 100000"
        own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
        quota, period = (groups / own / "cpu.max").read_text().split()
        cores = min(cores, max(1, ceil(int(quota) / int(period))))
    return cores


def end_with_parent() -> Callable[[], None] | None:
    """What a new process does first, on Linux, so that it ends with the thread that starts it."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ends_with_parent() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return ends_with_parent


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let what ends a process at once leave it in order, so that its children end too.

    The first such signal does so, as KeyboardInterrupt or SystemExit; whoever presses Ctrl-C again
    does not break off what is done then. For the main thread, as are signals.
    """
    told: list[int] = []

    def leave(number: int, _: FrameType | None) -> None:
        told.append(number)
        for each in _ENDING:
            # Not SIG_IGN: a process that was started now would ignore them for ever.
            signal.signal(each, _pass)
        with suppress(OSError):  # not print(), which may be what was interrupted
            os.write(2, b"\nEnding what was started; that takes some seconds.\n")
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            # Once told to end the process does, and who says so again breaks off nothing of the
            # rest. It starts no process any more, which would ignore them too.
            signal.signal(number, signal.SIG_IGN if told else handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put signals that would end us off until the block is done, so that it is done altogether."""
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number)) for number in _ENDING
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _pass(_: int, __: FrameType | None) -> None:
    """Let it be."""
