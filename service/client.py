"""A service as its clients see it: one that runs somewhere, or one of our own for a while."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import msgspec

from service.config import PREFIX
from service.processes import end_with_parent, undisturbed

_Kind = TypeVar("_Kind")

_SERVE = "from service.cli import main; main(prog_name='rummy')"
_START_SECONDS = 90
_STOP_SECONDS = 15
_SECONDS = 60
"""So long a service may be silent."""

_PAUSES = (0.2, 0.5, 1, 2, 4, 8, 15)
"""So long a request waits, each time, before it is sent again."""

_LONGEST_PAUSE = 60

MOST_BYTES = 200_000_000
"""More than any answer has; of a replay, some 10,000 bytes for each deal."""

_LATER = {429, 503}

SEED_VARIABLE = "ARENA_SEED"
TOKEN_VARIABLE = "SEAT_TOKEN"  # noqa: S105 (the name of one)
_OURS = {SEED_VARIABLE, TOKEN_VARIABLE, "SEAT_TOKENS"}


class ServiceError(Exception):
    """The service did not start, cannot be reached, or refuses what it is asked for.

    The message may have in it whatever a service has written, at any length.
    """


class Client:
    """Asks the service at an address, again for half a minute if the line or the service is lost.

    Not if it was never there. Whatever is sent can be sent again unharmed. Raises ServiceError.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._was_there = False

    def post(self, path: str, body: object, kind: type[_Kind], token: str = "") -> _Kind:
        """What the service answers to that body, as it is needed here."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid4())}
        content = self._answer(path, token, msgspec.json.encode(body), headers)
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            raise ServiceError(
                f"{self.address}{path} answered with something else: {error}"
            ) from error

    def get(self, path: str, token: str = "") -> bytes:
        """The document at that path."""
        return self._answer(path, token, None, {})

    def _answer(self, path: str, token: str, body: bytes | None, headers: dict[str, str]) -> bytes:
        """The content of an answer, all of it; without a body it is asked for with GET."""
        address = f"{self.address}{path}"
        pauses = iter(_PAUSES)
        while True:
            try:
                content = _content(address, token, body, headers)
                self._was_there = True
                return content
            except HTTPError as error:
                pause = next(pauses, None) if error.code in _LATER else None
                if pause is None:
                    raise ServiceError(f"{address}: {_detail(error) or error}") from error
                pause = max(pause, _retry_after(error))
            # A ValueError: that can be no address, or no token.
            except (OSError, HTTPException, ValueError) as error:
                pause = next(pauses, None) if self._was_there else None
                if pause is None:
                    raise ServiceError(f"{address} cannot be reached: {error}") from error
            time.sleep(pause)


def environment() -> dict[str, str]:
    """Our environment without what is ours alone: the settings of a service, seats, the cards."""
    return {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(PREFIX) and name not in _OURS
    }


@contextmanager
def own_service(workers: int) -> Iterator[str]:
    """The address of a service of our own, by the default settings, that keeps nothing.

    It has a session of its own, so that Ctrl-C does not reach it before those who use it are done,
    and on Linux it ends with us however we end. Raises ServiceError.
    """
    with tempfile.TemporaryDirectory(prefix="rummy-") as data:
        options = ["--port=0", f"--workers={workers}", f"--data-dir={data}"]
        with subprocess.Popen(
            [sys.executable, "-c", _SERVE, "serve", *options],
            cwd=Path(__file__).parent.parent,
            # It serves nobody but us, as fast as it can.
            env=environment() | {"RUMMY_RATE_LIMITS": "false"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=end_with_parent(),  # noqa: PLW1509 (it only calls prctl)
        ) as process:
            try:
                yield _greeted(process)
            finally:
                with undisturbed():
                    process.terminate()
                    try:
                        process.wait(_STOP_SECONDS)
                    except subprocess.TimeoutExpired:
                        process.kill()


def _content(address: str, token: str, body: bytes | None, headers: dict[str, str]) -> bytes:
    # http or https: whoever gave the address has looked.
    request = Request(address, body, headers)  # noqa: S310
    if token:  # wherever the service might send us on to, it is not for others
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        content: bytes = answer.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ServiceError(f"{address} is larger than {MOST_BYTES} bytes, so it is not read.")
        if answer.length:  # which read() does not mind if it is given a limit
            raise IncompleteRead(content, answer.length)
        return content


def _detail(error: HTTPError) -> str:
    """What the service says in a refusal; empty if it is not one of a service like ours."""
    try:
        problem: Any = json.loads(error.read(MOST_BYTES))
        return f"{problem['detail']} ({error.code} {problem['code']})"
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return ""


def _greeted(process: subprocess.Popen[bytes]) -> str:
    """The address that a service says it is served at."""
    assert process.stdout is not None, "it is a pipe"  # noqa: S101
    if select.select([process.stdout], [], [], _START_SECONDS)[0]:
        for word in process.stdout.readline().decode().split():
            if word.startswith("http://"):
                return word
    raise ServiceError("The service did not start.")


def _retry_after(error: HTTPError) -> int:
    seconds = error.headers.get("Retry-After", "")
    return min(int(seconds), _LONGEST_PAUSE) if seconds.isdecimal() else 0
