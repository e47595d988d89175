"""The "Rummy!" call: who, when, for which card, and where the card goes."""

import pytest

from service.rummy.model import CallWindow
from service.rummy.rules import OptionValue
from tests.cases.online import Service, Table, at_once
from tests.cases.table import accept, refuse
from tests.positions import NOW, cards, deal_of, hand_of, on_table, position, with_deal

EIGHTS = "1: 8C 8D 8H"


@pytest.mark.case(34)
@pytest.mark.parametrize("owner", [0, 1, 2])
def test_case_34_a_call_moves_the_card_to_the_meld_and_changes_nothing_else(owner: int) -> None:
    match = position(
        "call-rummy",
        hands="8S 2C 3C | 2D 3D | 2H 3H 4H",
        pile="5D KD",
        melds=f"{owner}: 8C 8D 8H",
    )
    match = accept(match, "discard 8S")
    match = accept(match, "rummy 1", seat=2)
    assert on_table(match, 1) == "8C 8D 8H 8S"
    assert deal_of(match).melds[0].owner == owner
    assert hand_of(match, 2) == "2H 3H 4H"
    assert deal_of(match).pile == cards("5D KD")
    assert (deal_of(match).turn, deal_of(match).phase) == (1, "draw")
    match = accept(match, "take")
    assert hand_of(match, 1) == "2D 3D KD"
    assert deal_of(match).turn == 1


@pytest.mark.case(34)
@pytest.mark.parametrize("variant", ["straight", "seven-card", "parlett"])
def test_case_34_the_other_games_have_no_call_unless_it_is_agreed_on(variant: str) -> None:
    match = position(variant, hands="8S 2C | 2D 3D | 2H 3H", melds=EIGHTS)
    match = accept(match, "discard 8S")
    refuse(match, "rummy 1", "no_calls", "call-rummy.5", seat=2)
    match = position(variant, hands="8S 2C | 2D 3D | 2H 3H", melds=EIGHTS, call="next_draw")
    match = accept(match, "discard 8S")
    assert on_table(accept(match, "rummy 1", seat=2), 1) == "8C 8D 8H 8S"


@pytest.mark.case(34)
def test_case_34_a_card_is_called_once() -> None:
    match = position("call-rummy", hands="8S 2C | 2D 3D | 2H 3H", melds=EIGHTS, pile="KD")
    match = accept(match, "discard 8S")
    match = accept(match, "rummy 1", seat=2)
    refuse(match, "rummy 1", "call_closed", "call-rummy.5", seat=1)
    refuse(match, "rummy 1", "call_closed", "call-rummy.5", seat=2)
    refuse(match, "rummy 1", "call_closed", "call-rummy.5", seat=0)


@pytest.mark.case(35)
def test_case_35_the_discarder_does_not_call_and_the_next_player_may() -> None:
    match = position("call-rummy", hands="8S 2C | 2D 3D | 2H 3H", melds=EIGHTS, pile="KD")
    match = accept(match, "discard 8S")
    refuse(match, "rummy 1", "own_discard", "call-rummy.5", seat=0)
    match = accept(match, "rummy 1", seat=1)
    assert hand_of(match, 1) == "2D 3D"
    match = accept(match, "draw")
    assert deal_of(match).turn == 1


@pytest.mark.case(35)
@pytest.mark.parametrize("draw", ["draw", "take"])
def test_case_35_the_next_draw_closes_the_call(draw: str) -> None:
    match = position("call-rummy", hands="8S 2C | 2D 3D | 2H 3H", melds=EIGHTS, pile="KD")
    match = accept(match, "discard 8S", draw)
    for seat in range(3):
        refuse(match, "rummy 1", "call_closed", "call-rummy.5", seat=seat)


@pytest.mark.case(35)
@pytest.mark.parametrize("melds", ["", EIGHTS])
def test_case_35_the_first_upcard_is_not_called(melds: str) -> None:
    match = position(
        "call-rummy", hands="2C 3C | 2D 3D | 2H 3H", melds=melds, pile="8S", phase="draw"
    )
    for seat in range(3):
        refuse(match, "rummy 1", "call_closed", "call-rummy.5", seat=seat)


