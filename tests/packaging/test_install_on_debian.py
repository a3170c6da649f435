"""An operator follows a section of docs/how-to/install.md to the letter, on bare hosts with systemd."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from evenkeel.cmd.configuration.processes import process_options
from tests.cmd.configuration.test_wrong_values import WORD, wrong_value
from tests.packaging.debian_hosts import Host, booted, can_boot, make_base, networks, run

PROJECT = Path(__file__).parent.parent.parent
PAGE = PROJECT / "docs" / "how-to" / "install.md"
SECTION = "## On Debian, command by command\n"
ADDRESSES = {
    "db": "192.0.2.5/24",
    "ctl-1": "192.0.2.21/24",
    "ctl-2": "192.0.2.22/24",
    "agent-1": "192.0.2.31/24",
    "agent-2": "192.0.2.32/24",
    "agent-3": "192.0.2.33/24",
    "lb-1": "192.0.2.11/24",
}
WEB = "198.51.100.10"
SCREEN_LINES = 60
"""Of a terminal of usual size, with long lines folded."""

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(not can_boot(), reason="needs root, debootstrap and systemd-nspawn"),
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="packages are fetched for Debian 12's Python"),
]


def commands() -> str:
    """Text of the page's section whose commands are followed."""
    return PAGE.read_text().partition(SECTION)[2].partition("\n## ")[0]


def steps() -> Iterator[tuple[list[str], str]]:
    """Hosts and commands of each block of the page; the line before a block names its hosts."""
    for place, block in re.findall(r"(?m)^On (.*):\n\n```sh\n((?:.*\n)*?)```$", commands()):
        yield re.findall(r"`([a-z0-9-]+)`", place), block


def test_every_block_of_the_page_says_where_it_runs() -> None:
    assert len(list(steps())) == commands().count("```sh\n") > 0
    assert {host for hosts, _ in steps() for host in hosts} == set(ADDRESSES)
    for host, address in ADDRESSES.items():
        assert f"`{host}`" in commands(), address


def wheels(folder: Path) -> Path:
    """The package as built, and all that it needs."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    locked = str(PROJECT / "requirements" / "test.txt")
    run(sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "-w", str(folder), "-r", locked)
    return folder


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Host]]:
    folder = tmp_path_factory.mktemp("debian")
    prefix = f"ek{os.getpid()}"
    names = folder / "hosts"
    lines = ["127.0.0.1 localhost", *(f"{address.split('/')[0]} {name}" for name, address in ADDRESSES.items())]
    names.write_text("\n".join([*lines, ""]))
    packages = folder / "wheels"
    packages.mkdir()
    seen = {wheels(packages): "/wheels", names: "/etc/hosts"}
    base = make_base(folder)
    with ExitStack() as opened:
        everybody = {**ADDRESSES, "web": f"{WEB}/24"}
        opened.enter_context(networks(prefix, everybody, {"203.0.113.0/24": "192.0.2.11"}))
        serve = [sys.executable, "-m", "http.server", "--bind", WEB, "--directory", str(packages), "80"]
        web = subprocess.Popen(
            ["ip", "netns", "exec", f"{prefix}-web", *serve], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        opened.callback(web.wait)
        opened.callback(web.kill)
        yield {name: opened.enter_context(booted(name, f"{prefix}-{name}", base, folder, seen)) for name in ADDRESSES}


def follow(hosts: dict[str, Host]) -> str:
    """Runs the page; the output of its last block."""
    for host in hosts.values():
        host.run("cp /wheels/evenkeel_lbaas-*.whl /root/")
    told = ""
    for names, block in steps():
        installs = "apt-get" in block or "pip install" in block
        for name in names:
            told = hosts[name].run(block, outside_network=installs)
    return told


def wrong_file(process: str) -> str:
    """A configuration with a wrong value for each class of options of a process."""
    text = []
    for section, options in process_options(process):
        if section in {"bigip", "noop"}:
            continue
        kinds = {type(option.type): option.dest for option in options if wrong_value(option)}
        text += [f"[{section or 'DEFAULT'}]", *(f"{name} = {WORD}" for name in kinds.values())]
    return "\n".join(text)


def is_refused_in_a_screen(host: Host, process: str) -> None:
    wrong = wrong_file(process)
    host.run(f"cat > /root/wrong.ini <<'END'\n{wrong}\nEND")
    refusal = host.start(f"/opt/evenkeel/bin/evenkeel-{process} --config-file /root/wrong.ini")
    told = refusal.stdout + refusal.stderr
    assert refusal.returncode == 2, told
    assert len(told.splitlines()) <= SCREEN_LINES and "Traceback" not in told, told
    assert told.count(WORD) >= min(wrong.count(WORD), 10), told


def test_the_page_leads_from_bare_hosts_to_a_load_balancer_and_wrong_values_are_refused(hosts: dict[str, Host]) -> None:
    told = follow(hosts)
    assert "200" in told.splitlines(), told
    asked = (
        "export EVENKEEL_ENDPOINT=https://ctl-1:9876 EVENKEEL_CACERT=/etc/evenkeel/ca.pem EVENKEEL_USERNAME=root\n"
        "export EVENKEEL_PASSWORD=$(ssh -n db cat /root/cloud/root.password)\n/opt/evenkeel/bin/evenkeel "
    )
    listed = hosts["ctl-1"].run(f"{asked} agent list")
    assert all(name in listed for name in ADDRESSES if name.startswith("agent")), listed
    hosts["ctl-1"].run(f"{asked} status")
    for name, process in (("ctl-1", "controller"), ("agent-1", "agent"), ("lb-1", "haproxyd")):
        is_refused_in_a_screen(hosts[name], process)
