"""Images, compose file and Kubernetes manifests: parsed, and their scripts run. The images themselves are built by
scripts/build-images where buildah is installed.
"""

import json
import os
import re
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD_OPTION_GROUPS
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS, CONTROLLER_OPTION_GROUPS
from evenkeel.haproxyd.api.credentials import add_agent
from icontrol_emulator.__main__ import parser
from tests.packaging.kustomized import kustomized
from tests.waiting import eventually

PACKAGING = Path(__file__).parent.parent.parent / "packaging"
CONTAINERS = PACKAGING / "containers"
ROLES = ("controller", "agent", "haproxyd")


def instructions() -> Iterator[tuple[str, str]]:
    """Instruction and its arguments, of every line of the Containerfile."""
    text = re.sub(r"(?m)^#.*\n", "", (CONTAINERS / "Containerfile").read_text()).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        name, _, arguments = line.partition(" ")
        yield name, arguments.strip()


def stages() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {"": []}
    for name, arguments in instructions():
        if name == "FROM":
            found[arguments.split()[-1]] = []
        found[list(found)[-1]].append((name, arguments))
    return found


@pytest.mark.parametrize("role", ROLES)
def test_an_image_runs_its_process_and_states_whether_it_lives(role: str) -> None:
    stage = dict(stages()[role])
    assert json.loads(stage["ENTRYPOINT"])[-1] == f"/etc/evenkeel/{role}.ini"
    assert f"/opt/evenkeel/bin/evenkeel-{role}" in json.loads(stage["ENTRYPOINT"])
    assert "is-alive" in stage["HEALTHCHECK"] and "/run/evenkeel/health" in stage["HEALTHCHECK"]
    assert (stage.get("USER") == "64700:64700") is (role != "haproxyd")  # its workers have users of their own
    built = " ".join(arguments for _, arguments in stages()[f"{role}-environment"])
    assert f"--require-hashes -r /build/requirements/images/{role}.txt" in built
    assert "--no-deps /build/evenkeel_lbaas-*.whl" in built


EXTRAS = {
    "controller": {"controller", "barbican", "keystone", "neutron", "vault", "tracing"},
    "agent": {"agent", "neutron-agent", "tracing"},
    "haproxyd": {"haproxyd", "tracing"},
}


@pytest.mark.parametrize("role", ROLES)
def test_an_image_has_the_extras_of_every_option_of_its_role(role: str) -> None:
    project = tomllib.loads((PACKAGING.parent / "pyproject.toml").read_text())["project"]
    wanted = {
        re.split(r"[\[<>=;]", each)[0].replace(".", "-")
        for extra in EXTRAS[role]
        for each in project["optional-dependencies"][extra]
    }
    locked = (PACKAGING.parent / "requirements" / "images" / f"{role}.txt").read_text()
    assert wanted - {"evenkeel-lbaas"} <= set(re.findall(r"(?m)^([a-z0-9.-]+)(?:\[\S*\])?==", locked))
    tested = (PACKAGING.parent / "requirements" / "test.txt").read_text()
    pins = re.findall(r"(?m)^(\S+==\S+)", locked)
    assert [pin for pin in pins if f"{pin} " not in tested] == []


def test_the_emulators_image_runs_it_with_its_own_libraries_only() -> None:
    stage = dict(stages()["emulator"])
    words = [*json.loads(stage["ENTRYPOINT"]), *json.loads(stage["CMD"])]
    options = parser().parse_args(words[1:])
    assert words[0] == "/opt/evenkeel/bin/icontrol-emulator"
    assert [(one.name, one.host, one.port) for one in options.device] == [("bigip-1", "0.0.0.0", 8443)]
    assert options.control == ("0.0.0.0", 8444) and ":8444/status" in stage["HEALTHCHECK"]
    assert stage["EXPOSE"].split() == ["8443", "8444"] and stage["USER"] == "64700:64700"
    built = " ".join(arguments for _, arguments in stages()["emulator-environment"])
    assert "--require-hashes -r /build/requirements/emulator.txt" in built
    assert "--no-deps /build/icontrol_emulator-*.whl" in built
    locked = (PACKAGING.parent / "requirements" / "emulator.txt").read_text()
    assert "aiohttp==" in locked and "sqlalchemy" not in locked.lower()


def test_files_that_images_take_are_in_the_package() -> None:
    text = (CONTAINERS / "Containerfile").read_text()
    shared = (PACKAGING.parent / "pyproject.toml").read_text()
    for name in set(re.findall(r"share/evenkeel/containers/([\w.-]+)", text)):
        assert (CONTAINERS / name).exists() and f'"packaging/containers/{name}"' in shared
        assert name.endswith(".ini") or os.access(CONTAINERS / name, os.X_OK)


