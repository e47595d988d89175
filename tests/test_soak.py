"""People play at a few tables while one trouble after another is made: the short form of a soak.

`make soak` does the same with many tables, for longer (CONTRIBUTING.md).
"""

import sys
from collections.abc import Callable, Iterator

import pytest

from tests.soak.soak import Soak, lines, soaking
from tests.soak.troubles import TROUBLES, Setting, name_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

TABLES = 12
SECONDS = 2.0


@pytest.fixture(scope="module")
def soak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soak]:
    with soaking(tmp_path_factory.mktemp("soak"), TABLES, pause=0.2) as soak:
        soak.warm_up(SECONDS)
        yield soak


@pytest.mark.parametrize("trouble", TROUBLES, ids=name_of)
def test_no_move_is_lost_and_nothing_stays_behind(
    soak: Soak, trouble: Callable[[Setting], None]
) -> None:
    row = soak.give(trouble, SECONDS)
    told = "\n".join(lines([row]))
    assert row.is_well, told
    assert row.acknowledged, told
    if row.skipped:
        pytest.skip(row.skipped)
