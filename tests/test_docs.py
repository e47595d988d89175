"""The pages in a real browser: they ask nobody else, and with /docs a game can be clicked.

Chromium is spoken to through two pipes (--remote-debugging-pipe), so that nothing else is needed.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server

from service.app import create_app
from service.config import Config
from tests.contract import operations_of

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,800",
    "--remote-debugging-pipe",
)
LAUNCH = """
import os, sys
read, write = (os.dup(int(end)) for end in sys.argv[1:3])
for end, place in ((read, 3), (write, 4)):
    os.dup2(end, place)
    os.set_inheritable(place, True)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Starts Chromium with the pipes where it expects them: commands at 3, answers and events at 4."""
PREFIX = "/cards"
SECONDS = 60.0
AGAIN_SECONDS = 10.0


@pytest.fixture(scope="module")
def app(redis_url: str) -> Flask:
    return create_app(Config(redis_url=redis_url))


@pytest.fixture(scope="module")
def address(app: Flask) -> Iterator[str]:
    """Where the service is served for real, under a prefix as behind a proxy."""
    server = make_server(
        "127.0.0.1", 0, DispatcherMiddleware(NotFound(), {PREFIX: app}), threaded=True
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
    server.shutdown()
    thread.join()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator["Browser"]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    browser = Browser(CHROMIUM, tmp_path)
    yield browser
    browser.close()


PAGE_LEFT = "Inspected target navigated or closed"


class PageLeft(Exception):
    """The page was left for another while it was asked something."""


class Browser:
    """One page of Chromium, with what it asked for and what it complained of."""

    def __init__(self, binary: str, profile: Path) -> None:
        from_us, self._commands = os.pipe()
        self._answers, to_us = os.pipe()
        ends = [str(from_us), str(to_us)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *ends, binary, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(from_us, to_us),
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self._reader = os.fdopen(self._answers, "rb")
        self._number = 0
        self._session = ""
        self.requested: list[str] = []
        self.complaints: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def close(self) -> None:
        os.close(self._commands)  # with which Chromium ends
        self._reader.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def open(self, url: str) -> None:
        self._ask("Page.navigate", url=url)

    def resize(self, width: int, height: int) -> None:
        """Show the page in a window of that size from now on, as a phone does."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        self._ask("Emulation.setDeviceMetricsOverride", **size, mobile=True)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, (script, answer)
        return answer["result"].get("value")

    def wait_for(self, script: str, seconds: float = SECONDS) -> Any:
        """The value of an expression as soon as it is a true one, on this page or the next."""
        deadline = time.monotonic() + seconds
        while True:
            with suppress(PageLeft):
                if value := self.run(script):
                    return value
            assert time.monotonic() < deadline, f"never: {script}"
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        self.wait_for(f"!!document.querySelector({json.dumps(selector)})")
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def choose(self, selector: str, value: str) -> None:
        """Take that value of a list to choose from."""
        self.wait_for(f"!!document.querySelector({json.dumps(selector)})")
        self.run(
            f"(list => {{ list.value = {json.dumps(value)};"
            " list.dispatchEvent(new Event('change', { bubbles: true })); })"
            f"(document.querySelector({json.dumps(selector)}))"
        )

    def type(self, selector: str, text: str) -> None:
        self.wait_for(f"!!document.querySelector({json.dumps(selector)})")
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self._ask("Input.insertText", text=text)
        self.run("document.activeElement.blur()")  # or the page waits whether more is typed

    def screenshot(self) -> str:
        """The page as PNG, in base64."""
        taken: str = self._ask("Page.captureScreenshot")["data"]
        return taken

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = json.loads(self._message())
            if message.get("id") == self._number:
                if message.get("error", {}).get("message") == PAGE_LEFT:
                    raise PageLeft
                assert "error" not in message, (method, message)
                found: dict[str, Any] = message["result"]
                return found
            self._note(message.get("method", ""), message.get("params", {}))

    def _message(self) -> bytes:
        message = bytearray()
        while (byte := self._reader.read(1)) != b"\0":
            assert byte, "chromium has ended"
            message += byte
        return bytes(message)

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])
        elif event == "Log.entryAdded":
            self.complaints.append(f"{params['entry']['level']}: {params['entry']['text']}")
        elif event == "Runtime.consoleAPICalled":
            self.complaints.append(f"{params['type']}: {params['args']}")
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))


