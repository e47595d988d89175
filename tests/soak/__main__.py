"""`make soak`: all troubles, one after another, for about so many seconds."""

import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path

from tests.soak.soak import Row, Stuck, lines, soaking
from tests.soak.troubles import TROUBLES, name_of


def main() -> int:
    """Soak a service; 1 if anything was not as it should be."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--only", help="a part of the names of the troubles to be made")
    asked = parser.parse_args()
    troubles = [each for each in TROUBLES if (asked.only or "") in name_of(each)]
    each = asked.seconds / (len(troubles) + 1)
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as directory,
        soaking(Path(directory), asked.tables, pause=1.0) as soak,
    ):
        soak.warm_up(each / 2)
        for trouble in troubles:
            began = time.monotonic()
            try:
                rows.append(soak.give(trouble, each * 0.6))
            except Stuck as error:
                rows.append(Row(name_of(trouble), wrong=[str(error)]))
                break
            print(f"{rows[-1].trouble}: {time.monotonic() - began:.0f} s", flush=True)
    print("\n".join(lines(rows)))
    return 0 if all(row.is_well for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
