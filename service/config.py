"""The configuration: the only reader of the environment."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from service.redis_url import parse

PREFIX = "RUMMY_"

_DAY = 86_400
_MOST = 1_000_000
_LONGEST_WINDOW = 30 * _DAY
_ORIGIN = re.compile(r"\*|https?://[a-z0-9.-]+(:[1-9][0-9]{0,4})?")
_SSL_PASSWORD = re.compile(r"([?&]ssl_password=)[^&]*")
Expiry = Annotated[int, Meta(ge=1, le=3650 * _DAY)]


_OF_A_NAMED_REDIS = {
    "redis_username",
    "redis_password",
    "redis_sentinel_username",
    "redis_sentinel_password",
    "redis_replicas",
}
"""What means nothing for the store that the service runs itself."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator can set: field `x_y` is read from the variable `RUMMY_X_Y`.

    `redis_url` None stands for the Valkey that `rummy serve` starts itself; then the other settings
    of a Redis are refused. `redis_replicas`: so many replicas have a change before it
    is acknowledged. `proxies` is the number of reverse proxies in front whose X-Forwarded headers
    are believed. `record_format` is the layout that games are written in; both are read.
    The `limit_` fields are rates as the package limits writes them, such as "60/minute;1000/day";
    docs/security.md says who is counted by what. `most_waits` bounds the requests that are kept
    waiting at a time, by seat or address. `cors_origins` are the origins whose pages may use the
    API; "*" are all.
    """

    redis_url: str | None = None
    redis_username: str | None = None
    redis_password: str | None = None
    redis_sentinel_username: str | None = None
    redis_sentinel_password: str | None = None
    redis_replicas: Annotated[int, Meta(ge=0, le=9)] = 0
    redis_timeout_seconds: Annotated[float, Meta(ge=0.05, le=30)] = 0.8
    expire_unstarted_seconds: Expiry = _DAY
    expire_running_seconds: Expiry = 7 * _DAY
    expire_finished_seconds: Expiry = 30 * _DAY
    max_body_bytes: Annotated[int, Meta(ge=1024, le=16 * 1024 * 1024)] = 64 * 1024
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    log_format: Literal["text", "json"] = "text"
    metrics: bool = True
    tracing: bool = False
    proxies: Annotated[int, Meta(ge=0, le=10)] = 0
    record_format: Literal[3, 4] = 3
    rate_limits: bool = True
    limit_create: str = "120/minute;5000/day"
    limit_join: str = "120/minute"
    limit_changes: str = "300/10seconds"
    limit_entropy: str = "60/10minutes"
    limit_replays: str = "60/minute"
    limit_queries: str = "600/minute"
    limit_failures: str = "60/minute"
    most_waits: Annotated[int, Meta(ge=1, le=4000)] = 100
    cors_origins: tuple[str, ...] = ()

    def with_own_store(self, url: str) -> "Config":
        """The same, but for the store that the service runs itself, at that address."""
        return replace(
            self,
            redis_url=url,
            redis_username=None,
            redis_password=None,
            redis_sentinel_username=None,
            redis_sentinel_password=None,
            redis_replicas=0,
        )


class ConfigError(Exception):
    """The environment cannot be used; `problems` says why, one line per variable."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load_config(environ: Mapping[str, str]) -> Config:
    """Read the `RUMMY_` variables; an empty one counts as not set.

    Raises ConfigError with every problem at once, unknown variables among them.
    """
    fields = {PREFIX + field.name.upper(): field for field in msgspec.structs.fields(Config)}
    values: dict[str, Any] = {}
    problems: list[str] = []
    for variable, text in sorted(environ.items()):
        if not variable.startswith(PREFIX):
            continue
        if variable not in fields:
            problems.append(f"{variable} is not a setting{_hint(variable, list(fields))}")
        elif text.strip():
            field = fields[variable]
            try:
                values[field.name] = _parse(field, text.strip())
            except ValueError as error:
                reason = str(error).removesuffix(", got `str`")
                problems.append(f"{variable}={_masked(text)!r}: {reason}")
    problems += _joint_problems(values, bool(environ.get(PREFIX + "REDIS_URL", "").strip()))
    if problems:
        raise ConfigError(problems)
    return Config(**values)


def _parse(field: msgspec.structs.FieldInfo, text: str) -> Any:
    """Raise ValueError (msgspec's ValidationError is one) when the text does not fit."""
    if field.name == "redis_url":
        parse(text)
        return text
    if field.name == "cors_origins":
        return _origins(text)
    if field.name.startswith("limit_"):
        return _rates(text)
    if field.name in {"log_level", "log_format"}:
        text = text.lower()
    if get_origin(field.type) is Literal and text not in map(str, get_args(field.type)):
        raise ValueError(f"Expected {' or '.join(map(str, get_args(field.type)))}")
    return msgspec.convert(text, field.type, strict=False)


def _rates(text: str) -> str:
    # Imported here: it takes as long as all the rest of the start of a command.
    from limits import parse_many

    try:
        rates = parse_many(text)
    except ValueError:
        raise ValueError("Expected rates such as 60/minute or 10/second;1000/day") from None
    if any(rate.amount < 1 or rate.get_expiry() < 1 for rate in rates):
        raise ValueError("Expected at least one request in at least a second")
    if any(rate.amount > _MOST or rate.get_expiry() > _LONGEST_WINDOW for rate in rates):
        raise ValueError(f"Expected at most {_MOST} requests in at most 30 days")
    windows = [rate.get_expiry() for rate in rates]
    if len(set(windows)) < len(windows):
        raise ValueError("Expected one rate for each length of time")
    return text


def _origins(text: str) -> tuple[str, ...]:
    origins = tuple(text.replace(",", " ").split())
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise ValueError("Expected * or origins such as https://cards.example, with commas")
    if "*" in origins and len(origins) > 1:
        raise ValueError("Expected no other origin beside *")
    return origins


def _joint_problems(values: Mapping[str, Any], is_named: bool) -> Iterator[str]:
    """What is wrong with users and passwords beside the URL; never what they are."""
    name = PREFIX + "REDIS_URL"
    if "redis_url" not in values:
        for field in () if is_named else sorted(_OF_A_NAMED_REDIS & values.keys()):
            yield f"{PREFIX}{field.upper()}: Expected {name} too"
        return
    url = parse(values["redis_url"])
    if "redis_password" in values and url.has_password:
        yield f"{PREFIX}REDIS_PASSWORD: {name} has a password already; give one of them"
    if "redis_username" in values and url.has_username:
        yield f"{PREFIX}REDIS_USERNAME: {name} has a user already; give one of them"
    if "redis_username" in values and not ("redis_password" in values or url.has_password):
        yield f"{PREFIX}REDIS_USERNAME: Expected {PREFIX}REDIS_PASSWORD too"
    if "redis_sentinel_username" in values and "redis_sentinel_password" not in values:
        yield f"{PREFIX}REDIS_SENTINEL_USERNAME: Expected {PREFIX}REDIS_SENTINEL_PASSWORD too"
    if "redis_sentinel_password" in values and url.kind != "sentinel":
        yield f"{PREFIX}REDIS_SENTINEL_PASSWORD: Expected redis+sentinel://... in {name}"


def _hint(variable: str, known: list[str]) -> str:
    near = get_close_matches(variable, known, n=1, cutoff=0.7)
    return f" (did you mean {near[0]}?)" if near else ""


def _masked(text: str) -> str:
    """The text without the passwords that a URL may carry, for messages."""
    text = _SSL_PASSWORD.sub(r"\1***", text)
    before, at, host = text.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return f"{scheme}{slashes}***{at}{host}" if at else text
