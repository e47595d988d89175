"""Sentences that can be said in other languages: what they are made of goes with them."""

import pickle
from copy import deepcopy

from service.errors import FieldProblem, InvalidRequest, NotInHand
from service.text import Text, either, listed, said

SPOKEN = {
    "Not in your hand: {cards}.": "Finns inte på din hand: {cards}.",
    "{cards}: {reason}.": "{cards}: {reason}!",
    "it is the {rank}": "det är {rank}",
    "{one} or {other}": "{one} eller {other}",
    "Unknown field.": "Okänt fält.",
}


def swedish(message: str) -> str:
    return SPOKEN.get(message, message)


def test_a_text_is_english_and_knows_what_it_was_made_of():
    text = Text("Not in your hand: {cards}.").format(cards=("4H", "6H"))
    assert text == "Not in your hand: 4H 6H."
    assert (text.message, text.values) == ("Not in your hand: {cards}.", {"cards": ("4H", "6H")})
    assert said(text, swedish) == "Finns inte på din hand: 4H 6H."


def test_what_is_said_is_plain_so_that_it_can_be_written_as_json():
    for text in (Text("Unknown field."), Text("it is the {rank}").format(rank="5")):
        assert type(said(text, swedish)) is type(said(text, str)) is str


def test_a_text_inside_another_is_said_in_the_same_language():
    inner = Text("it is the {rank}").format(rank="5")
    text = Text("{cards}: {reason}.").format(cards=("4H", "5H"), reason=inner)
    assert text == "4H 5H: it is the 5."
    assert said(text, swedish) == "4H 5H: det är 5!"
    assert said(Text("{cards}: {reason}.").format(cards="", reason=(inner, inner)), swedish) == (
        ": det är 5 det är 5!"
    )


def test_what_a_person_wrote_is_a_value_and_never_read_again():
    for written in ("{rank}", "{", "}{", "{0}", "%s", "it is the {rank}", "Unknown field."):
        text = Text("it is the {rank}").format(rank=written)
        assert said(text, swedish) == f"det är {written}"
        assert said(written, swedish) == written


def test_values_can_be_given_one_after_the_other_and_those_not_asked_for_are_left_alone():
    class Unshowable:
        def __str__(self) -> str:
            raise AssertionError("nobody asked for it")

    text = Text("Must have {least} to {most} items.").format(least=1, most=9)
    assert text.format(most=3, input=Unshowable()) == "Must have 1 to 3 items."
    assert Text("{flag} {number} {nothing}").format(flag=True, number=7, nothing=None) == (
        "true 7 None"
    )


def test_several_texts_become_one():
    reasons = [Text("Unknown field."), Text("it is the {rank}").format(rank="5"), "as written"]
    assert listed(reasons) == "Unknown field.; it is the 5; as written"
    assert said(listed(reasons), swedish) == "Okänt fält.; det är 5; as written"
    assert listed(reasons[:2], " ") == "Unknown field. it is the 5"
    assert either(["4C"]) == "4C"
    assert said(either(["4C", "7C", "8C"]), swedish) == "4C eller 7C eller 8C"


def test_a_text_can_be_copied_and_sent_to_another_process():
    text = Text("it is the {rank}").format(rank="5")
    for copy in (deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert (copy, said(copy, swedish)) == ("it is the 5", "det är 5")


def test_a_refusal_is_filled_in_with_its_params_when_it_is_read():
    refusal = NotInHand(Text("Not in your hand: {cards}."), cards=("4H",))
    assert (str(refusal), refusal.detail) == ("Not in your hand: 4H.",) * 2
    refusal.detail = Text("{cards}: {reason}.").format(cards="x", reason=refusal.detail)
    assert said(refusal.detail, swedish) == "x: Finns inte på din hand: 4H.!"


def test_a_refusal_of_several_fields_tells_of_all_in_one_language():
    fields = ("colour", "{size}")
    refusal = InvalidRequest(tuple(FieldProblem(name, Text("Unknown field.")) for name in fields))
    assert refusal.detail == "colour: Unknown field.; {size}: Unknown field."
    assert said(refusal.detail, swedish) == "colour: Okänt fält.; {size}: Okänt fält."
