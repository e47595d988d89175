"""A disk that a test can fill: one of its own, in memory."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BLOCK = bytes(64 * 1024)


class NoDisk(Exception):
    """No disk can be made on this machine."""


class SmallDisk:
    """A directory with a file system of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filling = path / "filling"

    def fill(self, left: int = 0) -> None:
        """Leave so many bytes on it, to within a block."""
        room = shutil.disk_usage(self.path).free - left
        try:
            with self._filling.open("ab", buffering=0) as file:
                for _ in range(room // len(_BLOCK) + (left == 0)):
                    file.write(_BLOCK)
        except OSError:
            assert left == 0

    def empty(self) -> None:
        """Take away what it was filled with."""
        self._filling.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """The disk as long as the block lasts. Raises NoDisk."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise NoDisk("A disk that is to be filled can be mounted by root only, on Linux.") from None
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
