"""A stock Octavia as operators run it: the API with several workers, driver-agent, and a MariaDB; without Keystone.

It is installed in a virtual environment of its own. Our provider driver and provider agent come from this repository's
folder, with the entry points of their pyproject.toml.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenkeel.demo.octavia.files import EntryPoints, OctaviaFiles
from evenkeel_octavia.earlier import report_processes
from tests.services.installation import environment
from tests.services.openstack import OpenStackServer
from tests.services.process import kill_group, spawn, terminate, wait_until_ready

VERSION = "19.0.0"
VARIABLE = "EVENKEEL_TEST_OCTAVIA_HOST"
PROJECT = "5a1fd2a4-4f4c-4a0b-9a0f-6f2a7c1d9a11"


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
        self.database = database
        self.venv = venv
        self.request_seconds = 60.0
        """Longest that an answer to :meth:`request` is waited for."""
        self._more_path = f":{python_path}" if python_path is not None else ""
        self._variables = dict(variables or {})
        self._python = venv / "bin" / "python"
        self._programs = venv / "bin"
        self._workers = workers
        self._files = OctaviaFiles(
            self._home,
            database=database.replace("mysql://", "mysql+pymysql://"),
            environments=environments,
            options=options,
            agent=agent,
            more_drivers=more_drivers,
            login=login,
        )
        self.configuration = self._files.configuration
        self._files.write_entry_points("more", entry_points or {})
        self._driver_agent: subprocess.Popen[bytes] | None = None
        self._is_migrated = False
        self.is_prepared = False
        """Whether driver-agent is started by ``evenkeel-octavia driver-agent``, in place of Octavia's own command."""

    def start(self) -> None:
        """Start the API and driver-agent, and wait until both serve; nothing to do for one that runs."""
        if not self._is_migrated:
            self.command("octavia-db-manage", "--config-file", str(self.configuration), "upgrade", "head")
            self._is_migrated = True
        if not self.running:
            self._begin(self._files.api_command(self._programs, self.port, self._workers))
        self.start_driver_agent()

    def start_driver_agent(self) -> None:
        """Start driver-agent with its provider agent, unless it runs; see :attr:`is_prepared`."""
        if self._driver_agent is not None and self._driver_agent.poll() is None:
            return
        self._files.remove_sockets()
        program = self._files.prepared_driver_agent if self.is_prepared else self._files.driver_agent
        command = [self._python, program]
        log = self._home / "driver-agent.log"
        self._driver_agent = spawn(command, log=log, env=self._environment(), cwd=self._home, user=self._user)
        wait_until_ready(
            self._files.sockets_exist,
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

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to all processes of the host: the API's, driver-agent's and the provider agent's."""
        for process in (self._process, self._driver_agent):
            if process is not None and process.poll() is None:
                os.killpg(process.pid, number)
                if number == signal.SIGKILL:
                    process.wait()

    def is_active(self, environment: str) -> bool:
        """Whether the running provider agent has the lease of an environment, by its log."""
        workers = self.agent_processes()["worker"]
        lines = [line.split() for line in self.logs().splitlines() if line.endswith(f" for environment {environment}")]
        # date, time, process id; an agent that was killed has logged nothing since
        own = [line for line in lines if len(line) > 3 and line[2].isdigit() and int(line[2]) in workers]
        return bool(own) and "active" in own[-1]

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

    def report_processes(self) -> set[int]:
        """Process ids of reports that are under way in driver-agent."""
        assert self._driver_agent is not None
        found = set()
        for pid, _ in report_processes():
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(pid) == self._driver_agent.pid:
                    found.add(pid)
        return found

    def register_providers(self) -> None:
        """Write the entry points of all providers, as operators do."""
        arguments = ("--config-file", str(self.configuration), "--directory", str(self._files.plugins))
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
            with urllib.request.urlopen(request, timeout=self.request_seconds) as answer:
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

    def _more_environment(self) -> Mapping[str, str]:
        given = self._files.variables
        return {**given, **self._variables, "PYTHONPATH": f"{given['PYTHONPATH']}{self._more_path}"}
