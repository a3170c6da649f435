"""A stock Octavia as operators run it: the API with several workers, driver-agent, and a MariaDB; without Keystone.

It is installed in a virtual environment of its own. Our provider driver and provider agent come from this repository's
folder, with the entry points of their pyproject.toml.
"""

import json
import os
import signal
import subprocess
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.services.installation import environment
from tests.services.openstack import OpenStackServer
from tests.services.process import kill_group, spawn, terminate, wait_until_ready

VERSION = "19.0.0"
VARIABLE = "EVENKEEL_TEST_OCTAVIA_HOST"
PROJECT = "5a1fd2a4-4f4c-4a0b-9a0f-6f2a7c1d9a11"
ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "evenkeel-octavia"
EntryPoints = Mapping[str, Mapping[str, str]]
"""Place by name, by group."""

_CONFIGURATION = """
[DEFAULT]
debug = False
[api_settings]
auth_strategy = {strategy}
enabled_provider_drivers = {providers}
default_provider_driver = {default}
[database]
connection = {database}
[controller_worker]
network_driver = network_noop_driver
compute_driver = compute_noop_driver
amphora_driver = amphora_noop_driver
image_driver = image_noop_driver
volume_driver = volume_noop_driver
[certificates]
cert_manager = noop_cert_manager
[driver_agent]
status_socket_path = {home}/status.sock
stats_socket_path = {home}/stats.sock
get_socket_path = {home}/get.sock
enabled_provider_agents = {agent}
[oslo_policy]
enforce_scope = False
[evenkeel]
providers = {environments}
{options}
{login}
"""
_NETWORK = """
from octavia.network.drivers.noop_driver import driver

create_engine = driver.create_engine
driver.create_engine = lambda url: create_engine("sqlite:///{home}/network.db")  # else a file in /tmp for all
"""
_DISTINCT = """
import ipaddress
import random

from octavia.network.drivers.noop_driver import driver

allocate = driver.NoopManager.allocate_vip


def allocate_vip(self, load_balancer):
    vip, more = allocate(self, load_balancer)
    if not (load_balancer.vip and load_balancer.vip.ip_address):
        vip.ip_address = str(ipaddress.ip_address("10.0.0.1") + random.randrange(2**24 - 2))
    return vip, more


driver.NoopManager.allocate_vip = allocate_vip
"""
"""The no-op network gives all VIPs one address, which no Neutron does."""
_API = """
import sys

sys.argv = ["octavia-api", "--config-file", "{file}"]  # octavia.wsgi.api reads its configuration from it
import own_network
from octavia.wsgi.api import application
"""
_DRIVER_AGENT = """
import sys

sys.argv = ["octavia-driver-agent", "--config-file", "{file}"]
import own_network
from octavia.cmd.driver_agent import main

main()
"""


def installed(version: str = VERSION) -> Path:
    """The virtual environment that it is in: what the variable names, or our own. Raises :class:`NotInstallable`."""
    given = os.environ.get(VARIABLE)
    requirements = [f"octavia=={version}", "PyMySQL", "gunicorn", "hatchling"]
    return Path(given) if given else environment("octavia-host", version, requirements)


