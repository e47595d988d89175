"""What is wrong with these very cards: the reasons that a refused meld or layoff is given."""

import pytest

from service.errors import DoesNotFit, JokerMisnamed, JokerUnclear, NotAMeld
from service.rummy.melds import extended, form
from service.rummy.model import Meld
from service.rummy.rules import Rules, agree
from tests.positions import cards

MELDS = [
    # too few, and runs with gaps
    ("4H 6H", "a meld has at least 3 cards"),
    ("4H 6H 7H", "the 5 is missing between 4 and 6"),
    ("7H 4H 6H", "the 5 is missing between 4 and 6"),
    ("4H 5H 8H", "6 7 are missing between 5 and 8"),
    ("4H 6H 8H", "the 5 is missing between 4 and 6; the 7 is missing between 6 and 8"),
    ("9H JH QH", "the 10 is missing between 9 and J"),
    ("AH 4H 5H", "2 3 are missing between A and 4"),
    ("4H 5H 5H", "a run has each card once, and 5H is there more often"),
    # neither rank nor suit
    ("5C 5D 9S", "the rank of 9S does not fit into a set with 5C 5D"),
    ("5C 9S 5D 5H", "the rank of 9S does not fit into a set with 5C 5D 5H"),
    ("4H 5C 6H", "the suit of 5C does not fit into a run with 4H 6H"),
    ("5C 6C 5D", "the rank of 6C does not fit into a set with 5C 5D"),
    ("2H 9C KH", "the cards have neither the same rank (a set) nor the same suit (a run)"),
    ("2H 3C 4D", "the cards have neither the same rank (a set) nor the same suit (a run)"),
    # aces
    ("QH KH AH", "aces are low, so nothing follows a king"),
    ("KH AH 2H", "aces are low, so nothing follows a king; a run does not go round the corner"),
    # sets
    (
        "5C 5C 5D",
        "a set in one deck has each suit once, jokers included, and 5C is there more often",
    ),
    # jokers
    ("JK JK JK", "at least one card of a meld is not a joker"),
    ("5C JK 9C", "6 7 8 are missing, more than the jokers can stand for"),
    ("5C JK JK 9D", "the cards have neither the same rank (a set) nor the same suit (a run)"),
    ("5C 5D 5H 5S JK", "a set has at most 4 cards at this table, jokers included"),
    (
        "5C 5D JK=5C",
        "a set in one deck has each suit once, jokers included, and 5C is there more often",
    ),
    ("5C JK=7C 8C", "the 6 is missing between 5 and 7"),
    ("5C JK=6D 7C", "the suit of 6D does not fit into a run with 5C 7C"),
    ("5C JK 7D", "the cards have neither the same rank (a set) nor the same suit (a run)"),
    ("4C 5D JK 7C", "the suit of 5D does not fit into a run with 4C 7C"),
]
HIGH = [
    ("JH KH AH", "the Q is missing between J and K"),
    ("TH JH AH", "Q K are missing between J and A"),
    ("AH 3H 4H", "the 2 is missing between A and 3"),
    (
        "KH AH 2H",
        (
            "a run uses an ace at one end only, and an ace is next to a 2 or a king; "
            "a run does not go round the corner"
        ),
    ),
]
TWO_DECKS = [
    (
        "5C 5C 5C",
        (
            "a set in two decks has each suit at most twice, jokers included, and 5C is there "
            "more often"
        ),
    ),
]
LAYOFFS = [
    ("8C 8D 8H", "9S", "the rank of 9S does not fit into a set with 8C 8D 8H"),
    ("8C 8D 8H", "8S 9S KH", "the rank of 9S KH does not fit into a set with 8C 8D 8H 8S"),
    ("3C 4C 5C", "8D", "the suit of 8D does not fit into a run with 3C 4C 5C"),
    ("3C 4C 5C", "6C 7D 8D", "the suit of 7D 8D does not fit into a run with 3C 4C 5C 6C"),
    ("3C 4C 5C", "7C", "the 6 is missing between 5 and 7"),
    ("3C 4C 5C", "AC", "the 2 is missing between A and 3"),
    ("JC QC KC", "AC", "aces are low, so nothing follows a king"),
    ("3C 4C 5C", "JK 8C", "6 7 are missing, more than the jokers can stand for"),
    ("8C 8D 8H 8S", "JK", "a set has at most 4 cards at this table, jokers included"),
]


JOKERS = [
    (
        "5C 6C JK",
        "the joker could stand for 4C or 7C; say which in `jokers`",
        JokerUnclear,
    ),
    (
        "5C 5D 5H JK JK",
        "a set has at most 4 cards at this table, jokers included",
        NotAMeld,
    ),
    (
        "5C 6C JK JK",
        "the jokers could stand for 3C 4C or 4C 7C or 7C 8C; say which in `jokers`",
        JokerUnclear,
    ),
    (
        "5C 6C JK=4C =7C",
        (
            "`jokers` names 4C 7C; it takes one natural card for each joker, and the number of "
            "jokers is 1"
        ),
        JokerMisnamed,
    ),
    (
        "5C 6C 7C =8C",
        (
            "`jokers` names 8C; it takes one natural card for each joker, and the number of "
            "jokers is 0"
        ),
        JokerMisnamed,
    ),
]


def rules(**options: object) -> Rules:
    return agree("seven-card", 2, {"jokers": 4, **options})


def split(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cards, and what their jokers are said to stand for: "5C JK=6C 7C"."""
    words = [word.partition("=") for word in text.split()]
    laid = " ".join(card for card, _, _ in words)
    return cards(laid), cards(" ".join(face for _, _, face in words))


def why_no_meld(text: str, table: Rules, error: type[Exception] = NotAMeld) -> str:
    laid, named = split(text)
    with pytest.raises(error) as caught:
        form(laid, named, table)
    cards_told, _, reason = str(caught.value).removesuffix(".").partition(": ")
    assert cards_told == " ".join(laid)
    return reason


@pytest.mark.clause("common.4", "common.5", "jokers.1", "jokers.2")
@pytest.mark.parametrize(("text", "reason"), MELDS)
def test_why_cards_are_no_meld(text, reason):
    assert why_no_meld(text, rules()) == reason


@pytest.mark.clause("common.4")
@pytest.mark.parametrize(("text", "reason"), HIGH)
def test_why_cards_are_no_meld_where_aces_are_high_or_low(text, reason):
    assert why_no_meld(text, rules(aces="high_or_low")) == reason


@pytest.mark.clause("common.5")
@pytest.mark.parametrize(("text", "reason"), TWO_DECKS)
def test_why_cards_are_no_meld_with_two_decks(text, reason):
    assert why_no_meld(text, rules(decks=2)) == reason


@pytest.mark.clause("jokers.2")
@pytest.mark.parametrize(("text", "reason", "error"), JOKERS)
def test_what_is_wrong_with_the_jokers(text, reason, error):
    assert why_no_meld(text, rules(), error) == reason


@pytest.mark.clause("common.7")
@pytest.mark.parametrize(("lying", "text", "reason"), LAYOFFS)
def test_why_cards_do_not_fit_a_meld(lying, text, reason):
    shape = form(cards(lying), (), rules())
    meld = Meld(1, 0, shape.kind, shape.faces, shape.jokers)
    laid, named = split(text)
    with pytest.raises(DoesNotFit) as caught:
        extended(meld, laid, named, rules())
    assert str(caught.value) == f"{' '.join(laid)} on {' '.join(meld.cards)}: {reason}."
