"""What each answer does for the safety of its reader, and what none of them gives away."""

import re
from collections import defaultdict
from random import Random
from urllib.parse import quote

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from service import __version__
from service.app import create_app
from service.config import Config
from tests.http.tables import House
from tests.serving import ROOT

EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def addresses(app: Flask) -> list[tuple[str, str]]:
    """A request to each address there is, by each of its methods, and to some that are none."""
    found = [("GET", "/nowhere"), ("POST", "/v1"), ("DELETE", "/v1/games"), ("TRACE", "/docs")]
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<int:\w+>", "1", rule.rule)
        for name in ("x", "docs.css", "draw_first", "straight", "aaaaaaaaaaaaaaaa"):
            filled = re.sub(r"<\w+>", name, path)
            found += [(method, filled) for method in sorted(rule.methods or ())]
    return sorted(set(found))


def test_every_answer_has_the_headers_that_protect_its_reader(redis_url):
    app = create_app(Config(redis_url=redis_url, rate_limits=False))
    client = app.test_client()
    asked = addresses(app)
    assert len(asked) > 150
    statuses = set()
    for method, path in asked:
        answer = client.open(path, method=method)
        statuses.add(answer.status_code)
        for name, value in EVERYWHERE.items():
            assert answer.headers[name] == value, (method, path, name)
        assert answer.headers["Permissions-Policy"]
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'"), (method, path)
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "Set-Cookie" not in answer.headers
        assert "Strict-Transport-Security" not in answer.headers  # whoever ends TLS says that
    assert {200, 201, 302, 401, 404, 405, 422} <= statuses


@pytest.mark.parametrize("origins", [(), ("https://cards.example",), ("*",)])
def test_a_page_elsewhere_may_use_the_api_only_where_that_is_configured(redis_url, origins):
    house = House(redis_url, cors_origins=origins)
    table = house.table("straight")
    client = house.app.test_client()
    path = f"/v1/games/{table.id}"
    for origin in ("https://cards.example", "https://evil.example", "null"):
        asked = {"Origin": origin}
        welcome = origins == ("*",) or origin in origins
        answer = client.get(path, headers=asked)
        allowed = answer.headers.get("Access-Control-Allow-Origin")
        assert (allowed in {origin, "*"}) == welcome
        assert "Access-Control-Allow-Credentials" not in answer.headers
        before = client.options(
            f"{path}/draw?wait=3",
            headers=asked
            | {
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization, content-type, idempotency-key",
            },
        )
        assert before.status_code == 200
        allowed = before.headers.get("Access-Control-Allow-Origin")
        assert (allowed in {origin, "*"}) == welcome
        if welcome:
            told = answer.headers["Access-Control-Expose-Headers"]
            names = {"ETag", "Location", "Retry-After", "RateLimit", "Idempotency-Replayed"}
            assert names <= set(told.split(", "))
            headers = before.headers["Access-Control-Allow-Headers"].lower()
            assert {"authorization", "idempotency-key"} <= set(headers.split(", "))
            assert int(before.headers["Access-Control-Max-Age"]) > 600


def test_refusals_can_be_read_by_pages_elsewhere_too(redis_url):
    client = House(redis_url, cors_origins=("*",)).app.test_client()
    for path in ("/v1/games/x", "/nowhere", "/v1/games?limit=x"):
        answer = client.get(path, headers={"Origin": "https://cards.example"})
        assert answer.status_code >= 400
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
    for path in ("/nowhere", "/v1/games?limit=5", "/v1/sandbox"):
        assert client.options(path).status_code in {200, 404}


# --------------------------------------------------------------------- what no refusal gives away