class Page:
    """Swagger UI as somebody uses it."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser = browser
        browser.open(f"{address}/docs")
        browser.wait_for("document.querySelectorAll('.opblock').length")

    def authorize(self, token: str) -> None:
        self.browser.click(".scheme-container .authorize")
        self.browser.type(".auth-container input", token)
        self.browser.click(".auth-container .authorize[type=submit]")
        self.browser.click(".modal-ux .btn-done")

    def play_as(self, name: str) -> None:
        """Press the button of that player, above the operations."""
        named = f"one => one.innerText.startsWith('{name}')"
        button = f"[...document.querySelectorAll('#seats button')].find({named})"
        self.browser.wait_for(f"!!{button}")
        self.browser.run(f"{button}.click()")
        self.browser.wait_for(f"{button}.getAttribute('aria-pressed') == 'true'")

    def send(self, tag: str, operation: str, example: str = "") -> dict[str, Any]:
        """Try an operation with that example, or the first; its answer, and status as `HTTP`."""
        block = f"#operations-{tag}-{operation}"
        if not self.browser.run(f"!!document.querySelector('{block} .opblock-body')"):
            self.browser.click(f"{block} .opblock-summary-control")
        if self.browser.run(f"!!document.querySelector('{block} .btn-clear')"):
            self.browser.click(f"{block} .btn-clear")
        if example:
            self.browser.choose(f"{block} .examples-select-element", example)
        self._execute(block)
        response = f"{block} .live-responses-table .response"
        status = f"document.querySelector('{response} .response-col_status')?.innerText"
        text = self.browser.wait_for(status)
        body = f"document.querySelector('{response} pre')?.innerText"
        answer: dict[str, Any] = json.loads(self.browser.wait_for(body))
        return answer | {"HTTP": int(text.split()[0])}

    def _execute(self, block: str) -> None:
        """Press the button until it sends.

        On a busy machine Swagger UI sometimes does not find the operation of a block that it has
        just opened. Then it helps, and only then, to close and open it, as a person would.
        """
        sent = f"!!document.querySelector('{block} .btn-clear')"
        for _ in range(int(SECONDS / AGAIN_SECONDS)):
            self.browser.click(f"{block} .execute")
            with suppress(AssertionError):
                self.browser.wait_for(sent, AGAIN_SECONDS)
                return
            complaints = self.browser.complaints
            complaints[:] = [one for one in complaints if "OperationNotFoundError" not in one]
            for _ in range(2):
                self.browser.click(f"{block} .opblock-summary-control")
        raise AssertionError(f"{block} does not send")


def test_the_page_shows_every_operation_and_asks_nobody_else(
    document: dict[str, Any], address: str, browser: Browser
) -> None:
    Page(browser, address)
    operations = len(operations_of(document))
    assert browser.run("document.querySelectorAll('.opblock').length") == operations
    assert browser.requested
    assert {url.startswith((address, "data:")) for url in browser.requested} == {True}
    assert browser.complaints == []


def test_the_first_game_can_be_played_by_clicking(address: str, browser: Browser) -> None:
    page = Page(browser, address)
    browser.click("#begin a")
    made = page.send("sandbox", "createSandbox")
    assert made["HTTP"] == 201
    assert page.send("play", "draw")["events"][0]["event"]["card"] == "2S"
    assert page.send("play", "playTurn")["game"]["deal"]["turn"] == 1
    page.play_as("Bo")
    assert page.send("play", "draw")["events"][0]["event"]["card"] == "4C"
    browser.open(f"{address}/docs")  # as if it were loaded again
    browser.wait_for("document.querySelectorAll('.opblock').length")
    last = page.send("play", "playTurn", "going_out")
    assert (last["game"]["status"], last["game"]["result"]["winners"]) == ("finished", [1])
    page.play_as("nobody")
    seen = page.send("games", "getGame")
    assert (seen["id"], seen["you"]) == (made["game"]["id"], None)
    assert browser.complaints == []
    if keep := os.environ.get("RUMMY_SCREENSHOT"):
        Path(keep).write_bytes(base64.b64decode(browser.screenshot()))


def test_the_page_can_be_used_on_a_phone(address: str, browser: Browser) -> None:
    browser.resize(360, 740)
    page = Page(browser, address)
    assert page.send("sandbox", "createSandbox")["HTTP"] == 201
    assert page.send("play", "draw")["HTTP"] == 200
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_refusal_can_be_read_and_a_token_pasted(address: str, browser: Browser) -> None:
    page = Page(browser, address)
    made = page.send("games", "createGame", "by_seed")
    joined = page.send("games", "joinGame")
    assert (joined["HTTP"], joined["seat"]) == (201, 1)
    refused = page.send("play", "draw")  # as Bo, who came last
    assert (refused["HTTP"], refused["code"]) == (409, "not_your_turn")
    shown = "document.querySelector('#operations-play-draw .live-responses-table').innerText"
    assert refused["detail"] in browser.run(shown)
    page.play_as("nobody")
    assert page.send("play", "draw")["code"] == "no_token"
    page.authorize(made["token"])
    assert page.send("play", "draw")["HTTP"] == 200
    statuses = [complaint.partition("status of ")[2][:3] for complaint in browser.complaints]
    assert statuses == ["409", "401"]  # which Chromium notes by itself


@pytest.mark.parametrize(
    "path", ["/v1/variants/straight/rules#straight.3", "/errors", "/errors/draw_first"]
)
def test_rules_and_refusals_can_be_read_on_a_phone_and_ask_nobody_else(
    app: Flask, address: str, browser: Browser, path: str
) -> None:
    browser.resize(360, 740)
    browser.open(f"{address}{path}")
    browser.wait_for("document.readyState == 'complete'")
    assert browser.run("document.querySelectorAll('h1').length") == 1
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.run("getComputedStyle(document.body).maxWidth") != "none"  # the sheet is there
    assert {url.startswith(address) for url in browser.requested} == {True}
    assert browser.complaints == []
    browser.click("footer a[href*='errors']")
    browser.wait_for(
        "location.pathname.endsWith('/errors') && !!document.querySelector('#bad_card')"
    )
    browser.click("#draw_first a")
    browser.wait_for("document.querySelector('h1 + p code')?.innerText == 'draw_first'")
    browser.click("a[href$='#common.3']")
    assert browser.wait_for("document.querySelector('article:target')?.id") == "common.3"
    assert browser.complaints == []


# ------------------------------------------------------------------------- without a browser


@pytest.mark.parametrize(("path", "target"), [("/", "docs"), ("/docs/", "../docs")])
def test_the_root_leads_to_the_page(app: Flask, path: str, target: str) -> None:
    answer = app.test_client().get(path)
    assert (answer.status_code, answer.headers["Location"]) == (302, target)


@pytest.mark.parametrize(
    "name", ["nothing.js", "index.css", "oauth2-redirect.html", "..%2fdocs.py", "%2e%2e/config.py"]
)
def test_only_what_the_page_loads_is_given_out(app: Flask, name: str) -> None:
    answer = app.test_client().get(f"/docs/{name}")
    assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")


@pytest.mark.parametrize("path", ["/docs", "/docs/docs.js", "/openapi.json", "/healthz", "/none"])
def test_every_answer_is_what_it_says_it_is(app: Flask, path: str) -> None:
    headers = app.test_client().get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_page_has_relative_addresses_only(app: Flask) -> None:
    page = app.test_client().get("/docs").text
    assert 'src="/' not in page
    assert 'href="/' not in page
    assert "://" not in page
