"""A host of Octavia beside the cluster: MariaDB, the API, and driver-agent with our provider agent."""

import random
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from evenkeel.demo.addresses import free_port
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.octavia.files import OctaviaFiles
from evenkeel.demo.octavia.mariadb import MariadbCommands
from evenkeel.demo.processes import DemoProcess, stop_all

MARIADB_PROCESS = "mariadb"
API_PROCESS = "octavia-api"
DRIVER_AGENT = "octavia-driver-agent"
PROVIDER_NAME = "evenkeel"
PROJECT_ID = "5a1fd2a4-4f4c-4a0b-9a0f-6f2a7c1d9a11"
"""Project of the demo's tenant: without Keystone, callers name theirs in a header."""
API_WORKERS = 2
DATABASE_NAME = "octavia"
START_SECONDS = 180.0
PROBE_TIMEOUT_SECONDS = 5.0


class OctaviaHost:
    """Octavia's processes, which the cluster restarts under their names. ``venv``: virtual environment in
    which Octavia is installed.
    """

    def __init__(self, cluster: Cluster, venv: Path) -> None:
        self._cluster = cluster
        self._programs = venv / "bin"
        # paths of sockets must be short, and only we may enter: MariaDB's root has no password
        self._home = Path(tempfile.mkdtemp(prefix="evenkeel-octavia-"))
        self._database = MariadbCommands(cluster.directory / "mariadb", self._home / "mariadb.sock")
        self._port = free_port(random.SystemRandom())
        self._files: OctaviaFiles | None = None

    @property
    def url(self) -> str:
        """Root URL of Octavia's API."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def files(self) -> OctaviaFiles:
        """Octavia's configuration and programs. They are written at the first use, because they contain the
        controllers' URLs.
        """
        if self._files is None:
            self._files = OctaviaFiles(
                self._home,
                database=self._database.url(DATABASE_NAME),
                environments={PROVIDER_NAME: self._cluster.environment},
                options={"controllers": ", ".join(self._cluster.controllers)},
            )
        return self._files

    async def start_database(self) -> None:
        """Start MariaDB and wait until it answers; the first time create Octavia's tables. Raises
        :class:`~evenkeel.demo.processes.ProcessFailed`.
        """
        is_new = not (self._cluster.directory / "mariadb").exists()
        if is_new:
            await self._run_tool("mariadb-install", self._database.initialise_command)
        server = self._make_process(MARIADB_PROCESS, self._database.serve_command)
        server.start()
        await server.wait_until(self._database_answers, "an answer", timeout_seconds=START_SECONDS)
        if is_new:
            await self._run_tool("mariadb-create", self._database.create_database_command(DATABASE_NAME))
            file = str(self.files.configuration)
            await self._run_tool(
                "octavia-db-manage",
                [str(self._programs / "octavia-db-manage"), "--config-file", file, "upgrade", "head"],
            )
        self._cluster.add_starter(MARIADB_PROCESS, self.start_database)

    async def start_api(self) -> None:
        """Start Octavia's API, and wait until it answers. Raises
        :class:`~evenkeel.demo.processes.ProcessFailed`.
        """
        service = self._make_process(API_PROCESS, self.files.api_command(self._programs, self._port, API_WORKERS))
        service.start()
        await service.wait_until(self._api_answers, "an answer", timeout_seconds=START_SECONDS)
        self._cluster.add_starter(API_PROCESS, self.start_api)

    async def start_driver_agent(self) -> None:
        """Start driver-agent, which runs our provider agent, and wait until its sockets exist. Raises
        :class:`~evenkeel.demo.processes.ProcessFailed`.
        """
        self.files.remove_sockets()
        command = [str(self._programs / "python"), str(self.files.driver_agent)]
        agent = self._make_process(DRIVER_AGENT, command)
        agent.start()
        await agent.wait_until(self.files.sockets_exist, "its sockets", timeout_seconds=START_SECONDS)
        self._cluster.add_starter(DRIVER_AGENT, self.start_driver_agent)

    def close(self) -> None:
        """Stop all processes of Octavia, the database last, and delete their configuration."""
        known = self._cluster.processes
        for name in (DRIVER_AGENT, API_PROCESS, MARIADB_PROCESS):
            if name in known:
                stop_all([known[name]])
        shutil.rmtree(self._home, ignore_errors=True)

    def _make_process(self, name: str, command: Sequence[str]) -> DemoProcess:
        log = self._cluster.directory / "logs" / f"{name}.log"
        variables = self.files.variables
        process = self._cluster.processes[name] = DemoProcess(name, command, log=log, environment=variables)
        return process

    async def _run_tool(self, name: str, command: Sequence[str]) -> None:
        """Run a program to its end. Raises :class:`~evenkeel.demo.processes.ProcessFailed` if it fails or
        takes longer than :data:`START_SECONDS`.
        """
        log = self._cluster.directory / "logs" / f"{name}.log"
        await DemoProcess(name, command, log=log, environment=self.files.variables).run(timeout_seconds=START_SECONDS)

    def _database_answers(self) -> bool:
        command = self._database.ping_command
        return subprocess.run(command, check=False, capture_output=True, timeout=PROBE_TIMEOUT_SECONDS).returncode == 0  # noqa: S603

    def _api_answers(self) -> bool:
        try:
            # proxy settings of the environment are not for a server on this host
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            opener.open(f"{self.url}/", timeout=PROBE_TIMEOUT_SECONDS).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code < 400  # 300: its versions
        except OSError:
            return False
        return True
