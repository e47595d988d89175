"""Jokers: what they may stand for, that it stays so, and how they are swapped out."""

import pytest

from service.errors import (
    DoesNotFit,
    DrawFirst,
    JokerMisnamed,
    JokerUnclear,
    NoJokerThere,
    NoSuchMeld,
    NoSwaps,
    NotAMeld,
    NotInHand,
    NotYourTurn,
)
from service.rummy.cards import JOKER, pack
from service.rummy.engine import new_match
from service.rummy.legal import legal_moves
from service.rummy.model import LayMeld, LayOff, Match
from service.rummy.rules import PRESETS, agree
from tests.positions import (
    after,
    cards,
    deal_of,
    hand_of,
    move,
    on_table,
    position,
    refusal,
    step,
)

clause = pytest.mark.clause
every_preset = pytest.mark.parametrize("variant", PRESETS)


def holding(text: str, **options: object) -> Match:
    """A position with those cards and a king to discard, and eight jokers in the pack."""
    held = " ".join(word.partition("=")[0] for word in text.split())
    return position(hands=f"{held} KD | 2D", jokers=8, **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------- jokers.1


@clause("jokers.1", "seven-card.6", "parlett.6")
@every_preset
@pytest.mark.parametrize(
    ("text", "lies"),
    [
        ("meld 4H JK=5H 6H", "4H JK=5H 6H"),
        ("meld JK=4H 5H 6H", "JK=4H 5H 6H"),
        ("meld 4H 5H JK=6H", "4H 5H JK=6H"),
        ("meld 4H JK=5H JK=6H 7H", "4H JK=5H JK=6H 7H"),
        ("meld 4H JK=6H JK=5H 7H", "4H JK=5H JK=6H 7H"),
        ("meld JK=AS 2S 3S", "JK=AS 2S 3S"),
        ("meld JK=3H JK=4H JK=5H 6H", "JK=3H JK=4H JK=5H 6H"),
        ("meld 3C 3D JK=3S", "3C 3D JK=3S"),
        ("meld 3C JK=3H JK=3S", "3C JK=3H JK=3S"),
        ("meld 3C JK=3D JK=3H JK=3S", "3C JK=3D JK=3H JK=3S"),
        ("meld 4H JK=5H JK=6H JK=7H JK=8H JK=9H JK=TH JK=JH JK=QH",
         "4H JK=5H JK=6H JK=7H JK=8H JK=9H JK=TH JK=JH JK=QH"),
    ],
)  # fmt: skip
def test_a_joker_stands_for_any_card_and_several_may_lie_side_by_side(
    variant: str, text: str, lies: str
) -> None:
    match = holding(text.removeprefix("meld "), variant=variant)
    assert on_table(after(match, text), 1) == lies


@clause("jokers.1")
@pytest.mark.parametrize(
    "text", ["meld JK JK JK", "meld JK=4H JK=5H JK=6H", "meld JK=4H JK=4C JK=4D JK=4S"]
)
def test_at_least_one_card_of_a_meld_is_natural(text: str) -> None:
    refusal(holding(text.removeprefix("meld ")), text, NotAMeld, "jokers.1")


@clause("jokers.1")
@pytest.mark.parametrize("jokers", range(9))
def test_the_pack_has_as_many_jokers_as_agreed(jokers: int) -> None:
    for variant in PRESETS:
        if (variant, jokers) == ("parlett", 1):
            continue
        match, _ = new_match(agree(variant, 2, {"jokers": jokers, "deals": 1}), "any")
        deal = deal_of(match)
        everything = [*deal.stock, *deal.pile, *deal.hands[0], *deal.hands[1]]
        assert everything.count(JOKER) == jokers
        assert len(everything) == len(pack(1, jokers))


@clause("jokers.1")
@pytest.mark.parametrize(
    ("meld", "text", "lies"),
    [
        ("5H 6H 7H", "layoff 1 JK=8H", "5H 6H 7H JK=8H"),
        ("5H 6H 7H", "layoff 1 JK=4H", "JK=4H 5H 6H 7H"),
        ("5H 6H 7H", "layoff 1 JK=4H JK=8H", "JK=4H 5H 6H 7H JK=8H"),
        ("5H 6H 7H", "layoff 1 JK=8H 9H", "5H 6H 7H JK=8H 9H"),
        ("5H 6H 7H", "layoff 1 JK=8H JK=9H", "5H 6H 7H JK=8H JK=9H"),
        ("7C 7D 7H", "layoff 1 JK=7S", "7C 7D 7H JK=7S"),
        ("QH KH JK=JH", "layoff 1 JK=TH", "JK=TH JK=JH QH KH"),
    ],
)
def test_a_joker_is_laid_off_like_the_card_it_stands_for(meld: str, text: str, lies: str) -> None:
    match = position(hands="JK JK 9H KD | 2D", jokers=8, melds=f"1: {meld}")
    assert on_table(after(match, text), 1) == lies


# ------------------------------------------------------------------------------- jokers.2


@clause("jokers.2")
@pytest.mark.parametrize(
    ("text", "lies"),
    [
        ("meld 4H JK 6H", "4H JK=5H 6H"),
        ("meld QH KH JK", "JK=JH QH KH"),
        ("meld AH 2H JK", "AH 2H JK=3H"),
        ("meld 7C 7D 7H JK", "7C 7D 7H JK=7S"),
        ("meld 3H JK JK 6H", "3H JK=4H JK=5H 6H"),
        ("meld AH JK JK 4H", "AH JK=2H JK=3H 4H"),
        ("meld JK AC 2C 3C 4C 5C 6C 7C 8C 9C TC JC QC",
         "AC 2C 3C 4C 5C 6C 7C 8C 9C TC JC QC JK=KC"),
    ],
)  # fmt: skip
def test_the_card_may_be_left_out_where_exactly_one_is_possible(text: str, lies: str) -> None:
    assert on_table(after(holding(text.removeprefix("meld ")), text), 1) == lies


@clause("jokers.2")
@pytest.mark.parametrize(
    ("text", "choices", "options"),
    [
        ("meld 5H 6H JK", {"4H", "7H"}, {}),
        ("meld 7C 7D JK", {"7H", "7S"}, {}),
        ("meld QH KH JK", {"JH", "AH"}, {"aces": "high_or_low"}),
        ("meld 7C 7D 7H JK", {"7C", "7D", "7H", "7S"}, {"decks": 2}),
        ("meld 4H JK JK 6H", {"3H 5H", "5H 7H"}, {}),
        ("meld KC JK JK", {"JC QC", "KD KH", "KD KS", "KH KS"}, {}),
        ("meld 4H JK 6H JK=5H", None, {}),
    ],
)
def test_the_service_asks_rather_than_guesses(
    text: str, choices: set[str] | None, options: dict[str, object]
) -> None:
    match = holding(text.removeprefix("meld "), **options)
    if choices is None:
        refusal(match, text, JokerMisnamed, "jokers.2")
        return
    error = refusal(match, text, JokerUnclear, "jokers.2")
    asked = error.params["choices"]
    assert isinstance(asked, tuple)
    assert {" ".join(sorted(str(choice).split())) for choice in asked} == {
        " ".join(sorted(choice.split())) for choice in choices
    }


@clause("jokers.2")
@pytest.mark.parametrize(
    ("meld", "text", "lies"),
    [
        ("7C 7D 7H", "layoff 1 JK", "7C 7D 7H JK=7S"),
        ("AH 2H 3H", "layoff 1 JK", "AH 2H 3H JK=4H"),
        ("JH QH KH", "layoff 1 JK", "JK=TH JH QH KH"),
        ("5H 6H 7H", "layoff 1 JK 9H", "5H 6H 7H JK=8H 9H"),
        ("5H 6H 7H", "layoff 1 JK", None),
        ("5H 6H 7H", "layoff 1 JK JK", None),
        ("5H 6H 7H", "layoff 1 8H JK", None),
        ("2C 3C 4C 5C 6C 7C 8C JK=9C TC JC QC", "layoff 1 JK JK",
         "JK=AC 2C 3C 4C 5C 6C 7C 8C JK=9C TC JC QC JK=KC"),
    ],
)  # fmt: skip
def test_the_same_holds_for_layoffs(meld: str, text: str, lies: str | None) -> None:
    match = position(hands="JK JK 9H 8H KD | 2D", jokers=8, melds=f"1: {meld}")
    if lies is None:
        refusal(match, text, JokerUnclear, "jokers.2")
    else:
        assert on_table(after(match, text), 1) == lies


@clause("jokers.2")
@pytest.mark.parametrize(
    "meld",
    [
        "2H 3H 4H 5H 6H 7H 8H 9H TH JH QH",
        "3H 4H 5H 6H 7H 8H 9H TH JH QH KH",
    ],
)
def test_a_run_of_thirteen_has_each_rank_once_wherever_its_ace_lies(meld: str) -> None:
    match = position(hands="JK JK KD | 2D", jokers=2, melds=f"1: {meld}", aces="high_or_low")
    match = after(match, "layoff 1 JK JK")
    assert len(deal_of(match).melds[0].faces) == 13


@clause("jokers.2")
def test_both_places_of_an_ace_beside_a_long_run_are_the_same_card() -> None:
    long_run = "2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH"
    match = position(hands="JK KD | 2D", jokers=2, melds=f"1: {long_run}", aces="high_or_low")
    assert "JK=AH" in on_table(after(match, "layoff 1 JK"), 1)


@clause("jokers.2")
@pytest.mark.parametrize(
    ("text", "error", "rule"),
    [
        ("meld 5H JK=8H 7H", NotAMeld, "common.4"),
        ("meld 5H 6H JK=8H", NotAMeld, "common.4"),
        ("meld 5H 6H JK=5H", NotAMeld, "common.4"),
        ("meld 5H 6H JK=7C", NotAMeld, "common.4"),
        ("meld 7C 7D JK=7C", NotAMeld, "common.5"),
        ("meld 7C 7D JK=8H", NotAMeld, "common.4"),
        ("meld 7C 7D 7H 7S JK", NotAMeld, "common.5"),
        ("meld 7C 7D 7H 7S JK=7S", NotAMeld, "common.5"),
        ("meld QH KH JK=AH", NotAMeld, "common.4"),
        ("meld KH JK=AH 2H", NotAMeld, "common.4"),
        ("meld 4H JK 8H", NotAMeld, "common.4"),
        ("meld 4H 5C JK", NotAMeld, "common.4"),
        ("meld 4H JK", NotAMeld, "common.4"),
        ("meld 4H JK=JK 6H", JokerMisnamed, "jokers.2"),
    ],
)
def test_a_joker_cannot_stand_for_a_card_that_makes_no_meld(
    text: str, error: type[NotAMeld], rule: str
) -> None:
    refusal(holding(text.removeprefix("meld ")), text, error, rule)


@clause("jokers.2")
@pytest.mark.parametrize(
    ("made", "unlike"),
    [
        (LayMeld(cards("4H JK 6H"), cards("5H 7H")), "more names than jokers"),
        (LayMeld(cards("4H JK JK 7H"), cards("5H")), "fewer names than jokers"),
        (LayMeld(cards("4H 5H 6H"), cards("7H")), "a name without a joker"),
        (LayMeld(cards("4H JK 6H"), ("JK",)), "a joker for a joker"),
        (LayOff(1, cards("7S"), cards("7S")), "a name without a joker"),
        (LayOff(1, cards("JK"), cards("7S 7S")), "more names than jokers"),
        (LayOff(1, cards("JK"), ("JK",)), "a joker for a joker"),
    ],
)
def test_there_is_one_name_for_each_joker(made: LayMeld | LayOff, unlike: str) -> None:
    match = position(hands="4H 5H 6H 7H 7S JK JK KD | 2D", jokers=3, melds="0: 7C 7D JK=7H",
                     decks=2)  # fmt: skip
    assert refusal(match, made, JokerMisnamed, "jokers.2").params["cards"] == made.cards, unlike


@clause("jokers.2", "common.5")
@pytest.mark.parametrize("decks", [1, 2])
def test_a_fifth_card_of_a_set_needs_a_second_deck(decks: int) -> None:
    match = position(hands="JK KD | 2D", jokers=2, melds="0: 7C 7D 7H 7S", decks=decks)
    if decks == 1:
        for text in ("layoff 1 JK", "layoff 1 JK=7S"):
            refusal(match, text, DoesNotFit, "common.5")
    else:
        refusal(match, "layoff 1 JK", JokerUnclear, "jokers.2")
        assert on_table(after(match, "layoff 1 JK=7S"), 1) == "7C 7D 7H 7S JK=7S"


@clause("jokers.2")
@pytest.mark.parametrize("decks", [1, 2])
def test_a_joker_may_equal_a_card_in_another_meld(decks: int) -> None:
    match = position(
        hands="5H JK 7H KD | 2D", jokers=2, melds="0: 6C 6D 6H; 1: 6S 7S 8S", decks=decks
    )
    assert on_table(after(match, "meld 5H JK 7H"), 3) == "5H JK=6H 7H"


@clause("jokers.2")
def test_a_joker_never_slides_to_another_place() -> None:
    match = position(hands="4H 7H 8H 3H | 2D", jokers=2, melds="0: 5H 6H JK=7H")
    refusal(match, "layoff 1 7H", DoesNotFit, "common.4")
    match = after(match, "layoff 1 4H", "layoff 1 8H")
    assert on_table(match, 1) == "4H 5H 6H JK=7H 8H"
    match = position(hands="4H 7H 8H 3H | 2D", jokers=2, melds="0: JK=4H 5H 6H")
    refusal(match, "layoff 1 4H", DoesNotFit, "common.4")
    assert on_table(after(match, "layoff 1 7H 3H"), 1) == "3H JK=4H 5H 6H 7H"
    match = position(hands="7S 7H 8H | 2D", jokers=2, melds="0: 7C 7D JK=7S")
    refusal(match, "layoff 1 7S", DoesNotFit, "common.5")
    assert on_table(after(match, "layoff 1 7H"), 1) == "7C 7D 7H JK=7S"


@clause("jokers.2", "seven-card.6", "parlett.6")
def test_a_joker_as_an_ace_follows_the_agreement_about_aces() -> None:
    for aces in ("low", "high_or_low"):
        match = position(hands="JK QS KS 2S 3S KD | 2D", jokers=2, aces=aces)
        assert on_table(after(match, "meld JK=AS 2S 3S"), 1) == "JK=AS 2S 3S"
        refusal(match, "meld KS JK=AS 2S", NotAMeld, "common.4")
        if aces == "low":
            refusal(match, "meld QS KS JK=AS", NotAMeld, "common.4")
        else:
            assert on_table(after(match, "meld QS KS JK=AS"), 1) == "QS KS JK=AS"


# ------------------------------------------------------------------------------- jokers.3


@clause("jokers.3", "seven-card.6")
@every_preset
@pytest.mark.parametrize(
    ("melds", "text", "lies"),
    [
        ("0: 4H JK=5H 6H", "swap 1 5H", "4H 5H 6H"),
        ("1: 4H JK=5H 6H", "swap 1 5H", "4H 5H 6H"),
        ("1: 7C 7D JK=7S", "swap 1 7S", "7C 7D 7S"),
        ("1: JK=5H JK=6H 7H", "swap 1 5H", "5H JK=6H 7H"),
        ("1: JK=AS 2S 3S", "swap 1 AS", "AS 2S 3S"),
    ],
)
def test_a_joker_in_anyones_meld_is_swapped_for_the_card_it_stands_for(
    variant: str, melds: str, text: str, lies: str
) -> None:
    card = text.split()[-1]
    match = position(variant, hands=f"{card} KD KS | 2D", jokers=2, melds=melds)
    match = after(match, text)
    assert on_table(match, 1) == lies
    assert sorted(hand_of(match).split()) == ["JK", "KD", "KS"]


@clause("jokers.3")
@pytest.mark.parametrize(
    ("text", "error", "rule"),
    [
        ("swap 1 7S", NoJokerThere, "jokers.3"),
        ("swap 1 4H", NotInHand, "common.3"),
        ("swap 1 6H", NoJokerThere, "jokers.3"),
        ("swap 1 JK", NoJokerThere, "jokers.3"),
        ("swap 2 5H", NoJokerThere, "jokers.3"),
        ("swap 2 7S", NoJokerThere, "jokers.3"),
        ("swap 3 5H", NoSuchMeld, "common.7"),
        ("swap 0 5H", NoSuchMeld, "common.7"),
    ],
)
def test_only_the_very_card_swaps_a_joker_out(
    text: str, error: type[NoJokerThere], rule: str
) -> None:
    match = position(
        hands="5H 6H 7S JK KD | 2D", jokers=2, melds="0: 4H JK=5H 6H; 0: 7C 7D 7H", decks=2
    )
    refusal(match, text, error, rule)


@clause("jokers.3")
def test_a_joker_is_swapped_in_the_own_turn_after_drawing() -> None:
    match = position(
        hands="5H KD | 6C 2D", jokers=2, melds="0: 4H JK=5H JK=6H", pile="9D", phase="draw"
    )
    refusal(match, "swap 1 5H", DrawFirst, "common.3")
    refusal(match, "swap 1 6C", NotYourTurn, "common.1", seat=1)
    assert on_table(after(match, "draw", "swap 1 5H"), 1) == "4H 5H JK=6H"
    assert on_table(after(match, "take", "swap 1 5H"), 1) == "4H 5H JK=6H"


@clause("jokers.3")
@every_preset
def test_at_a_table_without_swaps_jokers_stay(variant: str) -> None:
    match = position(
        variant, hands="5H KD | 2D", jokers=2, melds="0: 4H JK=5H 6H", joker_swap=False
    )
    refusal(match, "swap 1 5H", NoSwaps, "jokers.3")
    assert not [made for made in legal_moves(match, 0, 0) if "Swap" in type(made).__name__]


@clause("jokers.3")
@pytest.mark.parametrize(
    "text",
    [
        "meld 9C JK=TC JC",
        "layoff 1 JK=7H",
        "layoff 2 JK=7S",
        "discard JK",
        "discard KD",
    ],
)
def test_the_joker_may_be_melded_laid_off_discarded_or_kept(text: str) -> None:
    match = position(hands="5H KD 9C JC | 2D", jokers=2, melds="0: 4H JK=5H 6H; 1: 7C 7D 7H")
    match, events = step(after(match, "swap 1 5H"), move(text))
    assert len(events) == 1
    if text.startswith("discard"):
        assert ("JK" in hand_of(match)) is (text != "discard JK")


@clause("jokers.3")
def test_a_swap_is_neither_a_meld_nor_a_layoff() -> None:
    match = position(
        hands="5H 6C 8H 9C 9D 9H KD | 2D", jokers=2, melds="0: 4H JK=5H 6H; 1: 4C 5C JK=6C",
        layoffs="none",
    )  # fmt: skip
    assert deal_of(after(match, "swap 1 5H")).laid_off is False
    match = after(match, "swap 1 5H", "swap 2 6C", "meld 9C 9D 9H")
    assert hand_of(match) == "KD 8H JK JK"
    match = position(
        hands="5H 7H 6C 9C 9D 9H KD | 2D", jokers=2, melds="0: 4H JK=5H 6H; 1: 4C 5C JK=6C"
    )
    match = after(match, "meld 9C 9D 9H", "swap 1 5H", "layoff 1 7H", "swap 2 6C")
    assert hand_of(match) == "KD JK JK"


@clause("jokers.3")
def test_a_swapped_card_stays_and_the_joker_can_be_laid_anew() -> None:
    match = position(hands="5H 9D KD | 2D", jokers=2, melds="0: 4H JK=5H 6H")
    match = after(match, "swap 1 5H", "layoff 1 JK=3H")
    assert on_table(match, 1) == "JK=3H 4H 5H 6H"
    refusal(match, "swap 1 5H", NotInHand, "common.3")


@clause("jokers.3")
def test_with_two_decks_two_jokers_for_one_card_are_swapped_one_by_one() -> None:
    match = position(hands="7S 7S KD | 2D", jokers=2, melds="1: 7C JK=7S JK=7S", decks=2)
    match = after(match, "swap 1 7S")
    assert on_table(match, 1) in {"7C 7S JK=7S", "7C JK=7S 7S"}
    match = after(match, "swap 1 7S")
    assert on_table(match, 1) == "7C 7S 7S"
    assert hand_of(match) == "KD JK JK"


@clause("jokers.3", "common.14")
def test_the_joker_swapped_out_may_be_discarded_although_a_joker_was_taken() -> None:
    match = position(
        hands="5H KD | 2D", jokers=2, melds="1: 4H JK=5H 6H", pile="9S JK", phase="draw"
    )
    match = after(match, "take", "swap 1 5H")
    assert deal_of(after(match, "discard JK")).turn == 1


# ------------------------------------------------------------------------------- jokers.4


@clause("jokers.4", "seven-card.6", "parlett.6")
@every_preset
@pytest.mark.parametrize(("aces", "count"), [("low", 15 + 1), ("high_or_low", 15 + 11)])
def test_a_joker_in_hand_counts_fifteen_whatever_it_could_have_been(
    variant: str, aces: str, count: int
) -> None:
    match = position(variant, hands="KD | JK AS", jokers=2, melds="0: 2S 3S 4S", aces=aces)
    result = after(match, "discard KD").last
    assert result is not None
    assert result.counts == (0, count)
