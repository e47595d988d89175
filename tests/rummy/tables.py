"""Why a table cannot be made, in short."""

import pytest

from service.errors import OptionsRefused
from service.rummy.rules import OptionValue, agree


def reasons(variant: str, players: int, /, **chosen: OptionValue) -> list[tuple[str, str]]:
    """The option and the clause of every problem with these choices."""
    with pytest.raises(OptionsRefused) as caught:
        agree(variant, players, chosen)
    for problem in caught.value.problems:
        assert problem.reason
        if problem.option in chosen:
            assert problem.value == chosen[problem.option]
    return [(problem.option, problem.rule) for problem in caught.value.problems]
