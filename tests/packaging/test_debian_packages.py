"""Debian packages: what they hold, and that a bare Debian installs, upgrades and purges them as ``install.md`` says.

Every run reads what ``packaging/debian`` says; building and installing are of the release tier.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.packaging.debian_hosts import Host, booted, can_boot, make_base, networks, run

ROOT = Path(__file__).parents[2]
DEBIAN = ROOT / "packaging" / "debian"
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
ROLES = ("controller", "agent", "haproxyd")
PACKAGES = ("evenkeel", *(f"evenkeel-{role}" for role in ROLES))
EXTRAS = (
    "agent",
    "cli",
    "controller",
    "haproxyd",
    "barbican",
    "keystone",
    "neutron",
    "neutron-agent",
    "tracing",
    "vault",
)
HOST = "host"
SECTION = "## Debian packages\n"
MADE = (
    "/usr/lib/evenkeel /usr/share/evenkeel /var/lib/evenkeel /var/lib/evenkeel-haproxyd /run/evenkeel-haproxyd "
    "/etc/evenkeel/*.ini /usr/bin/evenkeel* /lib/systemd/system/evenkeel*"
)
RESTARTED = (
    'until [ "$(systemctl show --property MainPID evenkeel-haproxyd)" != "$1" ] '
    "&& systemctl is-active --quiet evenkeel-haproxyd; do sleep 0.2; done"
)
DAEMON = """
systemctl disable --now haproxy
evenkeel-haproxyd --init /etc/evenkeel/haproxyd --host localhost
cat > /etc/evenkeel/haproxyd.ini <<END
[haproxyd]
name = lb-1
bind_host = 127.0.0.1
tls_certificate = /etc/evenkeel/haproxyd/server.pem
tls_key = /etc/evenkeel/haproxyd/server.key
credentials_file = /etc/evenkeel/haproxyd/credentials
END
echo 'a long password' | evenkeel-haproxyd --config-file /etc/evenkeel/haproxyd.ini --add-agent agent-1
systemctl enable --now evenkeel-haproxyd
"""

builds = pytest.mark.skipif(
    not shutil.which("dh") or sys.version_info[:2] != (3, 11), reason="needs debhelper, on Debian 12"
)
boots = pytest.mark.skipif(not can_boot(), reason="needs root, debootstrap and systemd-nspawn")


def locked(name: str) -> set[str]:
    """Packages with versions of a lock."""
    return set(re.findall(r"^\S+==[^\s;]+", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE))


def test_each_command_is_a_link_of_one_package() -> None:
    linked = [
        line.split()[1] for package in PACKAGES for line in (DEBIAN / f"{package}.links").read_text().splitlines()
    ]
    assert sorted(linked) == sorted(f"usr/bin/{name}" for name in SCRIPTS)


def test_each_unit_belongs_to_a_package_and_runs_a_command_of_it() -> None:
    for role in ROLES:
        unit = (ROOT / "packaging" / "systemd" / f"evenkeel-{role}.service").read_text()
        command = re.search(r"^ExecStart=/opt/evenkeel/bin/(\S+)", unit, re.MULTILINE)
        assert command and f"usr/bin/{command[1]}\n" in (DEBIAN / f"evenkeel-{role}.links").read_text()


def test_the_lock_of_the_packages_has_the_tested_versions_of_all_extras() -> None:
    assert locked("debian") <= locked("test")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    needed = {re.split(r"[\[<>=; ]", line)[0].replace(".", "-") for extra in EXTRAS for line in extras[extra]}
    present = {line.partition("==")[0].replace(".", "-").replace("_", "-") for line in locked("debian")}
    assert needed - {"evenkeel-lbaas"} - present == set()


def test_installed_folders_are_made_by_the_script_that_builds() -> None:
    build = (ROOT / "scripts" / "build-deb").read_text()
    for package in PACKAGES:
        for line in (DEBIAN / f"{package}.install").read_text().splitlines():
            assert line.split()[0].partition("/")[0] in build, line


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The packages as ``scripts/build-deb`` makes them, by name."""
    for stale in (ROOT / "dist").glob("evenkeel*.deb"):
        stale.unlink()
    run("scripts/build-deb", timeout=1800)
    found = {path.name.partition("_")[0]: path for path in (ROOT / "dist").glob("evenkeel*.deb")}
    assert sorted(found) == sorted(PACKAGES)
    return found


def contents(package: Path) -> set[str]:
    return {line.split(maxsplit=5)[5].partition(" -> ")[0] for line in run("dpkg-deb", "-c", str(package)).splitlines()}


