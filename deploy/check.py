"""Checks what is in this folder as far as that goes without running it; `make lint` calls it.

Each check says in the tools' own words what is wrong. One whose tool comes with the system rather
than from PyPI is skipped where there is none, but never with CI set.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

KUBERNETES = ("1.33.0", "1.37.0")
"""The oldest version that the manifests are for, and the newest that is known here."""

MOST_EXPOSURE = 20
"""What `systemd-analyze security` may find at most, of 100."""

_TOOLS = Path(sys.executable).parent


def main(folder: Path) -> int:
    """Run every check and tell what each finds; how many failed."""
    failed = 0
    for check in CHECKS:
        try:
            said = "\n".join(check(folder))
        except Missing as missing:
            said = f"{missing} is not installed." if os.environ.get("CI") else ""
            if not said:
                print(f"SKIPPED, as there is no {missing}: {check.__doc__}", file=sys.stderr)
        if said:
            print(f"{check.__doc__}\n{said}")
            failed += 1
    return failed


class Missing(Exception):
    """A tool is not installed."""


def dockerfile(folder: Path) -> Iterator[str]:
    """Dockerfile, by hadolint."""
    yield from _said(_TOOLS / "hadolint", "--failure-threshold", "style", folder / "Dockerfile")


def compose(folder: Path) -> Iterator[str]:
    """compose.yaml, by the schema of its specification."""
    schema = ("--builtin-schema", "vendor.compose-spec")
    yield from _said(_TOOLS / "check-jsonschema", *schema, folder / "compose.yaml")


def kubernetes(folder: Path) -> Iterator[str]:
    """kubernetes/overlays, built and held strictly against the schemas of Kubernetes."""
    for overlay in sorted((folder / "kubernetes" / "overlays").iterdir()):
        built = _run(_TOOLS / "kubectl", "kustomize", overlay)
        if built.returncode:
            yield f"{overlay.name}: {built.stdout}"
            continue
        with tempfile.NamedTemporaryFile("w", prefix=f"{overlay.name}-", suffix=".yaml") as file:
            file.write(built.stdout)
            file.flush()
            for version in KUBERNETES:
                options = ("--quiet", "--strict", "--kubernetes-version", version)
                yield from _said(_TOOLS / "kubernetes-validate", *options, file.name)


def nginx(folder: Path) -> Iterator[str]:
    """nginx.conf, by nginx -t."""
    with tempfile.TemporaryDirectory() as place:
        written = nginx_for((folder / "nginx.conf").read_text(), Path(place))
        yield from _said(_found("nginx"), "-t", "-q", "-c", written)


def systemd(folder: Path) -> Iterator[str]:
    """rummy.service, by systemd-analyze."""
    analyze = _found("systemd-analyze")
    with tempfile.TemporaryDirectory() as place:
        unit = Path(place) / "rummy.service"
        # It looks whether the program is there, which it is where the unit is installed.
        unit.write_text(
            re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/sh", (folder / unit.name).read_text())
        )
        yield from _said(analyze, "verify", "--man=no", "--recursive-errors=no", unit)
        options = ("--no-pager", "--offline=true", f"--threshold={MOST_EXPOSURE}")
        yield from _said(analyze, "security", *options, unit)


CHECKS: list[Callable[[Path], Iterator[str]]] = [dockerfile, compose, kubernetes, nginx, systemd]


def nginx_for(text: str, place: Path) -> Path:
    """Write a configuration of nginx so that anybody may use it, all that it writes in `place`."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {place / kind};" for kind in kinds)
    text = re.sub(r"(?m)^user .*$", "", text)
    text = text.replace("/run/nginx.pid", str(place / "nginx.pid"))
    text = text.replace("/var/log/nginx/", f"{place}/").replace("http {", f"http {{ {temporary}", 1)
    path = place / "nginx.conf"
    path.write_text(text)
    return path


def _found(program: str) -> str:
    # A user's PATH often lacks /usr/sbin, where Debian has nginx.
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise Missing(program)
    return found


def _said(*command: object) -> Iterator[str]:
    """What it says when it fails."""
    ended = _run(*command)
    if ended.returncode:
        yield ended.stdout or f"It ended with {ended.returncode}."


def _run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