SENT = (
    '{"variant": "straight", "name": "%s", "options": {"deals": 1}}',
    '{"name": "%s"}',
    '{"card": "%s"}',
    '{"cards": ["%s"], "meld": "%s"}',
    '{"tokens": ["%s"]}',
    '{"%s": {"a": ["%s"]}}',
    '{"variant": "%s", "practice": {"deal": "%s", "order": ["%s"]}}',
    "%s",
)
WORDS = (
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "%(levelname)s {0.__class__} {detail.__class__.__init__.__globals__}",
    "\\u0000",
    "\\ud800",
    "' OR 1=1 --",
    "é" * 300,
    "9" * 400,
    "-1",
    "\r\nX-Evil: yes",
    "",
)
GIVES_AWAY = re.compile(
    r"Traceback|File \"|\.py\b|site-packages|/home/|/usr/|/tmp/|__\w+__|<class |object at 0x"
    r"|werkzeug|marshmallow|msgspec|flask|redis|gunicorn|python|\b49\b|" + re.escape(str(ROOT)),
    re.IGNORECASE,
)


def told_of_its_own(answer: TestResponse) -> str:
    """The refusal without what was sent itself: the path, and values that are repeated."""
    body = answer.json
    parts = [body[name] for name in ("type", "title", "code")]
    texts = " ".join([body["detail"], *(field["reason"] for field in body.get("fields", ()))])
    for word in WORDS:
        texts = texts.replace(word, "") if word else texts
    return " ".join([*parts, texts, str(answer.headers)])


def test_no_refusal_shows_how_the_service_is_made(redis_url):
    house = House(redis_url)
    house.app.testing = False
    table = house.table("straight")
    client = house.app.test_client()
    chance = Random(11)
    operations = [
        (method, rule.rule.replace("<game_id>", table.id).replace("<int:number>", "1"))
        for rule in house.app.url_map.iter_rules()
        for method in (rule.methods or set()) & {"GET", "POST"}
        if rule.rule.startswith(("/v1", "/errors"))
    ]
    refused = 0
    for _ in range(1_500):
        method, path = chance.choice(operations)
        words = chance.choices(WORDS, k=6)
        template = chance.choice(SENT)
        body = template % tuple(words[: template.count("%s")])
        path = path.replace("<", "{").replace(">", "}")
        path = path.format_map(defaultdict(lambda word=words[5]: quote(word, safe="")))
        headers = {
            "Authorization": chance.choice(
                ("", "Bearer x", "Basic eDp4", f"Bearer {table.players[0].token}", "\x01")
            ),
            "Accept": chance.choice(("*/*", "text/html", "x", "text/event-stream")),
            "Accept-Language": chance.choice(("sv", "xx;q=2", "../../da", "")),
            "Idempotency-Key": chance.choice(("x", "é", "k" * 300)),
            "If-Match": chance.choice(('"1"', "x", "*")),
        }
        answer = client.open(
            path + chance.choice(("", "?wait=x", "?limit=-1&after=9e9", "?nonsense=1")),
            method=method,
            data=body.encode("utf-8", "surrogatepass") if method == "POST" else None,
            content_type=chance.choice(("application/json", "text/plain", "application/x")),
            headers=headers,
        )
        answer.close()
        if answer.status_code < 400:
            continue
        refused += 1
        assert answer.status_code < 500, (method, path, body, answer.text)
        assert answer.mimetype == "application/problem+json"
        own = told_of_its_own(answer)
        assert not GIVES_AWAY.search(own), own
        assert __version__ not in own
        assert "X-Evil" not in answer.headers
    assert refused > 1_000


def test_what_nobody_foresaw_is_told_without_a_word_of_it(redis_url):
    app = create_app(Config(redis_url=redis_url, rate_limits=False))
    secret = "of /srv/rummy/service/store.py: seed 7f3a"

    def broken() -> None:
        raise RuntimeError(secret)

    app.add_url_rule("/broken", view_func=broken)
    answer = app.test_client().get("/broken")
    assert answer.status_code == 500
    assert not GIVES_AWAY.search(answer.text)
    assert "7f3a" not in answer.text


@pytest.mark.parametrize("path", ["/docs", "/docs/docs.js", "/openapi.json", "/errors"])
def test_who_pins_a_reading_to_a_version_reads_all_the_same(house, path):
    headers = {"If-Match": '"1"', "Accept": "text/html"}
    assert house.client().get(path, headers=headers).status_code == 200
