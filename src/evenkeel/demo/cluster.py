"""A whole Even Keel on this host: devices, controllers, agents and backends, one real process each.

The demo and the acceptance tests start it. By default it uses SQLite and the embedded bus; with a database and a
transport URL the same processes use servers. Everything is written below one directory.
"""

import asyncio
import signal
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from secrets import token_bytes
from typing import Any

from evenkeel.cli.client import API_PATH, Client, ClientError
from evenkeel.demo.configuration import NO_QUOTAS, Sections, merge_sections
from evenkeel.demo.device_kinds import DeviceKind
from evenkeel.demo.device_kinds.bigip import DEVICE_NAMES as BIGIP_NAMES
from evenkeel.demo.device_kinds.bigip import BigipDevices
from evenkeel.demo.device_kinds.haproxy import DAEMON_NAMES as HAPROXY_NAMES
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.demo.devices import Emulator
from evenkeel.demo.processes import DemoProcess, ProcessFailed, stop_all
from evenkeel.demo.workspace import START_SECONDS, Workspace, written_file_condition

DEVICE_KINDS = ("haproxy", "bigip")


class Cluster:
    """Starts, kills and restarts processes by name: ``devices``, ``controller-1``, ``agent-host-1``,
    ``backend-1``.

    ``device``: one of :data:`DEVICE_KINDS`; the process ``devices`` is the emulator for BIG-IP, the daemon beside
    HAProxy for HAProxy. ``device_options``, ``controller_options`` and ``agent_options``: ini sections that
    override those of the cluster; the first for HAProxy's daemon only, the emulator has
    ``emulator_arguments``. A process keeps its ports when it is restarted. Not thread-safe.
    """

    def __init__(
        self,
        directory: Path,
        *,
        environment: str = "demo",
        database: str | None = None,
        transport_url: str | None = None,
        device: str = "bigip",
        device_names: Sequence[str] | None = None,
        device_options: Sections | None = None,
        emulator_arguments: Sequence[str] = (),
        controller_options: Sections | None = None,
        agent_options: Sections | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.workspace = Workspace(directory, start_seconds=start_seconds)
        self.directory = self.workspace.directory
        self.processes = self.workspace.processes
        self.environment = environment
        self.database = database or f"sqlite:///{self.directory}/evenkeel.db"
        self.transport_url = transport_url or f"embedded://{self.directory}/bus.db"
        self.side = self._make_devices(device, device_names, device_options or {}, emulator_arguments)
        self._certificates_key = self.workspace.write_secret(
            "certificates.key", b64encode(token_bytes(32)).decode() + "\n"
        )
        self._controller_options = controller_options or {}
        self._agent_options = agent_options or {}
        self._urls: dict[str, str] = {}
        self._backend_ports: dict[int, int] = {}
        self._starters: dict[str, Callable[[], Awaitable[None]]] = {}

    def _make_devices(
        self, device: str, names: Sequence[str] | None, options: Sections, arguments: Sequence[str]
    ) -> DeviceKind:
        if device == "bigip":
            return BigipDevices(self.workspace, names=names or BIGIP_NAMES, arguments=arguments)
        if device == "haproxy":
            return HaproxyDevices(self.workspace, names=names or HAPROXY_NAMES, options=options)
        raise ValueError(f"device: {device!r} is not one of {', '.join(DEVICE_KINDS)}")

    # -- properties

    @property
    def emulator(self) -> Emulator:
        """Client of the emulated BIG-IPs. Raises :class:`ProcessFailed` before :meth:`start_devices`, and for
        other devices.
        """
        if not isinstance(self.side, BigipDevices):
            raise ProcessFailed(f"there is no emulator: the devices are of type {self.side.driver}")
        return self.side.emulator

    @property
    def controllers(self) -> tuple[str, ...]:
        """Root URLs of the controllers that have been started, sorted by process name."""
        return tuple(self._urls[name] for name in sorted(self._urls))

    @property
    def backend_ports(self) -> tuple[int, ...]:
        """Ports of 127.0.0.1 on which backends listen, by number."""
        return tuple(self._backend_ports[number] for number in sorted(self._backend_ports))

    def url(self, number: int) -> str:
        """Return the root URL of a controller that has been started."""
        return self._urls[controller_name(number)]

    def client(self, *numbers: int, timeout_seconds: float = 10.0) -> Client:
        """Return a client of the operators' API of the controllers with these numbers, or of all controllers
        if none is named.
        """
        urls = [self.url(number) for number in numbers] or self.controllers
        return Client(urls, timeout_seconds=timeout_seconds)

    async def get_json(self, path: str, **query: Any) -> Any:
        """Send a GET request to the operators' API of any controller that answers, and return the decoded
        JSON. Raises :class:`ClientError`.
        """
        return await asyncio.to_thread(self.client().get, f"{API_PATH}{path}", query)

    # -- starting

    async def start_devices(self) -> None:
        """Start the devices of the group, and wait until they answer. Raises :class:`ProcessFailed`."""
        await self.side.start()

    async def start_controller(self, number: int) -> str:
        """Start a controller, wait until its API answers, and return its root URL. Raises
        :class:`ProcessFailed`.
        """
        name = controller_name(number)
        file = self.workspace.announcement_path(f"{name}.url")
        known = self._urls.get(name, "")
        sections = merge_sections(
            {
                "DEFAULT": {
                    "transport_url": self.transport_url,
                    "environments": f"{self.environment}:{self.side.driver}",
                    "default_provider": self.environment,
                },
                "database": {"connection": self.database},
                "certificates": {
                    "key_manager": "directory",
                    "directory": self.directory / "certificates",
                    "directory_key_file": self._certificates_key,
                },
                "api": {
                    "bind_port": known.rpartition(":")[2] or 0,
                    "endpoint_file": file,
                    "allow_loopback_addresses": True,  # everything is on this host
                },
            },
            NO_QUOTAS,
            self._controller_options,
        )
        process = self.workspace.create_process(name, "evenkeel.cmd.controller", sections)
        await self.workspace.run(process, written_file_condition(file), "its URL")
        self._urls[name] = file.read_text().strip()
        limit = self.workspace.start_seconds
        await process.wait_until(self._answer_probe(number), "the API to answer", timeout_seconds=limit)
        return self._urls[name]

    async def start_agent(
        self, host: str, *, group: int = 1, options: Sections | None = None, module: str = "evenkeel.cmd.agent"
    ) -> None:
        """Start an agent, and wait until it has a live session. ``options``: ini sections for this agent;
        ``module``: the program. Raises :class:`ProcessFailed`.
        """
        sections = merge_sections(
            {
                "DEFAULT": {
                    "transport_url": self.transport_url,
                    "host": host,
                    "environment_prefix": self.environment,
                    "environment_group_number": group,
                    "device_driver": self.side.driver,
                }
            },
            await asyncio.to_thread(self.side.agent_sections, host),
            self._agent_options,
            options or {},
        )
        await self._wait_for_registration(host, self.workspace.create_process(agent_name(host), module, sections))

    async def _wait_for_registration(self, host: str, process: DemoProcess) -> None:
        # The session of a killed process is live until it expires, so only a new one shows that this process has
        # joined.
        sessions = await self._live_sessions(host)
        process.start()
        waiting = asyncio.get_running_loop().time() + self.workspace.start_seconds
        while not await self._live_sessions(host) - sessions:
            if not process.running or asyncio.get_running_loop().time() > waiting:
                raise process.failure("did not open a session")
            await asyncio.sleep(0.1)

    def duplicate_agent(self, host: str) -> DemoProcess:
        """Create a second process with the configuration of a host's agent, to test duplicates; not started yet."""
        file = self.directory / "etc" / f"{agent_name(host)}.ini"
        return self.workspace.get_process(
            f"{agent_name(host)}-twin", "evenkeel.cmd.agent", ["--config-file", str(file)]
        )

    async def start_backend(self, number: int) -> int:
        """Start a web server that answers with its name, and return its port on 127.0.0.1. Raises
        :class:`ProcessFailed`.
        """
        name = f"backend-{number}"
        file = self.workspace.announcement_path(f"{name}.port")
        port = self._backend_ports.get(number, 0)
        process = self.workspace.get_process(name, "evenkeel.demo.backend", [name, str(file), str(port)])
        await self.workspace.run(process, file.exists, "its port")
        self._backend_ports[number] = int(file.read_text())
        return self._backend_ports[number]

    async def start_again(self, name: str) -> None:
        """Restart a process that has ended, with the same configuration, and wait until it is ready; an agent
        keeps its options. Raises :class:`ProcessFailed`.
        """
        kind, _, which = name.partition("-")
        if name in self._starters:
            await self._starters[name]()
        elif kind == "agent":
            await self._wait_for_registration(which, self.processes[name])
        elif kind == "controller":
            await self.start_controller(int(which))
        elif kind == "backend":
            await self.start_backend(int(which))
        else:
            await self.start_devices()

    def add_starter(self, name: str, start: Callable[[], Awaitable[None]]) -> None:
        """Register ``start``, which starts a process outside of the cluster, for :meth:`start_again`."""
        self._starters[name] = start

    # -- ending

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a process; after SIGKILL wait until the process has ended."""
        if number == signal.SIGKILL:
            self.processes[name].kill()
        else:
            self.processes[name].send(number)

    def stop(self, name: str) -> None:
        """Terminate a process; kill it if it has not ended after
        :data:`~evenkeel.demo.processes.STOP_SECONDS`.
        """
        self.processes[name].stop()

    def close(self) -> None:
        """Stop all processes, agents first so that they can end their sessions, and close the device side.
        Processes that do not end in time are killed. Blocks. Raises :class:`ProcessFailed` if HAProxys
        could not be ended.
        """
        for prefix in ("agent-", "controller-", ""):
            stop_all([process for name, process in self.processes.items() if name.startswith(prefix)])
        self.side.close()

    def ended_processes(self) -> list[str]:
        """Return the names of processes that are not running."""
        return [name for name, process in self.processes.items() if not process.running]

    def failure_report(self, lines: int = 5) -> str:
        """Return the last ``lines`` lines of the log of every process except backends."""
        shown = [process for name, process in self.processes.items() if not name.startswith("backend-")]
        return "\n".join(f"--- {process.log} ({process.state})\n{process.tail(lines)}" for process in shown)

    # -- internals

    def _answer_probe(self, number: int) -> Callable[[], bool]:
        client = self.client(number, timeout_seconds=2.0)

        def answers() -> bool:
            try:
                client.get(f"{API_PATH}/environments")
            except ClientError:
                return False
            return True

        return answers

    async def _live_sessions(self, host: str) -> set[str]:
        """Return the start times of the live sessions of a host's agents."""
        agents = (await self.get_json("/agents"))["agents"]
        return {agent["session_started_at"] for agent in agents if agent["host"] == host and agent["alive"]}


def controller_name(number: int) -> str:
    """Return the process name of a controller. ``number``: counted from 1."""
    return f"controller-{number}"


def agent_name(host: str) -> str:
    """Return the process name of a host's agent."""
    return f"agent-{host}"
