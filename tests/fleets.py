"""Servers that belong together, for tests: a set with sentinels, and a cluster. Real ones, as ever.

    with sentinel_set(directory) as fleet:
        Servers(fleet.url, 0.8)
        fleet.primary().kill()

They live on loopback, keep their data in the directory, and end with the thread that started them.
"""

import itertools
import secrets
import signal
import socket
import subprocess
from binascii import crc_hqx
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.retry import Retry
from redis.sentinel import Sentinel

from service import redis_url
from service.embedded import find_binary
from service.processes import end_with_parent
from tests.patience import until

SET_NAME = "games"
DOWN_AFTER_MS = 1000
NODE_TIMEOUT_MS = 1500

_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"

Options = Mapping[str, object]


class Node:
    """One server, or one sentinel, that can be killed, stalled and started again."""

    def __init__(self, directory: Path, port: int, options: Options, password: str = "") -> None:
        self.port = port
        self.directory = directory
        self._password = password
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir()
        # They write into it themselves whom they follow, or watch over.
        self._file = directory / "conf"
        settings = {"port": port, "bind": "127.0.0.1", "dir": directory} | dict(options)
        self._file.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, binary: Path | None = None) -> None:
        """Not from a thread that ends soon: the server ends with it."""
        command = [str(binary or find_binary()), str(self._file)]
        if "sentinel" in self._options:
            command.append("--sentinel")
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with_parent(),  # noqa: PLW1509 (it only calls prctl)
            )

    def kill(self) -> None:
        """kill -9, whatever state it is in."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stall(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def ask(self, *command: object) -> Any:
        """The answer of the server itself, as it comes over the line."""
        with redis.Redis(
            port=self.port,
            protocol=2,
            socket_timeout=2,
            retry=Retry(NoBackoff(), 0),
            password=self._password or None,
        ) as client:
            client.response_callbacks.clear()
            return client.execute_command(*command)

    def is_up(self) -> bool:
        try:
            return self.ask("PING") == b"PONG"
        except redis.RedisError:
            return False

    def info(self, section: str) -> dict[str, str]:
        text = self.ask("INFO", section)
        assert isinstance(text, bytes)
        return dict(line.split(":", 1) for line in text.decode().split("\r\n") if ":" in line)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)


class Fleet:
    """Servers that belong together. `nodes` have the games, `sentinels` watch over them."""

    def __init__(self, url: str, nodes: list[Node], sentinels: list[Node]) -> None:
        self.url = url
        self.nodes = nodes
        self.sentinels = sentinels

    def primary(self, key: str = "") -> Node:
        """Who has the key at the moment, as those say who know; waits until somebody has."""
        found: list[Node] = []

        def is_found() -> bool:
            with suppress(redis.RedisError, TypeError):
                found.append(self.at(self._primary(key)))
            return bool(found)

        until(is_found)
        return found[0]

    def at(self, port: int) -> Node:
        (found,) = [node for node in self.nodes if node.port == port]
        return found

    def replicas(self, primary: Node) -> list[Node]:
        """Those that follow it, and are up to date or nearly so."""
        found = []
        for node in self.nodes:
            with suppress(redis.RedisError):
                told = node.info("replication")
                if (
                    told["role"] == "slave"
                    and told["master_port"] == str(primary.port)
                    and told["master_link_status"] == "up"
                ):
                    found.append(node)
        return found

    def primaries(self) -> list[Node]:
        found = []
        for node in self.nodes:
            with suppress(redis.RedisError):
                if node.info("replication")["role"] == "master":
                    found.append(node)
        return found

    def revive(self) -> None:
        """Start again, or let go on, whoever does not answer; wait until all have their place."""
        for node in (*self.nodes, *self.sentinels):
            if not node.is_running:
                node.start()
            node.go_on()
        self.settle()

    def settle(self) -> None:
        """Wait until each replica follows a primary, and all agree."""
        until(self.is_settled)

    def is_settled(self) -> bool:
        """Whether each replica follows a primary, and all agree."""
        try:
            told = {node: node.info("replication") for node in self.nodes}
            if any(about.get("master_link_status", "up") != "up" for about in told.values()):
                return False
            primaries = [node for node, about in told.items() if about["role"] == "master"]
            if self.sentinels:
                return self._sentinels_agree(primaries)
            return len(primaries) == 3 and all(map(self._knows_all, self.nodes))
        except redis.RedisError:
            return False

    def end(self) -> None:
        for node in (*self.nodes, *self.sentinels):
            node.kill()

    def other(self, primary: Node) -> Node:
        """Another primary."""
        return next(node for node in self.primaries() if node is not primary)

    def _primary(self, key: str) -> int:
        for sentinel in self.sentinels:
            with suppress(redis.ConnectionError, redis.TimeoutError):
                return int(sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SET_NAME)[1])
        slot = key_slot(key.encode())
        for node in self.nodes:
            with suppress(redis.ConnectionError, redis.TimeoutError):
                for first, last, owner, *_ in node.ask("CLUSTER", "SLOTS"):
                    if first <= slot <= last and self.at(owner[1]).is_up():
                        return owner[1]
        raise redis.ConnectionError

    def _sentinels_agree(self, primaries: list[Node]) -> bool:
        if len(primaries) != 1:
            return False
        for sentinel in self.sentinels:
            told = sentinel.ask("SENTINEL", "MASTER", SET_NAME)
            about = dict(zip(told[::2], told[1::2], strict=True))
            if (
                int(about[b"port"]) != primaries[0].port
                or int(about[b"num-slaves"]) != len(self.nodes) - 1
                or int(about[b"num-other-sentinels"]) != len(self.sentinels) - 1
                or about[b"flags"] != b"master"
            ):
                return False
        return True

    def _knows_all(self, node: Node) -> bool:
        state = node.ask("CLUSTER", "INFO")
        if b"cluster_state:ok" not in state:
            return False
        told = [
            line.split(" ") for line in node.ask("CLUSTER", "NODES").decode().split("\n") if line
        ]
        flags = [words[2].split(",") for words in told]
        return len(told) == len(self.nodes) and not any(
            {"fail", "fail?", "handshake", "noaddr"} & set(each) for each in flags
        )


def raw_client(url: str) -> Any:
    """redis-py's own client of whatever the URL names, to look behind the back of the service."""
    named = redis_url.parse(url)
    if named.kind == "cluster":
        nodes = [ClusterNode(*host) for host in named.hosts]
        return RedisCluster(startup_nodes=nodes, protocol=2)
    if named.kind == "sentinel":
        return Sentinel(named.hosts).master_for(named.name, protocol=2)
    return redis.Redis.from_url(url, protocol=2)


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def ring(client: redis.Redis, channel: str, text: str = "1") -> int:
    """Ring a bell as commits do; returns how many heard it."""
    if isinstance(client, RedisCluster):
        return client.spublish(channel, text)
    return client.publish(channel, text)


