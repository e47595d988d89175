"""Which server has which key: one server, a set with sentinels, or the nodes of a cluster.

The topology is kept here and not by redis-py's client for clusters: that one takes no scripts in a
pipeline, and finds out by asking one node after another, for as long as each of them takes.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import redis
from msgspec import Struct

from service.errors import StoreUnavailable
from service.redis_server import Command, Server, client_of, without_errors
from service.redis_url import Host, RedisUrl

NAMED: Host = ("", 0)
"""The place of the server that the URL itself names."""

LOOK_AROUND_SECONDS = 0.5
_LOOK_SECONDS = 0.2
"""For asking all who may know who has what, and for asking one of them."""

_SENTINEL_SECONDS = 1.0
"""So long the word of a sentinel is good. A primary that stood still while it was replaced takes
changes for some seconds when it goes on, and then loses them."""


class Credentials(Struct, frozen=True):
    """Users and passwords that are not in the URL."""

    username: str | None = None
    password: str | None = None
    sentinel_username: str | None = None
    sentinel_password: str | None = None


NO_CREDENTIALS = Credentials()


class Map:
    """Who has which slots, until somebody finds out anew: for so long, or when it is doubted."""

    def __init__(
        self, owners: Iterable[tuple[int, int, Host]], until: float = float("inf")
    ) -> None:
        """`owners`: who has the slots from the first number to the second, both included."""
        self.until = until
        self.moved: dict[int, Host] = {}
        """Slots that are known to have been moved since."""
        self.owners = sorted(owners)

    @property
    def places(self) -> tuple[Host, ...]:
        """Where the primaries are, each of them once."""
        ranges = (place for _, _, place in self.owners)
        return tuple(dict.fromkeys((*ranges, *self.moved.values())))

    def is_like(self, other: "Map") -> bool:
        """Whether it says the same, and nothing is known to have been moved since."""
        return self.owners == other.owners and not self.moved

    def place(self, slot: int) -> Host:
        """Raise redis.ConnectionError if nobody has it."""
        if slot in self.moved:
            return self.moved[slot]
        index = bisect_right(self.owners, slot, key=lambda owned: owned[0]) - 1
        if index >= 0 and slot <= self.owners[index][1]:
            return self.owners[index][2]
        raise redis.ConnectionError(f"no server has the slot {slot}")


class Finder(Protocol):
    """Finds out who has what."""

    def map(self, doubted: Host | None) -> Map:
        """Raise redis.RedisError if nobody knows. `doubted` is who was in trouble, if somebody."""
        ...


class _Sentinels:
    """They say who the primary is. If that one is in trouble another of them is asked first."""

    def __init__(self, url: RedisUrl, credentials: Credentials) -> None:
        self._name = url.name
        self._told_by: Host | None = None
        user, password = credentials.sentinel_username, credentials.sentinel_password
        self._informants = _Informants(
            url.hosts, lambda host: client_of(url.of_sentinel(host), _LOOK_SECONDS, user, password)
        )

    def map(self, doubted: Host | None) -> Map:
        return self._informants.ask(self._told, last=self._told_by if doubted else None)

    def _told(self, sentinel: Server, host: Host) -> Map:
        asked: Command = ("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._name)
        (primary,) = without_errors(sentinel.answers([asked]))
        if primary is None:
            raise redis.ConnectionError(f"it does not know of {self._name}")
        self._told_by = host
        name, port = primary
        owner = (0, 0, (name.decode(), int(port)))
        return Map([owner], until=time.monotonic() + _SENTINEL_SECONDS)


class _Nodes:
    """The nodes of a cluster, who have told each other who has what."""

    def __init__(self, url: RedisUrl, credentials: Credentials) -> None:
        self._informants = _Informants(
            url.hosts,
            lambda host: client_of(
                url.of_server(host), _LOOK_SECONDS, credentials.username, credentials.password
            ),
        )

    def map(self, doubted: Host | None) -> Map:
        return self._informants.ask(self._told, last=doubted)

    def _told(self, node: Server, host: Host) -> Map:
        (ranges,) = without_errors(node.answers([("CLUSTER", "SLOTS")]))
        if not ranges:
            raise redis.ConnectionError("it belongs to no cluster")
        self._informants.know(_host_of(node, host) for _, _, *nodes in ranges for node in nodes)
        return Map((first, last, _host_of(nodes[0], host)) for first, last, *nodes in ranges)


def _host_of(node: Sequence[Any], told_by: Host) -> Host:
    """Where it is. Without a name it is where the one is that tells of it."""
    name, port, *_ = node
    return (name.decode() if name and name != b"?" else told_by[0], port)


class _Informants:
    """Servers that can be asked who has what: first who answered last, and last who did not.

    Over connections of their own, on which nobody waits as long as on others.
    """

    def __init__(self, hosts: Iterable[Host], client: Callable[[Host], redis.Redis]) -> None:
        self._named = tuple(dict.fromkeys(hosts))
        self._hosts = list(self._named)
        self._client = client
        self._servers: dict[Host, Server] = {}

    def know(self, hosts: Iterable[Host]) -> None:
        """There are these besides those that the URL names, and no others any more.

        Where a server has another address each time that it is started, the old ones would pile up.
        """
        known = dict.fromkeys((*self._named, *hosts))
        kept = [host for host in self._hosts if host in known]
        self._hosts = [*kept, *(host for host in known if host not in kept)]
        for gone in self._servers.keys() - known:
            self._servers.pop(gone).hang_up()

    def ask(self, question: Callable[[Server, Host], Map], last: Host | None) -> Map:
        """The first answer. Raise redis.ConnectionError if there is none in time."""
        give_up = time.monotonic() + LOOK_AROUND_SECONDS
        reasons = []
        for host in sorted(self._hosts, key=lambda host: host == last):
            if time.monotonic() > give_up:
                break
            server = self._servers.get(host)
            if server is None:
                server = self._servers.setdefault(host, Server(self._client(host)))
            try:
                answer = question(server, host)
            except (redis.RedisError, StoreUnavailable) as error:
                self._hosts.remove(host)
                self._hosts.append(host)
                reasons.append(f"{host[0]}:{host[1]}: {error}")
            else:
                self._hosts = [host, *(other for other in self._hosts if other != host)]
                return answer
        raise redis.ConnectionError("; ".join(reasons))


def finder(url: RedisUrl, credentials: Credentials) -> Finder | None:
    """None where there is one server and nothing to be found."""
    match url.kind:
        case "sentinel":
            return _Sentinels(url, credentials)
        case "cluster":
            return _Nodes(url, credentials)
        case "server":
            return None