@pytest.mark.case(35)
def test_case_35_a_discard_that_closes_the_deal_is_not_called() -> None:
    match = position("call-rummy", hands="8S | 2D 3D | 2H 3H", melds=EIGHTS)
    match = accept(match, "discard 8S")
    refuse(match, "rummy 1", "match_over", "common.8", seat=2)
    match = position("call-rummy", hands="8S | 2D 3D | 2H 3H", melds=EIGHTS, deals=2)
    match = accept(match, "discard 8S")
    refuse(match, "rummy 1", "call_closed", "call-rummy.5", seat=2)


@pytest.mark.case(35)
def test_case_35_a_timed_call_is_open_for_the_agreed_seconds_and_the_draw_waits() -> None:
    match = position(
        "call-rummy",
        hands="8S 2C | 2D 3D | 2H 3H",
        melds=EIGHTS,
        pile="KD",
        call="timed",
        call_seconds=5,
    )
    match = accept(match, "discard 8S")
    assert deal_of(match).window == CallWindow(0, NOW + 5000, NOW)
    for draw in ("draw", "take"):
        refusal = refuse(match, draw, "call_pending", "call-rummy.5")
        assert refusal.params == {"upcard": "8S", "seconds": 5}
    called = accept(match, "rummy 1", seat=2, now=NOW + 4999)
    accept(called, "take", now=NOW + 4999)
    refuse(match, "rummy 1", "call_closed", "call-rummy.5", seat=2, now=NOW + 5000)
    match = accept(match, "take", now=NOW + 5000)
    assert hand_of(match, 1) == "2D 3D 8S"


@pytest.mark.case(35)
def test_case_35_the_draw_does_not_wait_for_a_card_that_fits_nowhere() -> None:
    match = position(
        "call-rummy",
        hands="9S 2C | 2D 3D | 2H 3H",
        melds=EIGHTS,
        call="timed",
        call_seconds=5,
    )
    match = accept(match, "discard 9S", "draw")
    assert deal_of(match).window is None


@pytest.mark.case(37)
def test_case_37_the_call_names_its_meld_where_two_would_take_the_card() -> None:
    match = position(
        "call-rummy",
        hands="8S 2C | 2D 9S | 2H 3H",
        pile="KD",
        melds="1: 8C 8D 8H; 2: 5S 6S 7S; 0: 4C 4D 4H",
    )
    match = accept(match, "discard 8S")
    window = deal_of(match).window
    refuse(match, "rummy 3", "does_not_fit", "common.4", seat=2)
    refuse(match, "rummy 4", "no_such_meld", "common.7", seat=2)
    refuse(match, "rummy 0", "no_such_meld", "common.7", seat=2)
    assert deal_of(match).window == window
    match = accept(match, "rummy 2", seat=2)
    assert (on_table(match, 1), on_table(match, 2)) == ("8C 8D 8H", "5S 6S 7S 8S")
    match = accept(match, "draw", "layoff 2 9S")
    assert on_table(match, 2) == "5S 6S 7S 8S 9S"


@pytest.mark.case(37)
def test_case_37_a_discarded_joker_is_called_as_a_named_card() -> None:
    match = position(
        "call-rummy",
        hands="JK 2C | 2D 9S | 2H 3H",
        pile="KD",
        melds="1: 8C 8D 8H; 2: 5S 6S 7S",
        jokers=2,
    )
    match = accept(match, "discard JK")
    refuse(match, "rummy 2", "joker_unclear", "jokers.2", seat=2)
    refuse(match, "rummy 2 JK=9S", "does_not_fit", "common.4", seat=2)
    assert on_table(accept(match, "rummy 2 JK=8S", seat=2), 2) == "5S 6S 7S JK=8S"
    assert on_table(accept(match, "rummy 1", seat=2), 1) == "8C 8D 8H JK=8S"


@pytest.mark.case(38)
def test_case_38_a_card_that_would_only_make_a_new_meld_is_not_called() -> None:
    match = position("call-rummy", hands="6C 2C | 2D 3D | 6D 6H", pile="KD", melds="1: 9C 9D 9H")
    match = accept(match, "discard 6C")
    refuse(match, "rummy 1", "does_not_fit", "common.4", seat=2)
    refuse(match, "rummy 2", "no_such_meld", "common.7", seat=2)
    bare = with_deal(match, melds=())
    refuse(bare, "rummy 1", "no_such_meld", "common.7", seat=2)
    assert deal_of(match).pile == cards("KD 6C")
    assert deal_of(accept(match, "take")).hands[1] == cards("6C 2D 3D")


