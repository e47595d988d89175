"""TLS, to a server, to sentinels and what they watch over, and to a cluster.

With Debian's Redis: the Valkey that is installed with the service has no TLS.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from service.errors import StoreUnavailable
from service.processes import end_with_parent
from service.servers import NO_CREDENTIALS, Credentials, Servers
from service.store import Store
from tests.fleets import free_ports
from tests.patience import until
from tests.test_store import EXPIRY, LATER, change, create

PASSWORD = "wörd"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Signed by itself, for loopback; the key is beside it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    directory = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem"
        " -subj /CN=rummy -addext subjectAltName=IP:127.0.0.1",
        shell=True,
        cwd=directory,
        check=True,
        capture_output=True,
    )
    return directory / "cert.pem"


@contextmanager
def server(directory: Path, certificate: Path, lines: list[str], *arguments: str) -> Iterator[int]:
    """The port of a server, or of a sentinel, that speaks TLS and nothing else."""
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("redis-server is not installed")
    port, bus = free_ports(2)
    directory.mkdir()
    file = directory / "conf"
    settings = [
        "port 0",
        f"tls-port {port}",
        "bind 127.0.0.1",
        f"dir {directory}",
        f"tls-cert-file {certificate}",
        f"tls-key-file {certificate.with_name('key.pem')}",
        f"tls-ca-cert-file {certificate}",
        "tls-auth-clients no",
        "tls-replication yes",
        *lines,
    ]
    if "cluster-enabled yes" in lines:
        settings += ["tls-cluster yes", f"cluster-port {bus}"]
    file.write_text("\n".join(settings) + "\n")
    process = subprocess.Popen(
        [binary, str(file), *arguments],
        stdout=subprocess.DEVNULL,
        preexec_fn=end_with_parent(),  # noqa: PLW1509 (it only calls prctl)
    )
    try:
        until(lambda: answers(port, certificate) or process.poll() is not None)
        if process.poll() is not None:
            pytest.skip("redis-server has no TLS")
        yield port
    finally:
        process.kill()
        process.wait()


def client(port: int, certificate: Path) -> redis.Redis:
    return redis.Redis(port=port, host="127.0.0.1", ssl=True, ssl_ca_certs=str(certificate))


def answers(port: int, certificate: Path) -> bool:
    try:
        with client(port, certificate) as asking:
            asking.ping()
    except redis.AuthenticationError:
        return True
    except redis.RedisError:
        return False
    return True


def assert_good(url: str, certificate: Path, credentials: Credentials = NO_CREDENTIALS) -> None:
    trusting = f"{url}?ssl_ca_certs={certificate}"
    store = Store(Servers(trusting, 2, credentials), EXPIRY)
    game = change(store, create(store))
    assert store.load(game.id) == game
    assert store.open_tables(5, None, LATER)[0] == (game,)
    with pytest.raises(StoreUnavailable):
        Store(Servers(url, 2, credentials), EXPIRY).load(game.id)  # trusts nobody here
    with pytest.raises(StoreUnavailable):
        Store(Servers(url.replace("rediss", "redis"), 2, credentials), EXPIRY).load(game.id)


def test_one_server(tmp_path, certificate):
    lines = [f"requirepass {PASSWORD}"]
    with server(tmp_path / "server", certificate, lines) as port:
        assert_good(f"rediss://127.0.0.1:{port}", certificate, Credentials(password=PASSWORD))


def test_a_set_with_a_sentinel(tmp_path, certificate):
    with server(tmp_path / "server", certificate, []) as port:
        lines = [f"sentinel monitor games 127.0.0.1 {port} 1"]
        with server(tmp_path / "sentinel", certificate, lines, "--sentinel") as sentinel:
            assert_good(f"rediss+sentinel://127.0.0.1:{sentinel}/games", certificate)


def test_a_cluster(tmp_path, certificate):
    lines = ["cluster-enabled yes"]
    with server(tmp_path / "node", certificate, lines) as port:
        with client(port, certificate) as asking:
            asking.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            until(lambda: asking.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
        assert_good(f"rediss+cluster://127.0.0.1:{port}", certificate)