def test_the_compose_file_names_what_there_is(tmp_path: Path) -> None:
    compose = yaml.safe_load((CONTAINERS / "compose.yaml").read_text())
    for service in compose["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (CONTAINERS / source).exists() if source.startswith(".") else source in compose["volumes"]
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        if build := service.get("build"):
            assert build["target"] in stages() and (CONTAINERS / build["context"] / build["dockerfile"]).exists()
    agents = [service["hostname"] for name, service in compose["services"].items() if name.startswith("agent")]
    assert len(agents) == len(set(agents)) == 2
    password = re.search(r"echo (\S+) \|", " ".join(compose["services"]["certificates"]["entrypoint"]))
    assert password is not None
    add_agent(tmp_path / "credentials", "agent", password[1])  # refuses one that is too short
    assert f"haproxyd_password = {password[1]}\n" in (CONTAINERS / "config" / "agent.ini").read_text()
    unit = (PACKAGING / "systemd" / "evenkeel-haproxyd.service").read_text()
    wanted = re.findall(r"CAP_(\w+)", " ".join(re.findall(r"(?m)^CapabilityBoundingSet=(.*)$", unit)))
    assert sorted(compose["services"]["haproxy-1"]["cap_add"]) == sorted(wanted)


@pytest.mark.parametrize(
    ("folder", "groups"),
    [
        (
            "containers",
            {"controller": CONTROLLER_OPTION_GROUPS, "agent": AGENT_OPTION_GROUPS, "haproxyd": HAPROXYD_OPTION_GROUPS},
        ),
        ("kubernetes", {"controller": CONTROLLER_OPTION_GROUPS, "agent": AGENT_OPTION_GROUPS}),
    ],
)
def test_configurations_have_known_options_only(folder: str, groups: dict[str, Any]) -> None:
    for role, known in groups.items():
        health = CONTAINERS / "health.ini"
        files = [str(health), str(PACKAGING / folder / "config" / f"{role}.ini")]
        load_configuration(
            f"evenkeel-{role}", [word for file in files for word in ("--config-file", file)], groups=known
        )


def test_kubernetes_manifests_fit_the_images() -> None:
    workloads = [each for each in kustomized() if each["kind"] in ("Deployment", "StatefulSet")]
    assert {each["metadata"]["name"] for each in workloads} == {"evenkeel-controller", "evenkeel-agent"}
    for workload in workloads:
        spec = workload["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert container["image"].partition(":")[0] == workload["metadata"]["name"]
        assert spec["securityContext"]["runAsUser"] == 64700 and container["securityContext"]["readOnlyRootFilesystem"]
        assert container["livenessProbe"]["exec"]["command"][0].endswith("/is-alive")
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"] for volume in spec["volumes"]}


def test_a_process_is_alive_while_its_file_is_new(tmp_path: Path) -> None:
    file = tmp_path / "health"
    ask = [CONTAINERS / "is-alive", file]
    assert subprocess.run(ask, check=False, capture_output=True).returncode == 1
    file.touch()
    assert subprocess.run(ask, check=False).returncode == 0
    os.utime(file, (time.time() - 60, time.time() - 60))
    old = subprocess.run(ask, check=False, capture_output=True, text=True)
    assert old.returncode == 1 and "ago" in old.stderr


async def test_a_daemon_that_ends_is_started_again_and_its_children_are_left_alone(tmp_path: Path) -> None:
    """The daemon starts a child once, as it would a HAProxy, and is killed."""
    daemon = tmp_path / "daemon"
    daemon.write_text(
        f"#!/bin/sh\necho $$ >> {tmp_path}/daemons\n"
        f"[ -e {tmp_path}/child ] || {{ setsid sleep 600 & echo $! > {tmp_path}/child; }}\n"
        "sleep 600 & trap 'kill $!; exit 0' TERM; wait\n"
    )
    daemon.chmod(0o755)
    keeping = subprocess.Popen([CONTAINERS / "keep-running", daemon])  # noqa: ASYNC220

    def daemons() -> list[int]:
        file = tmp_path / "daemons"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    try:
        await eventually(lambda: len(daemons()) == 1 and (tmp_path / "child").exists())
        os.kill(daemons()[0], signal.SIGKILL)
        await eventually(lambda: len(daemons()) == 2)
        os.kill(int((tmp_path / "child").read_text()), 0)  # it lives
        keeping.terminate()
        assert keeping.wait(60) == 0
    finally:
        keeping.kill()
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    with pytest.raises(ProcessLookupError):
        os.kill(daemons()[1], 0)


def test_a_refused_configuration_is_not_tried_again() -> None:
    done = subprocess.run([CONTAINERS / "keep-running", "sh", "-c", "exit 2"], check=False, timeout=60)
    assert done.returncode == 2