@pytest.mark.case(38)
def test_case_38_a_card_that_fits_only_with_another_from_the_hand_is_not_called() -> None:
    match = position("call-rummy", hands="9S 2C | 2D 3D | 8S 3H", pile="KD", melds="1: 5S 6S 7S")
    match = accept(match, "discard 9S")
    refuse(match, "rummy 1", "does_not_fit", "common.4", seat=2)
    assert set(hand_of(match, 2).split()) == {"8S", "3H"}
    assert deal_of(match).pile == cards("KD 9S")
    assert match.totals == (0, 0, 0)
    assert deal_of(match).window == CallWindow(0, None, NOW)


# ------------------------------------------------------------------------- over the network


def eights_on_the_table(service: Service, **options: OptionValue) -> Table:
    """The first of three players has laid three eights and discarded the fourth."""
    table = service.position(
        "call-rummy",
        "8C 8D 8H 8S 2C | 2D 3D 4D 6D 9D | 2H 3H 4S 6H 9H",
        upcard="KD",
        stock="KC",
        **options,
    )
    table.do(0, "draw", "meld 8C 8D 8H", "discard 8S")
    return table


@pytest.mark.case(34)
def test_case_34_the_call_takes_nothing_from_the_caller(service: Service) -> None:
    table = eights_on_the_table(service)
    before = table.look(2)
    assert before["deal"]["call"] == {
        "card": "8S",
        "discarded_by": 0,
        "closes_at": None,
        "melds": [1],
    }
    after = table.do(2, "rummy 1")
    assert after["hand"] == before["hand"]
    assert after["deal"]["upcard"] == "KD"
    assert after["deal"]["call"] is None
    assert (after["deal"]["turn"], after["deal"]["phase"]) == (1, "draw")
    assert after["deal"]["melds"][0]["cards"] == ["8C", "8D", "8H", "8S"]
    assert "KD" in table.do(1, "take KD")["hand"]


@pytest.mark.case(35)
def test_case_35_of_calls_made_at_once_one_succeeds(service: Service) -> None:
    table = eights_on_the_table(service)
    answers = at_once([lambda: table.send(1, "rummy 1"), lambda: table.send(2, "rummy 1")] * 5)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9
    assert {answer.json["code"] for answer in answers if answer.status_code == 409} == {
        "call_closed"
    }
    called = [entry for entry in table.events() if entry["event"]["type"] == "called"]
    assert len(called) == 1


@pytest.mark.case(35)
@pytest.mark.parametrize("repetition", range(5))
def test_case_35_of_a_call_and_the_next_draw_made_at_once_the_first_counts(
    service: Service, repetition: int
) -> None:
    table = eights_on_the_table(service)
    call, draw = at_once(
        [lambda: table.send(2, "rummy 1"), lambda: table.send(1, "take")],
    )
    assert draw.status_code == 200
    hand = table.look(1)["hand"]
    if call.status_code == 200:
        assert "KD" in hand
        assert table.look()["deal"]["melds"][0]["cards"] == ["8C", "8D", "8H", "8S"]
    else:
        assert (call.status_code, call.json["code"]) == (409, "call_closed")
        assert "8S" in hand


@pytest.mark.case(35)
def test_case_35_during_a_timed_call_the_draw_waits_and_says_for_how_long(
    service: Service,
) -> None:
    table = eights_on_the_table(service, call="timed", call_seconds=60)
    problem = table.refuse(1, "draw", 409, "call_pending", "call-rummy.5")
    assert 0 < problem["params"]["seconds"] <= 60
    table.refuse(0, "rummy 1", 409, "own_discard", "call-rummy.5")
    assert table.look(1)["deal"]["call"]["closes_at"].endswith("Z")
    table.do(1, "rummy 1", "draw")


@pytest.mark.case(37)
def test_case_37_a_call_that_names_no_meld_is_refused_and_the_card_stays_claimable(
    service: Service,
) -> None:
    table = eights_on_the_table(service)
    table.refuse(2, "rummy", 422, "invalid_request", body={})
    table.refuse(2, "rummy", 422, "invalid_request", body={"meld": None})
    table.refuse(2, "rummy", 422, "invalid_request", body={"meld": [1]})
    table.do(2, "rummy 1")
