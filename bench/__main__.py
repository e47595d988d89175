"""`make bench`: measure, and print tables; with --json also write them for programs."""

import json
import platform
import sys
import time
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

from bench.figures import Effort, lines, objects

SECTIONS = ("moves", "matches", "looks", "engine", "waiting", "sizes", "growth", "starting")
"""The modules with a `measure(effort) -> Section`, in the order in which they are run."""


def main() -> int:
    """Run what was asked for; 0 whatever the figures are."""
    parser = ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, metavar="SECTION")
    parser.add_argument("--rounds", type=int, default=5, help="how often all is measured in turn")
    parser.add_argument("--seconds", type=float, default=4.0, help="of one measurement, about")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    asked = parser.parse_args()
    effort = Effort(asked.rounds, asked.seconds)
    found = []
    for name in asked.only:
        began = time.monotonic()
        section = import_module(f"bench.{name}").measure(effort)
        found.append(section)
        print("\n".join(lines([section])), flush=True)
        print(f"({time.monotonic() - began:.0f} s)\n", flush=True)
    if asked.json:
        about = {"python": platform.python_version(), "machine": platform.machine()}
        asked.json.write_text(json.dumps(about | {"sections": objects(found)}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
