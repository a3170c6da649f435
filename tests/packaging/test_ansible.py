"""The Ansible role: checked by ansible-lint, and played on bare hosts with systemd, with its own inventory."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from evenkeel import __version__
from tests.packaging.apt_proxy import PORT, apt_proxy
from tests.packaging.debian_hosts import Host, booted, can_boot, make_base, networks
from tests.packaging.test_install_on_debian import ADDRESSES, WEB, steps, wheels
from tests.services.installation import NotInstallable, environment

ROOT = Path(__file__).parents[2]
ANSIBLE = ROOT / "packaging" / "ansible"
REQUIREMENTS = ("ansible-core==2.19.14", "ansible-lint==26.10.1")
PLAY_SECONDS = 2400
LINT_SECONDS = 300
ROUTER = "192.0.2.1"
"""Of :func:`networks`: its namespace is the control host's."""
ORDER = (
    ("evenkeel-controller", ("ctl-1", "ctl-2")),
    ("evenkeel-haproxyd", ("lb-1",)),
    ("evenkeel-agent", ("agent-1", "agent-2", "agent-3")),
)
"""Of an upgrade: units and their hosts."""


@pytest.fixture(scope="module")
def commands() -> Path:
    """The folder of Ansible's commands."""
    try:
        return environment("ansible-lint", "1", REQUIREMENTS) / "bin"
    except NotInstallable as error:
        pytest.skip(str(error))


def surroundings(commands: Path, folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
        "ANSIBLE_HOST_KEY_CHECKING": "False",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_HOME": str(folder / "ansible"),
    }