class Octavia(OpenStackServer):
    """One host with Octavia's API and driver-agent. ``database``: URL of an empty database of MariaDB."""

    start_seconds = 300.0

    def __init__(
        self,
        venv: Path,
        database: str,
        *,
        environments: Mapping[str, str],
        options: Mapping[str, object],
        login: str = "",
        agent: str = "evenkeel_agent",
        workers: int = 2,
        more_drivers: Sequence[str] = (),
        entry_points: EntryPoints | None = None,
        python_path: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Initialize. ``environments``: Even Keel's environment by provider; ``options``: more of ``[evenkeel]``;
        ``login``: the section by which it believes a Keystone.

        ``more_drivers``: further providers; ``entry_points``, ``python_path`` and ``variables``: what theirs need.
        """
        super().__init__("evenkeel-octavia-host-")
        self._more_path = f":{python_path}" if python_path is not None else ""
        self._variables = dict(variables or {})
        self._python = venv / "bin" / "python"
        self._programs = venv / "bin"
        self._workers = workers
        self.configuration = self._home / "octavia.conf"
        self.configuration.write_text(
            _CONFIGURATION.format(
                strategy="keystone" if login else "noauth",
                login=login,
                providers=", ".join(f"{name}: a provider" for name in (*environments, *more_drivers)),
                default=next(iter(environments)),
                database=database.replace("mysql://", "mysql+pymysql://"),
                home=self._home,
                agent=agent,
                environments=", ".join(f"{name}: {place}" for name, place in environments.items()),
                options="\n".join(f"{name} = {value}" for name, value in options.items()),
            )
        )
        programs = {"own_network": _NETWORK + _DISTINCT, "serve_octavia": _API, "run_driver_agent": _DRIVER_AGENT}
        for name, text in programs.items():
            (self._home / f"{name}.py").write_text(text.format(file=self.configuration, home=self._home))
        project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
        self._write_entry_points("evenkeel_octavia", project["entry-points"])
        self._write_entry_points("more", entry_points or {})
        self._driver_agent: subprocess.Popen[bytes] | None = None
        self._is_migrated = False

    def start(self) -> None:
        """Start the API and driver-agent, and wait until both serve; nothing to do for one that runs."""
        if not self._is_migrated:
            self.command("octavia-db-manage", "--config-file", str(self.configuration), "upgrade", "head")
            self._is_migrated = True
        if not self.running:
            self._begin(
                [
                    *(self._programs / "gunicorn", "--workers", str(self._workers), "--preload"),
                    *("--worker-class", "gthread", "--threads", "4"),
                    *("--bind", f"127.0.0.1:{self.port}", "--timeout", "120", "serve_octavia:application"),
                ]
            )
        self.start_driver_agent()

    def start_driver_agent(self) -> None:
        """Start driver-agent with its provider agent, unless it runs."""
        if self._driver_agent is not None and self._driver_agent.poll() is None:
            return
        for name in ("status", "stats", "get"):
            (self._home / f"{name}.sock").unlink(missing_ok=True)
        command = [self._python, self._home / "run_driver_agent.py"]
        log = self._home / "driver-agent.log"
        self._driver_agent = spawn(command, log=log, env=self._environment(), cwd=self._home, user=self._user)
        sockets = [self._home / f"{name}.sock" for name in ("status", "stats", "get")]
        wait_until_ready(
            lambda: all(path.exists() for path in sockets),
            self._driver_agent,
            log=log,
            timeout_seconds=self.start_seconds,
        )

    def stop_driver_agent(self) -> float:
        """Stop driver-agent as systemd does; return the seconds that it took."""
        assert self._driver_agent is not None
        began = time.monotonic()
        terminate(self._driver_agent, signal.SIGTERM, timeout_seconds=90.0)
        return time.monotonic() - began

    def kill_driver_agent(self) -> None:
        """kill -9, with all its children."""
        assert self._driver_agent is not None
        kill_group(self._driver_agent)

    @contextmanager
    def own_agent(self, **options: object) -> Iterator[None]:
        """Run the provider agent as a service of its own; ``options``: more of ``[evenkeel]``."""
        file = self._home / "own-agent.conf"
        file.write_text("\n".join(["[evenkeel]", *(f"{name} = {value}" for name, value in options.items()), ""]))
        files = ("--config-file", self.configuration, "--config-file", file)
        command = [self._python, "-m", "evenkeel_octavia", "agent", *files]
        log = self._home / "own-agent.log"
        process = spawn(command, log=log, env=self._environment(), cwd=self._home, user=self._user)
        try:
            yield
        finally:
            terminate(process, signal.SIGTERM, timeout_seconds=30.0)

    def agent_processes(self) -> dict[str, list[int]]:
        """Process ids of the provider agent: its ``supervisor`` and its ``worker``."""
        found: dict[str, list[int]] = {"supervisor": [], "worker": []}
        assert self._driver_agent is not None
        for path in Path("/proc").glob("[0-9]*"):
            try:
                title = (path / "cmdline").read_bytes().rstrip(b"\0").decode()
                session = int((path / "stat").read_text().rpartition(")")[2].split()[3])
            except (OSError, ValueError):
                continue
            if session == self._driver_agent.pid and "provider_agent" in title:
                found["worker" if title.endswith(" worker") else "supervisor"].append(int(path.name))
        return found

    def register_providers(self) -> None:
        """Write the entry points of all providers, as operators do."""
        arguments = ("--config-file", str(self.configuration), "--directory", str(self._home / "plugins"))
        self.command("python", "-m", "evenkeel_octavia", "register-providers", *arguments)

    def run(self, code: str, *arguments: str) -> str:
        """Output of Python code in Octavia's environment, whose first argument is the configuration file."""
        return self._run(self._python, "-c", code, str(self.configuration), *arguments)

    def evenkeel(self, command: str, *arguments: str) -> str:
        """Output of a command of ``evenkeel-octavia``, whatever its exit code is."""
        words = (self._python, "-m", "evenkeel_octavia", command, "--config-file", self.configuration, *arguments)
        done = subprocess.run(
            words, env=self._environment(), cwd=self._home, capture_output=True, text=True, timeout=120
        )
        return done.stdout

    def close(self) -> None:
        """Stop for good."""
        if self._driver_agent is not None:
            kill_group(self._driver_agent)
        super().close()

    def command(self, program: str, *arguments: str) -> str:
        """Run one of Octavia's programs, or one of ours with ``python -m``; return its output."""
        return self._run(self._programs / program, *arguments)

    def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and decoded body of one request to the API, as the test's project."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "X-Project-Id": PROJECT, "Accept": "application/json"}
        request = urllib.request.Request(f"{self.url}/v2.0/lbaas{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60.0) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            with error:
                text = error.read()
            return error.code, json.loads(text) if text else None

    def logs(self) -> str:
        """What API and driver-agent have logged."""
        files = (self._log, self._home / "driver-agent.log", self._home / "own-agent.log")
        return "\n".join(file.read_text(errors="replace") for file in files if file.exists())

    def _write_entry_points(self, name: str, groups: EntryPoints) -> None:
        folder = self._home / "plugins" / f"{name}-0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
        lines: list[str] = []
        for group, points in groups.items():
            lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items())]
        (folder / "entry_points.txt").write_text("\n".join([*lines, ""]))

    def _more_environment(self) -> Mapping[str, str]:
        return {
            "PYTHONPATH": f"{self._home / 'plugins'}:{PACKAGE / 'src'}:{self._home}{self._more_path}",
            **self._variables,
            "TMPDIR": str(self._home),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
