"""The URL that names the store of the games: one server, a set with sentinels, or a cluster.

`redis://`, `rediss://` (TLS) and `unix://` name one server, `redis+sentinel://a:26379,b:26379/NAME`
the sentinels that watch over the servers of that name, `redis+cluster://a:6379,b:6379` some nodes
of a cluster; `rediss+sentinel://` and `rediss+cluster://` the same with TLS.
"""

from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

Kind = Literal["server", "sentinel", "cluster"]

Host = tuple[str, int]
"""The name or address of a machine, and a port."""

_KINDS: dict[str, Kind] = {"": "server", "sentinel": "sentinel", "cluster": "cluster"}
_SCHEMES = {
    "redis",
    "rediss",
    "unix",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
}
_OF_TLS = {
    "ssl_ca_certs",
    "ssl_ca_data",
    "ssl_ca_path",
    "ssl_cert_reqs",
    "ssl_certfile",
    "ssl_check_hostname",
    "ssl_ciphers",
    "ssl_keyfile",
    "ssl_password",
}
_CHECKS = {"none", "optional", "required"}
_PORT = 6379
_SENTINEL_PORT = 26379


class RedisUrl(Struct, frozen=True):
    """What a URL says.

    `text`: the URL of one server, as redis-py reads it; of the others the parts follow. `hosts` can
    be asked first: the sentinels, or some nodes of the cluster. `name`: of the set that sentinels
    watch over. `login`, `path` and `query` are as they are written in the URL of a server.
    """

    kind: Kind
    text: str
    scheme: str = ""
    login: str = ""
    hosts: tuple[Host, ...] = ()
    name: str = ""
    path: str = ""
    query: str = ""

    @property
    def has_username(self) -> bool:
        return bool(self.login.partition(":")[0])

    @property
    def has_password(self) -> bool:
        return bool(self.login.removesuffix("@").partition(":")[2])

    def of_server(self, host: Host) -> str:
        """The URL of one of the servers that have the games."""
        return f"{self.scheme}://{self.login}{_written(host)}{self.path}{self.query}"

    def of_sentinel(self, host: Host) -> str:
        """That of a sentinel, which has no databases, and users of its own."""
        return f"{self.scheme}://{_written(host)}{self.query}"


def parse(text: str) -> RedisUrl:
    """Raise ValueError with what was expected instead."""
    url = urlsplit(text)
    if url.scheme not in _SCHEMES:
        raise ValueError(
            "Expected a URL that starts with redis://, rediss:// or unix://, or with"
            " redis+sentinel:// or redis+cluster:// (rediss+... for TLS)"
        )
    scheme, _, variety = url.scheme.partition("+")
    kind = _KINDS[variety]
    has_databases, has_tls = kind == "server", scheme == "rediss"
    asked = parse_qs(url.query, keep_blank_values=True)
    if url.fragment or any(
        not (has_databases and name == "db") and not (has_tls and name in _OF_TLS) for name in asked
    ):
        options = ["db"] * has_databases + sorted(_OF_TLS) * has_tls
        expected = f"nothing but {', '.join(options)}" if options else "nothing"
        raise ValueError(f"Expected {expected} after the question mark")
    # What redis-py cannot make sense of it would say at each request only.
    if not all(map(_is_number, asked.get("db", ()))):
        raise ValueError("Expected the number of a database after db=")
    if not _CHECKS.issuperset(asked.get("ssl_cert_reqs", ())):
        raise ValueError("Expected none, optional or required after ssl_cert_reqs=")
    login, at, hosts = url.netloc.rpartition("@")
    if scheme == "unix":
        if not url.path.startswith("/"):
            raise ValueError("Expected an absolute path after unix://")
        return RedisUrl(kind, text, login=login + at)
    if not hosts:
        raise ValueError(f"Expected a host after {url.scheme}://")
    name, path = "", url.path
    if kind == "sentinel":
        name, _, path = path.strip("/").partition("/")
        if not name:
            raise ValueError("Expected the name that the sentinels know the servers by: .../NAME")
    database = path.strip("/")
    if database and not _is_number(database):
        raise ValueError("Expected the number of a database after the last slash")
    if database and kind == "cluster":
        raise ValueError("Expected nothing after the last slash: a cluster has no databases")
    if kind == "server" and "," in hosts:
        raise ValueError(
            "Expected one host; several are for redis+sentinel:// and redis+cluster://"
        )
    return RedisUrl(
        kind=kind,
        text=text,
        scheme=scheme,
        login=login + at,
        hosts=tuple(
            _host(host, _SENTINEL_PORT if kind == "sentinel" else _PORT)
            for host in hosts.split(",")
        ),
        name=unquote(name),
        path=f"/{database}" if database else "",
        query=f"?{url.query}" if url.query else "",
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _host(text: str, port: int) -> Host:
    parts = urlsplit(f"//{text}")
    try:
        found = parts.port
    except ValueError:
        found = 0
    if found == 0:
        raise ValueError("Expected a port between 1 and 65535")
    if not parts.hostname:
        raise ValueError("Expected a host before each comma and after the last")
    return parts.hostname, found or port


def _written(host: Host) -> str:
    name, port = host
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