def test_a_linter_finds_nothing_in_the_role(commands: Path, tmp_path: Path) -> None:
    """At the strictest profile; it checks the syntax too, and without a network."""
    done = subprocess.run(
        [commands / "ansible-lint", "--offline", "--profile", "production", "--strict"],
        cwd=ANSIBLE,
        env=surroundings(commands, tmp_path),
        capture_output=True,
        text=True,
        timeout=LINT_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_inventory_has_the_hosts_of_the_page_and_the_wheel_of_this_version() -> None:
    inventory = yaml.safe_load((ANSIBLE / "inventory.yml").read_text())["all"]
    hosts = {
        name: variables["ansible_host"]
        for group in inventory["children"].values()
        for name, variables in group["hosts"].items()
    }
    assert hosts == {name: address.partition("/")[0] for name, address in ADDRESSES.items()}
    assert inventory["vars"]["evenkeel_package"].endswith(f"/dist/evenkeel_lbaas-{__version__}-py3-none-any.whl")


def test_the_playbook_upgrades_in_the_order_of_the_page() -> None:
    plays = yaml.safe_load((ANSIBLE / "site.yml").read_text())
    rolling = [play["hosts"] for play in plays if play.get("serial") == 1]
    assert rolling == ["evenkeel_controllers", "evenkeel_haproxy", "evenkeel_agents"]
    assert [play["hosts"] for play in plays[-3:]] == rolling
    page = (ROOT / "docs" / "how-to" / "upgrade.md").read_text()
    assert re.findall(r"(?m)^\d\. (\w+)", page)[:3] == ["Controllers", "Daemons", "Agents"]


def test_variables_of_the_page_are_the_roles() -> None:
    page = (ROOT / "docs" / "how-to" / "install-with-ansible.md").read_text()
    defaults = yaml.safe_load((ANSIBLE / "roles" / "evenkeel" / "defaults" / "main.yml").read_text())
    groups = yaml.safe_load((ANSIBLE / "inventory.yml").read_text())["all"]["children"]
    assert set(re.findall(r"\bevenkeel_\w+", page)) - {"evenkeel_lbaas"} <= {*defaults, *groups}


class Cloud:
    """Bare hosts, and Ansible on the control host beside them."""

    def __init__(self, hosts: Mapping[str, Host], namespace: str, commands: Path, folder: Path, key: Path) -> None:
        self.hosts = hosts
        self.folder = folder
        self._namespace = namespace
        self._commands = commands
        self._key = key

    def play(self, wheel: Path) -> dict[str, dict[str, int]]:
        """Plays the playbook; each host's counts of changes and others."""
        words = ["ip", "netns", "exec", self._namespace, str(self._commands / "ansible-playbook"), "site.yml"]
        words += ["--inventory", "inventory.yml", "--private-key", str(self._key)]
        words += ["-e", f"evenkeel_package={wheel}", "-e", f"evenkeel_secrets={self.folder / 'secrets'}"]
        done = subprocess.run(
            words,
            cwd=ANSIBLE,
            env=surroundings(self._commands, self.folder),
            capture_output=True,
            text=True,
            timeout=PLAY_SECONDS,
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        recap = re.findall(r"(?m)^(\S+)\s+: (ok=.*)$", done.stdout)
        return {
            host: {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", counts)} for host, counts in recap
        }

    def started(self) -> list[float]:
        """When each host's process of Even Keel was started last, seconds, in the order of an upgrade."""
        ask = "systemctl show --property=ActiveEnterTimestampMonotonic --value"
        return [float(self.hosts[name].run(f"{ask} {unit}")) for unit, names in ORDER for name in names]


@pytest.fixture(scope="module")
def cloud(commands: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    folder = tmp_path_factory.mktemp("ansible")
    prefix = f"ea{os.getpid()}"
    switch = f"{prefix}-switch"
    names = folder / "hosts"
    lines = ["127.0.0.1 localhost", *(f"{address.split('/')[0]} {name}" for name, address in ADDRESSES.items())]
    names.write_text("\n".join([*lines, ""]))
    packages = folder / "wheels"
    packages.mkdir()
    base = make_base(folder, "python3")
    (base / "etc/apt/apt.conf.d/90proxy").write_text(f'Acquire::http::Proxy "http://{ROUTER}:{PORT}";\n')
    (base / "etc/pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    seen = {wheels(packages): "/wheels", names: "/etc/hosts"}
    with ExitStack() as opened:
        everybody = {**ADDRESSES, "web": f"{WEB}/24"}
        opened.enter_context(networks(prefix, everybody, {"203.0.113.0/24": "192.0.2.11"}))
        opened.enter_context(apt_proxy(switch, ROUTER))
        serve = [sys.executable, "-m", "http.server", "--bind", WEB, "--directory", str(packages), "80"]
        web = subprocess.Popen(
            ["ip", "netns", "exec", f"{prefix}-web", *serve], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        opened.callback(web.wait)
        opened.callback(web.kill)
        hosts = {name: opened.enter_context(booted(name, f"{prefix}-{name}", base, folder, seen)) for name in ADDRESSES}
        yield Cloud(hosts, switch, commands, folder, base / "root/.ssh/id_ed25519")


def changed_wheel(wheel: Path, folder: Path) -> Path:
    """A wheel of the same version with other bytes, as of a later commit."""
    folder.mkdir()
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, env=variables, check=True, capture_output=True, timeout=LINT_SECONDS)
    (made,) = folder.iterdir()
    assert made.name == wheel.name and made.read_bytes() != wheel.read_bytes()
    return made


def first_load_balancer(cloud: Cloud) -> str:
    """Follows the installation page's blocks from the check on; the output of the last one."""
    password = (cloud.folder / "secrets/root.password").read_text()
    cloud.hosts["db"].run(f"mkdir -p /root/cloud && echo '{password.strip()}' > /root/cloud/root.password")
    blocks = [block for names, block in steps() if names == ["ctl-1"]]
    (first,) = (number for number, block in enumerate(blocks) if "evenkeel status" in block)
    told = ""
    for block in blocks[first:]:
        told = cloud.hosts["ctl-1"].run(block, outside_network="apt-get" in block)
    return told


@pytest.mark.acceptance
@pytest.mark.timeout(3 * PLAY_SECONDS)
@pytest.mark.skipif(not can_boot(), reason="needs root, debootstrap and systemd-nspawn")
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="packages are fetched for Debian 12's Python")
def test_the_playbook_leads_to_a_load_balancer_and_upgrades_in_order_and_a_repetition_changes_nothing(
    cloud: Cloud,
) -> None:
    (wheel,) = (cloud.folder / "wheels").glob("evenkeel_lbaas-*.whl")
    cloud.play(wheel)
    assert "200" in first_load_balancer(cloud).splitlines()
    haproxys = cloud.hosts["lb-1"].run("pgrep -x haproxy")

    repeated = cloud.play(wheel)
    assert {host: counts["changed"] for host, counts in repeated.items()} == dict.fromkeys([*ADDRESSES, "localhost"], 0)

    before = cloud.started()
    cloud.play(changed_wheel(wheel, cloud.folder / "later"))
    after = cloud.started()
    assert after == sorted(after) and after[0] > max(before)
    assert cloud.hosts["lb-1"].run("pgrep -x haproxy") == haproxys
    ask = """python3 -c 'import urllib.request; print(urllib.request.urlopen("http://203.0.113.80/").status)'"""
    assert cloud.hosts["ctl-1"].run(ask).strip() == "200"
