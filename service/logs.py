"""The log: a line for each thing that happened, as text for people or as JSON for programs.

All goes to the standard error: what the service says, what gunicorn says, and warnings of Python.
What others sent is never written as it came: nothing moves a cursor, begins a line or is long.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from service import current

LogFormat = Literal["text", "json"]

_MOST_SAID = 2000
"""So many characters of a message are written."""

_MOST_TRACED = 8000
"""And so many of a traceback: the last ones."""


def configure(level: str, log_format: LogFormat) -> None:
    """Write all that this process and its children say, from that level on, in that form.

    Of others' libraries only warnings and errors are written.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    number: int = getattr(logging, level.upper())
    root.setLevel(max(number, logging.WARNING))
    logging.getLogger("service").setLevel(number)
    logging.captureWarnings(capture=True)


class JsonLines(logging.Formatter):
    """A line is a JSON object in ASCII.

    `time` (RFC 3339, UTC), `level`, `logger`, `pid`, `message`; `request_id` of the request that it
    happened in; `traceback`; and the fields that the record itself has.
    """

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "message": _cut(record.getMessage()),
        }
        said |= _fields(record)
        if traceback := _traceback(self, record):
            said["traceback"] = traceback
        return json.dumps(said, default=str)


class TextLines(logging.Formatter):
    """A line is the time, the level, the message and the fields; a traceback follows below."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        message = _cut(record.getMessage())
        line = _printable(f"{_time(record)} {record.levelname} {record.name}: {message}{fields}")
        lines = _traceback(self, record).splitlines()
        return "\n".join([line, *(_printable(each) for each in lines)])


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    """What was logged with `extra={"fields": …}`, and the request that it is about."""
    fields: Mapping[str, object] = getattr(record, "fields", {})
    request = current.request()
    if request is None or "request_id" in fields:
        return fields
    known = {"request_id": request.id}
    if request.trace:
        known["trace_id"] = request.trace
    return known | dict(fields)


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info)[-_MOST_TRACED:] if record.exc_info else ""


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}…"


def _printable(line: str) -> str:
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line
    )
