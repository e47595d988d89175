"""Which language an answer is in, and every refusal in each of them."""

from collections.abc import Callable, Iterator

import pytest
from flask import Flask, Response
from werkzeug.datastructures import LanguageAccept
from werkzeug.exceptions import ImATeapot
from werkzeug.http import parse_accept_header
from werkzeug.test import TestResponse

from service.api import language
from service.api.language import LANGUAGES, marked
from service.app import create_app
from service.config import Config
from service.rummy.rules import PRESETS
from tests.contract import CheckedClient
from tests.http.refusals import MOVES, REQUESTS, ask
from tests.http.tables import House

# ------------------------------------------------------------------------------------ choosing

CHOSEN = {
    # nothing that helps
    "": "en",
    "*": "en",
    "nb": "en",
    "fi, de;q=0.8": "en",
    "x": "en",
    ";;;,=": "en",
    "sv;q=loud": "en",
    # one that is spoken
    "en": "en",
    "sv": "sv",
    "da": "da",
    "SV": "sv",
    "sv-FI": "sv",
    "sv_SE": "sv",
    "da-DK-x-fest": "da",
    "en-GB": "en",
    # the best of several
    "sv-FI,en;q=0.5": "sv",
    "en;q=0.5,sv-FI": "sv",
    "da, sv": "da",
    "sv, da": "sv",
    "da;q=0.9, sv;q=0.91": "sv",
    "nb, da;q=0.8": "da",
    "nb, nn;q=0.9, sv;q=0.3, en;q=0.2": "sv",
    "de, en;q=0.1": "en",
    # whatever else there is
    "sv;q=0.5, *": "en",
    "sv, *;q=0.5": "sv",
    "nb, *;q=0.1": "en",
    "en;q=0.1, *;q=0.5": "sv",
    "en;q=0.1, sv;q=0.1, *;q=0.5": "da",
    "en;q=0.1, sv;q=0.2, da;q=0.3, *": "da",
    # not that one
    "en;q=0": "sv",
    "en;q=0, sv;q=0": "da",
    "en;q=0, *": "sv",
    "sv;q=0, da": "da",
    "sv-FI, sv;q=0": "en",
    "sv-FI;q=0, sv": "sv",
    "nb, en;q=0, sv;q=0.0": "da",
    "*;q=0": "en",
    "en;q=0, sv;q=0, da;q=0": "en",
}


@pytest.mark.parametrize(("header", "chosen"), CHOSEN.items())
def test_the_language_is_the_best_that_is_spoken(house, header, chosen):
    assert language.best(parse_accept_header(header, LanguageAccept)) == chosen
    answer = house.client().get("/v1/variants/bridge", headers={"Accept-Language": header})
    assert answer.headers["Content-Language"] == chosen


def test_who_says_nothing_is_answered_in_english(house):
    answer = house.client().get("/v1/variants/bridge")
    assert answer.headers["Content-Language"] == "en"
    assert answer.json["title"] == "There is no such variant"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, "Accept-Language"),
        ({"Vary": "Authorization"}, "Authorization, Accept-Language"),
        ({"Vary": "Accept, Authorization"}, "Accept, Authorization, Accept-Language"),
        ({"Vary": "accept-language"}, "accept-language"),
    ],
)
def test_what_else_an_answer_varies_by_stays(before, after):
    response = marked(Response(headers=before), "sv")
    assert (response.headers["Vary"], response.headers["Content-Language"]) == (after, "sv")


# ----------------------------------------------------------------------------------- refusals


class Polyglot(House):
    """The service, whose every client asks in one language at a time."""

    def __init__(self, redis_url: str) -> None:
        self._environ = {"REMOTE_ADDR": "127.0.0.1"}
        super().__init__(redis_url)

    def client(self) -> CheckedClient:
        client = super().client()
        client.client.environ_base = self._environ
        return client

    def in_each_language(self, request: Callable[[], TestResponse]) -> dict[str, TestResponse]:
        answers = {}
        for spoken in LANGUAGES:
            self._environ["HTTP_ACCEPT_LANGUAGE"] = spoken
            answers[spoken] = request()
        return answers


@pytest.fixture(scope="module")
def polyglot(redis_url: str) -> Polyglot:
    return Polyglot(redis_url)


