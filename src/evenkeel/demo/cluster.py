"""A whole Even Keel on this machine: emulated devices, controllers, agents and backends, one real process each.

The demo and the acceptance tests start it. By default it is the embedded way to run (SQLite, embedded bus); given a
database and a transport URL the same processes run on servers. Everything is written below one directory.
"""

import asyncio
import json
import secrets
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenkeel.cli.client import API, Client, ClientError
from evenkeel.demo.configuration import Sections, ini, merged
from evenkeel.demo.devices import Emulator
from evenkeel.demo.processes import Process, ProcessFailed, stop_all

START_SECONDS = 60.0
USER = "admin"


class Cluster:
    """Starts, kills and restarts processes by name: ``devices``, ``controller-1``, ``agent-host-1``, ``backend-1``.

    ``controller_options`` and ``agent_options`` are ini sections laid over what the cluster sets itself. A process
    keeps its ports when it is started again. Not for several threads.
    """

    def __init__(
        self,
        directory: Path,
        *,
        environment: str = "demo",
        database: str | None = None,
        transport_url: str | None = None,
        device_names: Sequence[str] = ("bigip-1", "bigip-2"),
        emulator_arguments: Sequence[str] = (),
        controller_options: Sections | None = None,
        agent_options: Sections | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.directory = directory.resolve()
        self.environment = environment
        self.database = database or f"sqlite:///{self.directory}/evenkeel.db"
        self.transport_url = transport_url or f"embedded://{self.directory}/bus.db"
        self.processes: dict[str, Process] = {}
        self._device_names = tuple(device_names)
        self._emulator_arguments = tuple(emulator_arguments)
        self._controller_options = controller_options or {}
        self._agent_options = agent_options or {}
        self._start_seconds = start_seconds
        self._urls: dict[str, str] = {}
        self._backend_ports: dict[int, int] = {}
        self._emulator: Emulator | None = None
        self._password = secrets.token_urlsafe(12)
        for part in ("logs", "etc", "run"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)
        self._password_file = self.directory / "etc" / "icontrol-password"
        self._password_file.touch(mode=0o600)
        self._password_file.write_text(self._password + "\n")

    # -- what there is

    @property
    def emulator(self) -> Emulator:
        """The devices, seen from outside. :meth:`start_devices` came first."""
        if self._emulator is None:
            raise ProcessFailed("the devices have not been started")
        return self._emulator

    @property
    def controllers(self) -> tuple[str, ...]:
        """Root URLs of the controllers that have been started."""
        return tuple(self._urls[name] for name in sorted(self._urls))

    @property
    def backend_ports(self) -> tuple[int, ...]:
        """Ports of 127.0.0.1 on which backends listen, by number."""
        return tuple(self._backend_ports[number] for number in sorted(self._backend_ports))

    def url(self, number: int) -> str:
        """Root URL of a controller that has been started."""
        return self._urls[controller_name(number)]

    def client(self, *numbers: int, timeout_seconds: float = 10.0) -> Client:
        """A client of the operators' API of these controllers; none named: of all."""
        urls = [self.url(number) for number in numbers] or self.controllers
        return Client(urls, timeout_seconds=timeout_seconds)

    async def ask(self, path: str, **query: Any) -> Any:
        """Read from the operators' API, whichever controller answers."""
        return await asyncio.to_thread(self.client().get, f"{API}{path}", query)

    # -- starting

    async def start_devices(self) -> Emulator:
        """The emulator with all devices of the group."""
        state = self.directory / "devices"
        arguments = ["--state-dir", str(state), "--user", f"{USER}:{self._password}"]
        arguments += ["--ha", "pair" if len(self._device_names) > 1 else "standalone"]
        for name in self._device_names:
            arguments += ["--device", f"{name}@127.0.0.1:{self._device_port(name)}"]
        announced = state / "endpoints.json"
        announced.unlink(missing_ok=True)
        process = self._process("devices", "icontrol_emulator", [*arguments, *self._emulator_arguments])
        await self._run(process, announced.exists, "devices to listen")
        self._emulator = Emulator.announced(json.loads(announced.read_text()), user=USER, password=self._password)
        return self._emulator

    async def start_controller(self, number: int) -> str:
        """Start it and wait until its API answers. Returns its root URL."""
        name = controller_name(number)
        announced = self.directory / "run" / f"{name}.url"
        announced.unlink(missing_ok=True)
        known = self._urls.get(name, "")
        sections = merged(
            {
                "DEFAULT": {
                    "transport_url": self.transport_url,
                    "environments": f"{self.environment}:bigip",
                    "default_provider": self.environment,
                },
                "database": {"connection": self.database},
                "api": {"bind_port": known.rpartition(":")[2] or 0, "endpoint_file": announced},
            },
            self._controller_options,
        )
        process = self._configured(name, "evenkeel.cmd.controller", sections)
        await self._run(process, lambda: announced.exists() and bool(announced.read_text().strip()), "its URL")
        self._urls[name] = announced.read_text().strip()
        await process.until(self._answers(number), "the API to answer", timeout_seconds=self._start_seconds)
        return self._urls[name]

    async def start_agent(self, host: str, *, group: int = 1, options: Sections | None = None) -> None:
        """Start it and wait until the controllers see it alive."""
        sections = merged(
            {
                "DEFAULT": {
                    "transport_url": self.transport_url,
                    "host": host,
                    "environment_prefix": self.environment,
                    "environment_group_number": group,
                    "device_driver": "bigip",
                },
                "bigip": {
                    "icontrol_hostname": [device.address for device in self.emulator.devices],
                    "icontrol_username": USER,
                    "icontrol_password_file": self._password_file,
                    "f5_ha_type": "pair" if len(self._device_names) > 1 else "standalone",
                    "ca_file": self.emulator.ca_file,
                },
            },
            self._agent_options,
            options or {},
        )
        await self._join(host, self._configured(agent_name(host), "evenkeel.cmd.agent", sections))

    async def _join(self, host: str, process: Process) -> None:
        sessions = await self._sessions(host)
        process.start()
        waiting = asyncio.get_running_loop().time() + self._start_seconds
        while not await self._sessions(host) - sessions:
            if not process.running or asyncio.get_running_loop().time() > waiting:
                raise process.failure("did not open a session")
            await asyncio.sleep(0.1)

    def twin(self, host: str) -> Process:
        """A second process with the configuration of a host's agent, which must not be; not started yet."""
        file = self.directory / "etc" / f"{agent_name(host)}.ini"
        return self._process(f"{agent_name(host)}-twin", "evenkeel.cmd.agent", ["--config-file", str(file)])

    async def start_backend(self, number: int) -> int:
        """A web server that answers its name. Returns its port on 127.0.0.1."""
        name = f"backend-{number}"
        announced = self.directory / "run" / f"{name}.port"
        announced.unlink(missing_ok=True)
        port = self._backend_ports.get(number, 0)
        process = self._process(name, "evenkeel.demo.backend", [name, str(announced), str(port)])
        await self._run(process, announced.exists, "its port")
        self._backend_ports[number] = int(announced.read_text())
        return self._backend_ports[number]

    async def start_again(self, name: str) -> None:
        """Start a process that has ended, as it was, and wait until it is ready."""
        kind, _, which = name.partition("-")
        if kind == "agent":
            await self._join(which, self.processes[name])
        elif kind == "controller":
            await self.start_controller(int(which))
        elif kind == "backend":
            await self.start_backend(int(which))
        else:
            await self.start_devices()

    # -- ending

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a process; SIGKILL returns when it is gone."""
        if number == signal.SIGKILL:
            self.processes[name].kill()
        else:
            self.processes[name].send(number)

    def stop(self, name: str) -> None:
        """Let it end by itself, insist if it does not."""
        self.processes[name].stop()

    def close(self) -> None:
        """End everything, agents first so that they can say goodbye."""
        for prefix in ("agent-", "controller-", ""):
            stop_all([process for name, process in self.processes.items() if name.startswith(prefix)])

    def ended(self) -> list[str]:
        """Names of processes that are not running."""
        return [name for name, process in self.processes.items() if not process.running]

    def autopsy(self, lines: int = 5) -> str:
        """The last words of every controller, agent and device."""
        shown = [process for name, process in self.processes.items() if not name.startswith("backend-")]
        return "\n".join(f"--- {process.log} ({process.state})\n{process.tail(lines)}" for process in shown)

    # -- internals

    def _device_port(self, name: str) -> int:
        known = {} if self._emulator is None else {device.name: device.port for device in self._emulator.devices}
        return known.get(name, 0)

    def _process(self, name: str, module: str, arguments: Sequence[str]) -> Process:
        process = self.processes.get(name)
        if process is None or not process.running:
            log = self.directory / "logs" / f"{name}.log"
            process = self.processes[name] = Process(name, [sys.executable, "-m", module, *arguments], log=log)
        return process

    def _configured(self, name: str, module: str, sections: Mapping[str, Mapping[str, object]]) -> Process:
        file = self.directory / "etc" / f"{name}.ini"
        file.touch(mode=0o600)  # URLs may hold passwords
        file.write_text(ini(sections))
        return self._process(name, module, ["--config-file", str(file)])

    async def _run(self, process: Process, ready: Callable[[], bool], what: str) -> None:
        process.start()
        await process.until(ready, what, timeout_seconds=self._start_seconds)

    def _answers(self, number: int) -> Callable[[], bool]:
        client = self.client(number, timeout_seconds=2.0)

        def answers() -> bool:
            try:
                client.get(f"{API}/environments")
            except ClientError:
                return False
            return True

        return answers

    async def _sessions(self, host: str) -> set[str]:
        """The beginnings of the live sessions of a host's agents."""
        agents = (await self.ask("/agents"))["agents"]
        return {agent["session_started_at"] for agent in agents if agent["host"] == host and agent["alive"]}


def controller_name(number: int) -> str:
    """The process name of a controller, counted from 1."""
    return f"controller-{number}"


def agent_name(host: str) -> str:
    """The process name of a host's agent."""
    return f"agent-{host}"
