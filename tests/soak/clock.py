"""A clock for some processes alone, so that it can be set while they run."""

import shutil
import struct
import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).with_name("clock.c")


class NoClock(Exception):
    """No such clock can be made on this machine."""


class Clock:
    """What processes that are started with its environment take for the time of day."""

    def __init__(self, directory: Path) -> None:
        """Make it, with a file of its own in the directory. Raises NoClock."""
        compiler = shutil.which("cc")
        if compiler is None or sys.platform != "linux":
            raise NoClock("A clock that can be set takes Linux and a C compiler.")
        self._path = directory / "clock"
        library = directory / "clock.so"
        self.set(0)
        built = subprocess.run(
            [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(_SOURCE)],
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode:
            raise NoClock(f"A clock that can be set could not be compiled: {built.stderr}")
        self.environment = {"LD_PRELOAD": str(library), "SOAK_CLOCK": str(self._path)}

    def set(self, seconds_ahead: int) -> None:
        """Let it be so much later than it is, from now on; below 0, earlier."""
        nanoseconds = struct.pack("=q", seconds_ahead * 1_000_000_000)
        # Written over: the processes have a part of their memory in this file.
        if self._path.exists():
            with self._path.open("r+b") as file:
                file.write(nanoseconds)
        else:
            self._path.write_bytes(nanoseconds)