def assert_only_the_words_differ(answers: dict[str, TestResponse]) -> None:
    for spoken, answer in answers.items():
        assert answer.status_code >= 400, answer.text
        assert answer.headers["Content-Language"] == spoken
        assert "Accept-Language" in answer.headers["Vary"]
    english, *others = answers.values()
    for answer in others:
        assert answer.status_code == english.status_code
        assert shown(answer) == shown(english)
        for one, other in zip(words(english), words(answer), strict=True):
            assert one != other


def shown(answer: TestResponse) -> dict:
    """The problem without its words."""
    problem = {
        name: value for name, value in answer.json.items() if name not in ("title", "detail")
    }
    for part in ("fields", "options"):
        if part in problem:
            problem[part] = [
                {name: value for name, value in item.items() if name != "reason"}
                for item in problem[part]
            ]
    return problem


def words(answer: TestResponse) -> list[str]:
    problem = answer.json
    items = (*problem.get("fields", ()), *problem.get("options", ()))
    return [problem["title"], problem["detail"], *(item["reason"] for item in items)]


@pytest.mark.parametrize("line", MOVES, ids=lambda line: f"{line.code}: {line.text}")
def test_a_move_is_refused_in_each_language(polyglot, line):
    position = dict(line.position)
    before = position.pop("after", ())
    table = polyglot.position(**position)
    for text in before:
        assert table.players[0].play(text).status_code == 200
    player = table.players[line.seat]
    answers = polyglot.in_each_language(lambda: ask(player, line.text))
    assert {answer.json["code"] for answer in answers.values()} == {line.code}
    assert_only_the_words_differ(answers)


@pytest.mark.parametrize(
    ("code", "setting", "ask_for"),
    [pytest.param(*line, id=title) for title, _, *line in REQUESTS],
)
def test_a_request_is_refused_in_each_language(polyglot, code, setting, ask_for):
    table = setting(polyglot)
    answers = polyglot.in_each_language(lambda: ask_for(table))
    assert {answer.json["code"] for answer in answers.values()} == {code}
    assert_only_the_words_differ(answers)


JSON = {"content_type": "application/json"}
WRONG: dict[str, tuple[str, str, dict]] = {
    "no such address": ("GET", "/v2", {}),
    "no such address under docs": ("GET", "/docs/nothing", {}),
    "another method": ("PUT", "/v1/games", {}),
    "no JSON": ("POST", "/v1/games", {"data": '{"a" 1}', **JSON}),
    "half of JSON": ("POST", "/v1/games", {"data": '{"a', **JSON}),
    "not UTF-8": ("POST", "/v1/games", {"data": b'"\xff\xff"', **JSON}),
    "too deep": ("POST", "/v1/games", {"data": b"[" * 5000, **JSON}),
    "too large a number": ("POST", "/v1/games", {"data": b"9" * 5000, **JSON}),
    "too much": ("POST", "/v1/games", {"data": b" " * 70_000, **JSON}),
    "no type": ("POST", "/v1/games", {"data": b"{}"}),
    "another type": ("POST", "/v1/games", {"data": b"{}", "content_type": "text/plain"}),
    "no object": ("POST", "/v1/games", {"json": []}),
    "nothing": ("POST", "/v1/games", {"json": {}}),
    "all wrong": (
        "POST",
        "/v1/games",
        {
            "json": {
                "variant": "bridge",
                "name": "",
                "options": {"deals": 1.5, "jokers": []},
                "seats": "two",
                "public": 1,
                "private": None,
                "computers": "steady",
                "practice": {"seed": 7, "order": [], "dealer": 9},
                "colour": "red",
            }
        },
    ),
    "no such levels": (
        "POST",
        "/v1/games",
        {"json": {"variant": "parlett", "name": "x" * 201, "computers": ["wild"], "practice": []}},
    ),
    "cards that are none": (
        "POST",
        "/v1/games",
        {"json": {"variant": "parlett", "name": "ada", "practice": {"order": ["10H", "{x}"]}}},
    ),
    "no such options": (
        "POST",
        "/v1/games",
        {"json": {"variant": "parlett", "name": "ada", "options": {"joker": 1, "{moon}": True}}},
    ),
    "no such values": (
        "POST",
        "/v1/games",
        {
            "json": {
                "variant": "parlett",
                "name": "ada",
                "seats": 8,
                "options": {
                    "decks": None,
                    "upcard": 1,
                    "aces": "wild",
                    "deals": True,
                    "hand_size": 21,
                },
            }
        },
    ),
    "options that do not go together": (
        "POST",
        "/v1/games",
        {
            "json": {
                "variant": "parlett",
                "name": "ada",
                "options": {
                    "decks": 2,
                    "jokers": 1,
                    "turnover_keeps_upcard": True,
                    "call": "timed",
                    "deals": 1,
                    "target": 5,
                },
            }
        },
    ),
    "more options that do not go together": (
        "POST",
        "/v1/games",
        {
            "json": {
                "variant": "straight",
                "name": "ada",
                "seats": 6,
                "options": {"hand_size": 20, "call_seconds": 5},
            }
        },
    ),
    "a query": ("GET", "/v1/games?limit=0&mine=1&open_seats=x&variant=bridge&cursor=&page=2", {}),
    "a query twice": ("GET", "/v1/games?limit=5&limit=5", {}),
    "a list or the own game": ("GET", "/v1/games?mine&variant=parlett", {}),
    "a query that is not read": ("GET", "/v1/variants?page=2", {}),
    "a play that is none": ("POST", f"/v1/games/{'a' * 16}/turn", {"json": {"plays": [{}, 1]}}),
    "to wait for a check": (
        "POST",
        f"/v1/games/{'a' * 16}/discard?check&wait=5",
        {"json": {"card": "9C"}},
    ),
    "an event that is none": (
        "GET",
        f"/v1/games/{'a' * 16}/events",
        {"headers": {"Accept": "text/event-stream", "Last-Event-ID": "last"}},
    ),
}


