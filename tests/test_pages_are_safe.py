"""In a real browser: pages elsewhere may play only where they are let in, and no name is a script.

The browser, and how it is spoken to, are those of `test_docs`.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from werkzeug.serving import make_server

from service.app import create_app
from service.config import Config
from tests.test_docs import CHROMIUM, Browser, Page

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\"'><svg onload=alert(1)>",
    "[a](javascript:alert(1))",
    "{{constructor.alert(1)}}",
)
"""Names that somebody may have."""

PLAYS = """
(async () => {
  const service = %r, typed = { "Content-Type": "application/json" };
  const made = await fetch(`${service}/v1/sandbox`,
    { method: "POST", body: "{}", headers: { ...typed, "Idempotency-Key": crypto.randomUUID() } });
  const { seats, game } = await made.json();
  const authorization = `Bearer ${seats[0].token}`, at = `${service}/v1/games/${game.id}`;
  const stream = await fetch(`${at}/events?after=0`,
    { headers: { Authorization: authorization, Accept: "text/event-stream" } });
  const reader = stream.body.getReader();
  const heard = new TextDecoder().decode((await reader.read()).value);
  reader.cancel();
  const drawn = await fetch(`${at}/draw`, { method: "POST", body: '{"from": "stock"}',
    headers: { ...typed, Authorization: authorization, "If-Match": made.headers.get("ETag") } });
  const wrong = await fetch(`${at}/draw`, { method: "POST", body: '{"from": "stock"}',
    headers: { ...typed, Authorization: authorization } });
  return { heard: heard.includes("event: game"), tag: drawn.headers.get("ETag"),
    left: drawn.headers.get("RateLimit"), refused: (await wrong.json()).code };
})().then(found => window.found = found, error => window.found = { error: String(error) })
"""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    browser = Browser(CHROMIUM, tmp_path)
    yield browser
    browser.close()


@contextmanager
def served(start: Callable[[], object], stop: Callable[[], object]) -> Iterator[None]:
    thread = threading.Thread(target=start, daemon=True)
    thread.start()
    yield
    stop()
    thread.join()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """A page of another origin."""
    (tmp_path / "index.html").write_text("<!DOCTYPE html><title>Cards</title>")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with server, served(server.serve_forever, server.shutdown):
        yield f"http://127.0.0.1:{server.server_port}"


@contextmanager
def service(redis_url: str, **settings: object) -> Iterator[str]:
    server = make_server(
        "127.0.0.1", 0, create_app(Config(redis_url=redis_url, **settings)), threaded=True
    )
    with served(server.serve_forever, server.shutdown):
        yield f"http://127.0.0.1:{server.server_port}"


def test_a_page_of_a_configured_origin_plays(redis_url, browser, elsewhere):
    with service(redis_url, cors_origins=(elsewhere,)) as address:
        browser.open(f"{elsewhere}/index.html")
        browser.wait_for("document.title == 'Cards'")
        browser.run(PLAYS % address)
        found = browser.wait_for("window.found")
    left = found.pop("left")
    assert found == {"heard": True, "tag": '"3"', "refused": "already_drawn"}
    assert left.startswith('"changes";r=')


def test_a_page_of_any_other_origin_does_not(redis_url, browser, elsewhere):
    for settings in ({}, {"cors_origins": ("https://cards.example",)}):
        with service(redis_url, **settings) as address:
            browser.open(f"{elsewhere}/index.html")
            browser.wait_for("document.title == 'Cards' && !window.found")
            browser.run(PLAYS % address)
            assert "Failed to fetch" in browser.wait_for("window.found")["error"]


def test_a_name_that_would_be_a_script_is_only_a_name(redis_url, browser):
    with service(redis_url, rate_limits=False) as address:
        page = Page(browser, address)
        browser.run("window.alert = () => { window.attacked = true; }")
        for name in HOSTILE:
            made = page_makes(browser, name)
            assert made["seats"][0]["name"] == name
        seen = page.send("games", "listGames")
        names = {table["host"] for table in seen["tables"]}
        assert set(HOSTILE) <= names
        assert not browser.run("!!window.attacked")
        assert browser.run("document.querySelectorAll('img[src=x], svg[onload]').length") == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_an_address_that_would_be_a_script_is_only_an_address(redis_url, browser, name):
    with service(redis_url, rate_limits=False) as address:
        for path in ("errors", "docs", "v1/variants", "v1/games"):
            browser.open(f"{address}/{path}/{quote(name, safe='')}")
            browser.wait_for(
                f"location.pathname.startsWith('/{path}/') && document.readyState == 'complete'"
            )
            assert browser.run("document.body.innerText.includes('404')")
            assert browser.run("document.querySelectorAll('script, img, svg').length") == 0


def page_makes(browser: Browser, name: str) -> dict:
    """The public table that the page makes for somebody of that name."""
    body = {"variant": "straight", "name": name, "options": {"deals": 1}, "public": True}
    sent = json.dumps(json.dumps(body))
    browser.run(
        "window.made = null; fetch('v1/games', { method: 'POST', "
        f"headers: {{ 'Content-Type': 'application/json' }}, body: {sent} }})"
        ".then(answer => answer.json()).then(body => { window.made = body.game })"
    )
    made: dict = browser.wait_for("window.made")
    return made