@builds
@pytest.mark.acceptance
@pytest.mark.timeout(2400)
def test_built_packages_hold_units_pages_and_configurations(packages: dict[str, Path]) -> None:
    version = run("dpkg-deb", "-f", str(packages["evenkeel"]), "Version").strip()
    for role in ROLES:
        package = packages[f"evenkeel-{role}"]
        assert {
            f"./etc/evenkeel/{role}.ini",
            f"./lib/systemd/system/evenkeel-{role}.service",
            f"./usr/bin/evenkeel-{role}",
            f"./usr/share/man/man8/evenkeel-{role}.8.gz",
        } <= contents(package)
        assert f"evenkeel (= {version})" in run("dpkg-deb", "-f", str(package), "Depends")
    held = contents(packages["evenkeel"])
    assert {"./usr/bin/evenkeel", "./usr/share/man/man1/evenkeel-agent-list.1.gz"} <= held
    assert "./usr/share/bash-completion/completions/evenkeel" in held
    assert not [path for path in held if "__pycache__" in path or path.startswith("./opt")]


@builds
@pytest.mark.skipif(not shutil.which("lintian"), reason="needs lintian")
@pytest.mark.acceptance
@pytest.mark.timeout(2400)
def test_lintian_finds_nothing(packages: dict[str, Path]) -> None:
    check = ["lintian", "--allow-root", "--fail-on", "error,warning", *map(str, packages.values())]
    found = subprocess.run(check, capture_output=True, text=True, timeout=1800)
    assert (found.returncode, found.stdout) == (0, ""), found.stdout[-3000:]


@builds
@pytest.mark.acceptance
@pytest.mark.timeout(2400)
def test_two_builds_give_the_same_bytes(packages: dict[str, Path]) -> None:
    first = {name: package.read_bytes() for name, package in packages.items()}
    run("scripts/build-deb", timeout=1800)
    assert [name for name, package in packages.items() if package.read_bytes() != first[name]] == []


def older(package: Path, folder: Path) -> Path:
    """A package as one of a lower version, whose configuration of an agent differs."""
    tree = folder / package.stem
    run("dpkg-deb", "-R", str(package), str(tree))
    control = tree / "DEBIAN" / "control"
    version = run("dpkg-deb", "-f", str(package), "Version").strip()
    control.write_text(control.read_text().replace(version, f"{version}~older"))
    for path in (tree / "etc").rglob("*.ini"):
        path.write_text(f"# older\n{path.read_text()}")
    made = folder / package.name.replace(version, "older")
    run("dpkg-deb", "-Znone", "--root-owner-group", "-b", str(tree), str(made))
    shutil.rmtree(tree)
    return made


@pytest.fixture(scope="module")
def host(packages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A bare Debian that sees the packages in /new, and the same of a lower version in /older."""
    folder = tmp_path_factory.mktemp("debian")
    before = folder / "older"
    before.mkdir()
    for package in packages.values():
        older(package, before)
    prefix = f"ed{os.getpid()}"
    base = make_base(folder)
    with ExitStack() as opened:
        opened.enter_context(networks(prefix, {HOST: "192.0.2.31/24"}, {}))
        seen = {ROOT / "dist": "/new", before: "/older"}
        yield opened.enter_context(booted(HOST, f"{prefix}-{HOST}", base, folder, seen))


def commands() -> list[str]:
    """The blocks of the page's section: build, install, purge."""
    section = (ROOT / "docs" / "how-to" / "install.md").read_text().partition(SECTION)[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def install(host: Host, folder: str) -> None:
    """Installs the packages of a folder by the page's commands."""
    host.run(f"rm -f /root/*.deb && cp {folder}/evenkeel*.deb /root/")
    host.run(commands()[1], outside_network=True)


def test_the_page_builds_installs_and_purges() -> None:
    build, installs, purge = commands()
    assert "scripts/build-deb\n" in build
    assert installs.endswith("apt-get install -y /root/evenkeel*.deb\n")
    assert sorted(purge.split()[3:]) == sorted(PACKAGES)


@builds
@boots
@pytest.mark.acceptance
@pytest.mark.timeout(2400)
def test_packages_are_installed_upgraded_and_purged(host: Host) -> None:
    install(host, "/older")
    assert host.run("stat -c '%a %U %G' /etc/evenkeel/agent.ini").split() == ["640", "root", "evenkeel"]
    assert host.start("systemctl is-active evenkeel-agent evenkeel-controller evenkeel-haproxyd").returncode != 0
    for name in SCRIPTS:
        assert host.run(f"{name} --version").startswith(name)
    host.run(DAEMON)
    before = host.run("systemctl show --property MainPID evenkeel-haproxyd").strip()

    host.run("echo force-confold > /etc/dpkg/dpkg.cfg.d/answers")
    install(host, "/new")
    told = host.run("dpkg-query --show 'evenkeel*'; cat /etc/evenkeel/agent.ini")
    assert "~older" not in told and "# older" not in told
    assert "bind_host = 127.0.0.1\n" in host.run("cat /etc/evenkeel/haproxyd.ini")
    host.run(f"timeout 120 bash -c '{RESTARTED}' - {before}")

    host.run(commands()[2])
    assert host.run(f"ls -d {MADE} 2>/dev/null || true") == ""
    assert host.run("ls /etc/evenkeel").split() == ["haproxyd"], "what an operator made stays"
