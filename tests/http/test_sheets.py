"""Rule sheets and explained refusals over HTTP: each form, who may see what, and caching."""

import re
from collections.abc import Iterator
from urllib.parse import urldefrag, urljoin

import pytest
from werkzeug.test import TestResponse

from service.api import pages
from service.api.problems import status_of_code
from service.app import create_app
from service.catalogue import CATALOGUE
from service.config import Config
from service.rummy.rules import PRESETS
from tests.http.reading import Page
from tests.http.tables import House, Table

JSON = "application/json"
MARKDOWN = "text/markdown"
HTML = "text/html"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
SHEET = "/v1/variants/straight/rules"
PUBLIC = [SHEET, "/v1/variants/parlett/rules?players=6", "/errors", "/errors/upcard_returned"]
HOUSE_RULES = {"jokers": 2, "layoffs": "any", "hand_size": 8, "aces": "high_or_low"}


def ask(house: House, path: str, accept: str = "*/*", **headers: str) -> TestResponse:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return house.client().get(path, headers={"Accept": accept, **sent})


def clauses(sheet: dict) -> list[dict]:
    return [found for section in sheet["sections"] for found in section["clauses"]]


def sentences(sheet: dict) -> list[dict]:
    return [sentence for found in clauses(sheet) for sentence in found["sentences"]]


def at_a_table(house: House) -> Table:
    return house.table("seven-card", 3, **HOUSE_RULES)


# --------------------------------------------------------------------------------- its forms


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", JSON),
        ("application/json", JSON),
        ("application/*", JSON),
        ("image/png", JSON),
        ("", JSON),
        ("text/html, application/json", JSON),
        ("text/html", HTML),
        ("text/html;q=0.9, application/json;q=0.5", HTML),
        (BROWSER, HTML),
        ("text/markdown", MARKDOWN),
        ("text/markdown, text/html;q=0.5", MARKDOWN),
    ],
)
def test_the_form_of_a_sheet_is_chosen_by_accept(house, accept, form):
    assert ask(house, SHEET, accept).mimetype == form
    wanted = JSON if form == MARKDOWN else form
    assert ask(house, "/errors", accept).mimetype in {wanted, HTML if "html" in accept else wanted}


@pytest.mark.parametrize("variant", PRESETS)
def test_markdown_and_page_have_every_clause_and_sentence_of_the_json(house, variant):
    path = f"/v1/variants/{variant}/rules"
    says_what_the_json_says(
        ask(house, path).json, ask(house, path, MARKDOWN).text, ask(house, path, HTML).text
    )


def test_so_do_those_of_a_table_with_house_rules(house):
    player = at_a_table(house).players[0]
    sheet = player.get("rules").json
    markdown, page = (player.get("rules", accept=form).text for form in (MARKDOWN, HTML))
    says_what_the_json_says(sheet, markdown, page)
    for sentence in sentences(sheet):
        if sentence["option"] and sentence["option"]["deviates"]:
            assert f"**House rule.** Without it: {sentence['option']['instead_of']}" in markdown
            assert f"House rule. Without it: {sentence['option']['instead_of']}" in Page(page).text


def says_what_the_json_says(sheet: dict, markdown: str, html: str) -> None:
    page = Page(html)
    assert len(set(page.ids)) == len(page.ids)
    for found in clauses(sheet):
        assert f'### <a id="{found["rule"]}"></a>{found["rule"]}\n' in markdown
        assert found["rule"] in page.ids
        assert f"#{found['rule']}" in page.links
    assert markdown.count("\n### ") == len(clauses(sheet))
    plain = markdown.replace("\\", "")
    lines = [line for line in plain.splitlines() if line.startswith("* ")]
    for line, sentence in zip(lines, sentences(sheet), strict=True):
        assert line.startswith(f"* {sentence['text']}")
        assert ("*(Decided)*" in line) == sentence["decided"]
        # A clause that it points to is a link, with a space on either side in what is read here.
        assert as_read(sentence["text"]) in as_read(page.text)
        if option := sentence["option"]:
            assert f"`{option['name']}: " in line
            assert f"{option['name']}: " in page.text
    for section in sheet["sections"]:
        assert f"\n## {section['title']}\n" in plain
        assert section["id"] in page.ids


def as_read(text: str) -> str:
    """Without spaces, and without the backticks that make a name stand out."""
    return "".join(text.split()).replace("`", "")


