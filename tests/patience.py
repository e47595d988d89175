"""Waiting in tests for what comes by itself, sooner or later by how busy the machine is."""

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds; what is not there by then will not come."""


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return as soon as it is so; fail if it is not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
