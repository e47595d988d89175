"""A `rummy serve` of its own for tests that come from outside."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUMMY = (sys.executable, "-c", "from service.cli import main; main(prog_name='rummy')")
"""The command, whether it is installed or not."""

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("RUMMY_")},
    "RUMMY_RATE_LIMITS": "false",  # tests ask for more than anybody else
}


@contextmanager
def serving(data: Path, **environment: str) -> Iterator[str]:
    """The address of a service that keeps its games there, while it runs, on any free port.

    `environment` are its settings; there are no rate limits unless they say so.
    """
    process = subprocess.Popen(
        [*RUMMY, "serve", "--port=0", "--workers=1", f"--data-dir={data}"],
        cwd=ROOT,
        env=ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        greeting = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", greeting)
        assert found, greeting
        yield found.group()
    finally:
        process.terminate()
        process.wait(15)
        process.stdout.close()