@pytest.mark.parametrize("path", [SHEET, "/errors", "/errors/not_a_meld"])
def test_a_page_can_be_read_by_everybody_and_runs_nothing(house, path):
    answer = ask(house, path, HTML)
    page = Page(answer.text)
    assert answer.content_type == "text/html; charset=utf-8"
    assert answer.text.startswith("<!DOCTYPE html>\n")
    assert page.language == answer.headers["Content-Language"] == "en"
    assert page.headings[0] == page.headings.count(1) == 1
    steps = zip(page.headings, page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    assert {"main", "nav", "title"} <= page.elements
    assert not page.elements & {"script", "style", "iframe", "form", "img"}
    assert "style" not in page.attributes
    assert not {name for name in page.attributes if name.startswith("on")}
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert "unsafe" not in policy
    assert not [link for link in page.links + page.loads if re.match(r"/|[a-z]+:", link)]


def test_what_is_not_markup_is_not_read_as_markup():
    addresses = {"straight.3": "#straight.3"}
    assert pages._linked('<b> & "straight.3", straight.31', addresses) == (
        '&lt;b&gt; &amp; &#34;<a href="#straight.3">straight.3</a>&#34;, straight.31'
    )
    assert pages._linked("say `<i>_x`", {}) == "say <code>&lt;i&gt;_x</code>"
    assert pages._in_markdown("<b> a_b *c* `d_e` [f] #g") == r"\<b\> a\_b \*c\* `d_e` \[f\] \#g"
    assert pages._in_markdown("half ` a code") == r"half \` a code"


def test_a_name_with_markup_in_it_is_on_no_sheet(house):
    table = house.waiting("parlett", more={"name": "<script>alert(1)</script>"})
    for form in (JSON, MARKDOWN, HTML):
        assert "alert" not in table.stranger.get("rules", accept=form).text


# ------------------------------------------------------------------------------- every link


def followed(house: House, path: str, prefix: str = "") -> Iterator[tuple[str, TestResponse]]:
    """Everything that a page links to or loads, with the anchor."""
    page = Page(ask(house, path, HTML).text)
    for link in dict.fromkeys(page.links + page.loads):
        target, anchor = urldefrag(urljoin(prefix + path, link))
        assert target.startswith(f"{prefix}/")
        yield anchor, ask(house, target.removeprefix(prefix), BROWSER)


@pytest.mark.parametrize("path", [*PUBLIC, "/errors/options_refused"])
@pytest.mark.parametrize("prefix", ["", "/cards/rummy"])
def test_every_link_of_a_page_leads_somewhere_under_any_prefix(house, path, prefix):
    found = list(followed(house, path, prefix))
    assert len(found) > 6
    for anchor, answer in found:
        assert answer.status_code == 200
        assert not anchor or anchor in Page(answer.text).ids


def test_a_games_page_links_under_its_own_address(house):
    table = at_a_table(house)
    for anchor, answer in followed(house, f"/v1/games/{table.id}/rules"):
        assert answer.status_code == 200
        assert not anchor or anchor in Page(answer.text).ids


def test_behind_a_proxy_addresses_in_json_have_its_prefix(redis_url):
    app = create_app(Config(redis_url=redis_url, proxies=1))
    entry = app.test_client().get("/errors/not_a_meld", headers={"X-Forwarded-Prefix": "/cards"})
    assert [rule["url"] for rule in entry.json["rules"]] == [
        f"/cards/v1/variants/straight/rules#{rule['rule']}" for rule in entry.json["rules"]
    ]


def test_the_clause_and_the_type_of_a_refusal_can_be_read(house):
    table = house.position(hands="5C 5D KH | 2S 3S", pile="9D", phase="draw")
    player = table.players[0]
    assert player.play("take 9D").status_code == 200
    refused = player.play("discard 9D").json
    assert refused["rule"] in {found["rule"] for found in clauses(player.get("rules").json)}
    assert refused["rule"] in Page(player.get("rules", accept=HTML).text).ids
    entry = ask(house, refused["type"]).json
    assert (entry["code"], entry["status"]) == (refused["code"], refused["status"])
    assert refused["rule"] in {rule["rule"] for rule in entry["rules"]}
    assert refused["params"].keys() <= {param["name"] for param in entry["params"]}


# ------------------------------------------------------------------------------- of a table


def test_a_tables_sheet_marks_the_deviations_that_its_view_lists(house):
    table = at_a_table(house)
    view, sheet = table.players[1].look(), table.players[1].get("rules").json
    assert (sheet["game"], sheet["players"]) == (table.id, [3])
    stated = [sentence["option"] for sentence in sentences(sheet) if sentence["option"]]
    assert {option["name"]: option["value"] for option in stated} == {
        name: value for name, value in view["options"].items() if name not in {"variant", "players"}
    }
    assert {(one["name"], one["usual"], one["value"]) for one in stated if one["deviates"]} == {
        (one["option"], one["preset"], one["value"]) for one in view["deviations"]
    }
    assert {one["rule"] for one in view["deviations"]} <= {one["rule"] for one in clauses(sheet)}
    page = Page(table.players[1].get("rules", accept=HTML).text)
    assert "The house rules of this table" in page.text


def test_before_the_start_the_sheet_is_for_a_full_table_and_then_for_those_who_came(house):
    table = house.waiting("straight", 4, taken=2)
    assert table.stranger.get("rules").json["players"] == [4]
    assert table.players[0].post("start").status_code == 200
    sheet = table.stranger.get("rules").json
    assert sheet["players"] == [2]
    assert "Number of cards dealt to each player: 10." in [one["text"] for one in sentences(sheet)]
    page = table.stranger.get("rules", accept=HTML).text
    assert "This table plays the variant without house rules." in page


def test_a_sheet_is_seen_by_whoever_may_see_the_game(house):
    table = house.waiting("straight", 2, taken=1, more={"private": True, "spectators": False})
    assert table.stranger.get("rules").status_code == 200  # as the waiting table itself
    table = house.waiting("straight", 2, taken=2, more={"spectators": False})
    assert table.stranger.get("rules").json["code"] == "no_spectators"
    assert table.players[1].get("rules").status_code == 200
    refused = table.stranger.get("rules", accept=HTML)
    assert (refused.status_code, refused.mimetype) == (403, "application/problem+json")


def test_a_sheet_of_a_variant_is_for_as_many_players_as_asked_for(house):
    assert ask(house, SHEET).json["players"] == [2, 3, 4, 5, 6]
    sheet = ask(house, f"{SHEET}?players=5").json
    assert sheet["players"] == [5]
    assert {tuple(sentence["players"]) for sentence in sentences(sheet)} == {(5,)}
    assert ask(house, f"{SHEET}?players=7").json["options"][0]["rule"] == "straight.1"
    for wrong in ("players=1", "players=9", "players=two", "players=2&players=3", "seats=3"):
        assert ask(house, f"{SHEET}?{wrong}").json["code"] == "invalid_request"
    table = at_a_table(house)
    assert table.stranger.get("rules?players=3").json["code"] == "invalid_request"


# ---------------------------------------------------------------------------- the refusals


def test_every_code_is_listed_and_explained_by_itself(house):
    listed = ask(house, "/errors").json["errors"]
    assert [entry["code"] for entry in listed] == list(CATALOGUE)
    for entry in listed:
        assert entry == ask(house, f"/errors/{entry['code']}").json
        assert entry["status"] == status_of_code(entry["code"])
        page = Page(ask(house, f"/errors/{entry['code']}", HTML).text)
        assert entry["title"] in page.text
        assert entry["code"] in page.text
        assert as_read(entry["explanation"]) in as_read(page.text)
        assert {rule["rule"] for rule in entry["rules"]} <= set(page.words)
        assert {param["name"] for param in entry["params"]} <= set(page.words)
    page = Page(ask(house, "/errors", HTML).text)
    assert [anchor for anchor in page.ids if anchor != "content"] == list(CATALOGUE)


def test_every_clause_that_a_code_can_name_is_where_it_says(house):
    sheets: dict[str, list[str]] = {}
    for entry in ask(house, "/errors").json["errors"]:
        for rule in entry["rules"]:
            path, anchor = urldefrag(rule["url"])
            if path not in sheets:
                sheets[path] = Page(ask(house, path, HTML).text).ids
            assert anchor == rule["rule"]
            assert anchor in sheets[path]


def test_a_code_that_is_none_is_refused(house):
    for code in ("canasta", "Draw_First", "draw_first.html", "%3Cb%3E"):
        answer = ask(house, f"/errors/{code}", HTML)
        assert (answer.status_code, answer.json["code"]) == (404, "no_such_error")
    assert ask(house, "/errors/").json["code"] == "no_such_route"
    assert ask(house, "/errors?code=draw_first").json["code"] == "invalid_request"


# -------------------------------------------------------------------------------- languages

FORMS = [JSON, MARKDOWN, HTML]


@pytest.mark.parametrize(
    ("wish", "spoken"),
    [("", "en"), ("sv", "sv"), ("da-DK, en;q=0.5", "da"), ("de, sv;q=0.2", "sv"), ("de", "en")],
)
@pytest.mark.parametrize("path", PUBLIC)
def test_an_answer_is_in_the_callers_language_and_says_so(house, path, wish, spoken):
    for form in FORMS:
        answer = ask(house, path, form, accept_language=wish)
        assert answer.headers["Content-Language"] == spoken
        if answer.mimetype == HTML:
            assert Page(answer.text).language == spoken


def test_the_explanation_of_a_refusal_is_in_the_language_of_the_refusal(house):
    table = house.position(hands="5C 5D KH | 2S 3S", pile="9D", phase="draw")
    titles = set()
    for language in ("en", "sv", "da"):
        refused = table.players[0].post("discard", {"card": "KH"}, accept_language=language).json
        entry = ask(house, refused["type"], accept_language=language).json
        assert entry["title"] == refused["title"]
        titles.add(entry["title"])
    assert len(titles) == 3


@pytest.mark.parametrize("form", FORMS)
def test_each_language_has_a_tag_of_its_own(house, form):
    table = at_a_table(house)
    for path in (*PUBLIC, f"/v1/games/{table.id}/rules"):
        tags = {
            language: ask(house, path, form, accept_language=language).headers["ETag"]
            for language in ("en", "sv", "da")
        }
        assert len(set(tags.values())) == 3
        for language in tags:
            answers = [
                ask(house, path, form, accept_language=language, if_none_match=tag).status_code
                for tag in (tags[language], *set(tags.values()) - {tags[language]})
            ]
            assert answers == [304, 200, 200]


# ---------------------------------------------------------------------------------- caching


@pytest.mark.parametrize("path", PUBLIC)
@pytest.mark.parametrize("form", FORMS)
def test_what_changes_with_the_service_alone_may_be_kept_by_anybody(house, path, form):
    answer = ask(house, path, form)
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert set(answer.headers["Vary"].split(", ")) == {"Accept", "Accept-Language"}
    assert answer.headers["Content-Language"] == "en"


@pytest.mark.parametrize("form", FORMS)
def test_the_sheet_of_a_table_is_kept_by_its_callers_alone(house, form):
    table = at_a_table(house)
    for watcher in (table.stranger, table.players[0]):
        answer = watcher.get("rules", accept=form)
        assert answer.headers["Cache-Control"] == "private, no-cache"
        vary = set(answer.headers["Vary"].split(", "))
        assert vary == {"Accept", "Accept-Language", "Authorization"}


@pytest.mark.parametrize("path", PUBLIC)
@pytest.mark.parametrize("form", FORMS)
def test_who_has_the_answer_already_is_told_so(house, path, form):
    answer = ask(house, path, form)
    tag = answer.headers["ETag"]
    assert ask(house, path, form).headers["ETag"] == tag
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = ask(house, path, form, if_none_match=known)
        assert (again.status_code, again.data) == (304, b"")
        assert again.headers["ETag"] == tag
        assert again.headers["Vary"] == answer.headers["Vary"]
        assert again.headers["Cache-Control"] == answer.headers["Cache-Control"]
    for other in ('"other"', '"12"', ""):
        assert ask(house, path, form, if_none_match=other).status_code == 200


def test_each_form_has_a_tag_of_its_own(house):
    table = at_a_table(house)
    tags = [table.stranger.get("rules", accept=form).headers["ETag"] for form in FORMS]
    tags += [ask(house, SHEET, form).headers["ETag"] for form in FORMS]
    assert len(set(tags)) == 6
    again = table.stranger.get("rules", accept=HTML, if_none_match=tags[0])
    assert again.status_code == 200


def test_the_tag_of_a_tables_sheet_changes_with_its_rules_and_not_with_its_moves(house):
    table = house.waiting("straight", 4, taken=2)
    tag = table.stranger.get("rules").headers["ETag"]
    table.seat(table.stranger.post("join", {"name": "cleo"}))
    assert table.stranger.get("rules", if_none_match=tag).status_code == 304
    assert table.players[0].post("start").status_code == 200  # with three
    started = table.stranger.get("rules", if_none_match=tag)
    assert started.status_code == 200
    tag = started.headers["ETag"]
    assert table.mover.draw("stock").status_code == 200
    assert table.stranger.get("rules", if_none_match=tag).status_code == 304


def test_head_says_what_get_says(house):
    got = ask(house, SHEET, HTML)
    head = house.client().request("HEAD", SHEET, headers={"Accept": HTML})
    for name in ("ETag", "Vary", "Content-Language", "Content-Type", "Content-Length"):
        assert head.headers[name] == got.headers[name]
    assert head.data == b""