def listeners(client: redis.Redis, channel: str) -> int:
    """How many would hear it."""
    if isinstance(client, RedisCluster):
        at = client.get_node_from_key(channel)
        return client.pubsub_shardnumsub(channel, target_nodes=at)[0][1]
    return client.pubsub_numsub(channel)[0][1]


@contextmanager
def sentinel_set(
    directory: Path, replicas: int = 2, password: str = "", sentinel_password: str = "", **more
) -> Iterator[Fleet]:
    """A primary with replicas, and three sentinels. `more` is for each server: `a_b` means a-b."""
    ports = free_ports(1 + replicas + 3)
    options = _options(more)
    if password:
        options |= {"requirepass": password, "masterauth": password}
    nodes = [
        Node(directory / f"server-{number}", port, options, password)
        for number, port in enumerate(ports[: 1 + replicas])
    ]
    primary = nodes[0]
    lines = [
        f"monitor {SET_NAME} 127.0.0.1 {primary.port} 2",
        f"sentinel down-after-milliseconds {SET_NAME} {DOWN_AFTER_MS}",
        f"sentinel failover-timeout {SET_NAME} 6000",
        f"sentinel parallel-syncs {SET_NAME} 2",
    ]
    if password:
        lines.append(f"sentinel auth-pass {SET_NAME} {password}")
    if sentinel_password:
        lines += [f"requirepass {sentinel_password}", f"sentinel sentinel-pass {sentinel_password}"]
    sentinels = [
        Node(
            directory / f"sentinel-{number}",
            port,
            {"sentinel": "\n".join(lines)},
            sentinel_password,
        )
        for number, port in enumerate(ports[1 + replicas :])
    ]
    hosts = ",".join(sentinel.host for sentinel in sentinels)
    fleet = Fleet(f"redis+sentinel://{hosts}/{SET_NAME}", nodes, sentinels)
    try:
        for node in nodes:
            node.start()
        for node in nodes:
            until(node.is_up)
        for replica in nodes[1:]:
            replica.ask("REPLICAOF", "127.0.0.1", primary.port)
            replica.ask("CONFIG", "REWRITE")
        # Replicas are known as soon as a sentinel looks, which is every ten seconds.
        until(lambda: len(fleet.replicas(primary)) == replicas)
        for sentinel in sentinels:
            sentinel.start()
        fleet.settle()
        yield fleet
    finally:
        fleet.end()