@pytest.mark.parametrize(("method", "url", "more"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_form_is_refused_in_each_language(polyglot, method, url, more):
    client = polyglot.client()
    answers = polyglot.in_each_language(lambda: client.request(method, url, **more))
    assert_only_the_words_differ(answers)


def test_what_nobody_foresaw_is_told_in_each_language(redis_url):
    app = create_app(Config(redis_url=redis_url))
    app.config["PROPAGATE_EXCEPTIONS"] = False

    @app.get("/broken")
    def broken() -> str:
        raise ZeroDivisionError

    assert_told(app, "/broken", 500, "internal_error")


def test_what_the_framework_alone_refuses_is_told_in_each_language(redis_url):
    app = create_app(Config(redis_url=redis_url))

    @app.get("/teapot")
    def teapot() -> str:
        raise ImATeapot

    assert_told(app, "/teapot", 418, "http_418")


def assert_told(app: Flask, path: str, status: int, code: str) -> None:
    answers = {
        spoken: app.test_client().get(path, headers={"Accept-Language": spoken})
        for spoken in LANGUAGES
    }
    for answer in answers.values():
        assert (answer.status_code, answer.json["code"]) == (status, code)
    assert_only_the_words_differ(answers)


# ----------------------------------------------------------------------------------- variants

VARIANTS = ["/v1/variants", *(f"/v1/variants/{variant}" for variant in PRESETS)]


def told_in(spoken: str, house: House, path: str) -> TestResponse:
    return house.client().get(path, headers={"Accept-Language": spoken})


@pytest.mark.parametrize("path", VARIANTS)
@pytest.mark.parametrize(
    ("wish", "spoken"),
    [("", "en"), ("sv-FI, en;q=0.5", "sv"), ("da", "da"), ("de, sv;q=0.2", "sv"), ("de", "en")],
)
def test_variants_are_told_in_the_callers_language_and_may_be_kept(house, path, wish, spoken):
    answer = told_in(wish, house, path)
    assert answer.status_code == 200
    assert answer.headers["Content-Language"] == spoken
    assert answer.headers["Vary"] == "Accept-Language"
    assert answer.headers["Cache-Control"] == "public, max-age=300"


@pytest.mark.parametrize("path", VARIANTS)
def test_only_the_words_of_variants_differ(house, path):
    first, sv, da, again = (told_in(spoken, house, path) for spoken in (*LANGUAGES, "en"))
    assert again.data == first.data
    for other in (sv, da):
        for english, translated in zip(told(first.json), told(other.json), strict=True):
            place, are_words, value = english
            assert translated[:2] == (place, are_words)
            differ = are_words and value != "Straight Rummy"  # which is called so everywhere
            assert (translated[2] != value) == differ, place


WORDS = ("name", "summary", "source", "unit", "null_means")


def told(answer: object, *place: str | int) -> Iterator[tuple[tuple[str | int, ...], bool, object]]:
    """Each value of an answer about variants after its place, and whether it is words."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield from told(value, *place, name)
    elif isinstance(answer, list):
        for number, value in enumerate(answer):
            yield from told(value, *place, number)
    else:
        name_of_option = "options" in place and place[-1] == "name"
        yield place, place[-1] in WORDS and answer is not None and not name_of_option, answer


def test_what_a_variant_and_its_options_are_is_said_in_each_language(house):
    views = [told_in(spoken, house, "/v1/variants/call-rummy").json for spoken in LANGUAGES]
    assert [view["name"] for view in views] == ["Call Rummy", "Roprummy", "Rummy med råb"]
    assert [view["source"] for view in views] == [
        "A Danish rule book of rummy with the Rummy call",
        "En dansk regelbok för rummy med Rummy-rop",
        'En dansk regelbog om rummy med råbet "Rummy"',
    ]
    call_seconds = [
        next(option for option in view["options"] if option["name"] == "call_seconds")
        for view in views
    ]
    assert [
        (option["summary"], option["unit"], option["null_means"]) for option in call_seconds
    ] == [
        ("How long a timed call is open.", "seconds", "the call is not timed"),
        ("Hur länge ett rop på tid är öppet.", "sekunder", "ropet är inte på tid"),
        ("Hvor længe et råb på tid er åbent.", "sekunder", "råbet er ikke på tid"),
    ]


# ----------------------------------------------------------------- sentences inside sentences


def details(answers: dict[str, TestResponse]) -> list[str]:
    return [answers[spoken].json["detail"] for spoken in LANGUAGES]


def test_the_reason_inside_a_sentence_is_in_the_same_language(polyglot):
    table = polyglot.position(hands="4H 6H 7H KD | 2S 3S")
    told = polyglot.in_each_language(lambda: table.players[0].play("meld 4H 6H 7H"))
    assert details(told) == [
        "4H 6H 7H: the 5 is missing between 4 and 6.",
        "4H 6H 7H: 5 saknas mellan 4 och 6.",
        "4H 6H 7H: 5 mangler mellem 4 og 6.",
    ]


def test_so_is_what_a_joker_could_be(polyglot):
    table = polyglot.position("seven-card", jokers=2, hands="5C 6C JK KH | 2S")
    told = polyglot.in_each_language(lambda: table.players[0].play("meld 5C JK 6C"))
    assert details(told) == [
        "5C JK 6C: the joker could stand for 4C or 7C; say which in `jokers`.",
        "5C JK 6C: jokern kan stå för 4C eller 7C; ange vilket i `jokers`.",
        "5C JK 6C: jokeren kan stå for 4C eller 7C; angiv hvilket i `jokers`.",
    ]


def test_so_are_options_that_do_not_fit_when_the_match_begins(polyglot):
    table = polyglot.waiting("parlett", 4, taken=2, decks=2)
    told = details(polyglot.in_each_language(lambda: table.players[0].post("start")))
    assert "with 2 players" in told[0].lower()
    assert "med 2 spelare tar" in told[1]
    assert "med 2 spillere bruger" in told[2]


def test_names_and_words_of_people_stay_as_they_are_and_do_no_harm(polyglot):
    table = polyglot.waiting("straight", 3, taken=1)
    table.seat(table.stranger.post("join", {"name": "{seat} {name}"}))
    wish = {"seat": 1, "name": "{holder}"}
    told = polyglot.in_each_language(lambda: table.players[0].post("remove", wish))
    assert details(told) == [
        "Seat 1 is {seat} {name}'s now, not {holder}'s.",
        "På plats 1 sitter nu {seat} {name}, inte {holder}.",
        "På plads 1 sidder nu {seat} {name}, ikke {holder}.",
    ]