@contextmanager
def cluster(directory: Path, replicas: int = 1, **more) -> Iterator[Fleet]:
    """Three primaries, each with so many replicas."""
    count = 3 * (1 + replicas)
    ports = free_ports(2 * count)
    nodes = [
        Node(
            directory / f"node-{number}",
            ports[number],
            _options(more)
            | {
                "cluster-enabled": "yes",
                "cluster-port": ports[count + number],
                "cluster-node-timeout": NODE_TIMEOUT_MS,
                "cluster-config-file": "nodes.conf",
            },
        )
        for number in range(count)
    ]
    primaries = nodes[:3]
    fleet = Fleet(f"redis+cluster://{','.join(n.host for n in nodes[:4])}", nodes, [])
    try:
        for node in nodes:
            node.start()
        for node in nodes:
            until(node.is_up)
        share = REDIS_CLUSTER_HASH_SLOTS // 3 + 1
        for number, node in enumerate(nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if node in primaries:
                first = number * share
                last = min(first + share, REDIS_CLUSTER_HASH_SLOTS) - 1
                node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
        for number, node in enumerate(nodes[1:], 1):
            nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port, ports[count + number])
        until(lambda: all(fleet._knows_all(node) for node in nodes))
        for number, node in enumerate(nodes[3:]):
            until(lambda node=node, to=primaries[number % 3]: _follows(node, to))
        fleet.settle()
        yield fleet
    finally:
        fleet.end()


class Moving:
    """A slot of a cluster on its way from one primary to another, key by key as it is done by hand.

    Slots move at once, all keys together, by `move_at_once`.
    """

    def __init__(self, slot: int, source: Node, target: Node) -> None:
        self.slot, self.source, self.target = slot, source, target
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster_id(source))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster_id(target))

    def move(self, *keys: str) -> None:
        self.source.ask("MIGRATE", "127.0.0.1", self.target.port, "", 0, 5000, "KEYS", *keys)

    def finish(self) -> None:
        """Move what is left, and say so to both; the others hear of it from them."""
        while keys := self.source.ask("CLUSTER", "GETKEYSINSLOT", self.slot, 100):
            self.move(*keys)
        for node in (self.target, self.source):
            node.ask("CLUSTER", "SETSLOT", self.slot, "NODE", cluster_id(self.target))


def id_in_slot(slot: int) -> str:
    """An id that a game could have, of those whose keys are in that slot."""
    start = "".join(secrets.choice(_LETTERS) for _ in range(12))
    crc = crc_hqx(start.encode(), 0)
    ends = map("".join, itertools.product(_LETTERS, repeat=4))
    return start + next(
        end for end in ends if crc_hqx(end.encode(), crc) % REDIS_CLUSTER_HASH_SLOTS == slot
    )


def can_move_at_once(node: Node) -> bool:
    """Whether that server knows how to; Valkey does from version 9 on."""
    return any(b"MIGRATESLOTS" in line.upper() for line in node.ask("CLUSTER", "HELP"))


def move_at_once(slot: int, source: Node, target: Node) -> None:
    """Let the servers move a slot by themselves, and wait until they have."""
    source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", cluster_id(target))

    def is_done() -> bool:
        (latest, *_) = source.ask("CLUSTER", "GETSLOTMIGRATIONS")
        told = dict(zip(latest[::2], latest[1::2], strict=True))
        assert told[b"state"] not in {b"failed", b"cancelled"}, told
        return bool(told[b"state"] == b"success")

    until(is_done)


def cluster_id(node: Node) -> str:
    return node.ask("CLUSTER", "MYID").decode()


def _follows(node: Node, primary: Node) -> bool:
    """Make it a replica; refused as long as it has not heard of the primary."""
    try:
        node.ask("CLUSTER", "REPLICATE", cluster_id(primary))
    except redis.ResponseError:
        return False
    return True


def _options(more: Options) -> dict[str, object]:
    return {
        "save": '""',
        "appendonly": "yes",
        "appendfsync": "everysec",
        "repl-diskless-sync-delay": 0,
        "repl-ping-replica-period": 1,
        "repl-timeout": 5,
        "loglevel": "notice",
    } | {name.replace("_", "-"): value for name, value in more.items()}
