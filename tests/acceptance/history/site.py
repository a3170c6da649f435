"""Where faults happen: the processes of one run, the servers they need, and the cables between."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Any, Protocol

from evenkeel.cli.client import ClientError
from evenkeel.demo.cluster import Cluster, agent_name, controller_name
from evenkeel.demo.processes import ProcessFailed
from tests.acceptance.history.events import History
from tests.acceptance.history.wire import Wire
from tests.services.rabbitmq import RabbitMQ

HOSTS = ("host-1", "host-2", "host-3", "host-4")
CONTROLLERS = (1, 2, 3)
END_SECONDS = 90.0
"""An init system waits for so long."""
ATTEMPTS = 10


class Server(Protocol):
    """A database server of :mod:`tests.services`. All methods block."""

    port: int

    def start(self) -> None:
        """Start it and wait until it serves."""

    def kill(self) -> None:
        """kill -9."""

    def stop(self) -> None:
        """Stop it properly."""


class Site:
    """Three controllers, four agents (each behind a cable of its own), a pair of devices, a broker, a database."""

    def __init__(self, cluster: Cluster, broker: RabbitMQ, database: Server, history: History) -> None:
        self.cluster = cluster
        self.broker = broker
        self.database = database
        self.history = history
        self.wires = {host: Wire(broker.port) for host in HOSTS}
        self.down: set[str] = set()
        """Processes that are not running because we ended them."""
        self._hosts: dict[str, str] = {}

    async def start(self) -> None:
        """Everything but the servers, which run."""
        await self.cluster.start_devices()
        await asyncio.gather(*(self.cluster.start_controller(number) for number in CONTROLLERS))
        for host, wire in self.wires.items():
            await wire.start()
            url = self.broker.url.replace(f":{self.broker.port}/", f":{wire.port}/")
            await self.cluster.start_agent(host, options={"DEFAULT": {"transport_url": url}})
        self._hosts = {agent["id"]: agent["host"] for agent in (await self.cluster.get_json("/agents"))["agents"]}

    async def close(self) -> None:
        """End everything but the servers."""
        await asyncio.to_thread(self.cluster.close)
        for wire in self.wires.values():
            await wire.close()

    async def serving(self) -> dict[str, dict[str, int]]:
        """Host -> project -> epoch of what its agent serves; empty if nobody can tell."""
        try:
            shards = (await self.cluster.get_json("/shards"))["shards"]
        except ClientError:
            return {}
        found: dict[str, dict[str, int]] = {host: {} for host in HOSTS}
        for shard in shards:
            host = self._hosts.get(shard["acting_agent_id"] or "")
            if host and shard["project_id"] and not shard["handover_to"]:
                found[host][shard["project_id"]] = shard["epoch"]
        return found

    # -- ends and beginnings of processes

    def end(self, name: str) -> None:
        """kill -9."""
        self.down.add(name)
        self.cluster.kill(name)

    def ask_to_end(self, name: str) -> None:
        """SIGTERM."""
        self.down.add(name)
        self.cluster.kill(name, signal.SIGTERM)

    async def ended(self, name: str) -> bool:
        """Wait until it is gone; False: it had to be killed."""
        process = self.cluster.processes[name]
        in_time = await asyncio.to_thread(process.wait, END_SECONDS)
        if not in_time:
            await asyncio.to_thread(process.kill)
        return in_time

    async def begin(self, name: str) -> None:
        """Start it again, and wait until it does its work; however often that takes."""
        if name.startswith("controller-"):
            # Not started yet: a controller starts with the configuration that start_controller writes.
            self.down.discard(name)
        else:
            self.cluster.processes[name].start()
            self.down.discard(name)
        for attempt in range(ATTEMPTS):
            try:
                if name.startswith("controller-"):
                    await self.cluster.start_controller(int(name.rpartition("-")[2]))
                else:
                    await self._alive(name.removeprefix("agent-"))
                return
            except (ProcessFailed, ClientError) as error:
                if attempt == ATTEMPTS - 1:
                    raise
                self.history.add("trouble", target=name, reason=str(error)[-500:])

    async def _alive(self, host: str) -> None:
        """Wait until the controllers see a live session of the host's agent, one that began after the last."""
        while True:
            with contextlib.suppress(ClientError):
                agents = (await self.cluster.get_json("/agents"))["agents"]
                if any(agent["host"] == host and agent["alive"] for agent in agents):
                    return
            await asyncio.sleep(0.2)

    async def watch_ends(self) -> None:
        """Note processes that end by themselves, and start them again as an init system would."""
        while True:
            for name in self.cluster.ended_processes():
                if name not in self.down:
                    process = self.cluster.processes[name]
                    self.history.add("exited", target=name, state=process.state, tail=process.tail(8))
                    process.start()
            await asyncio.sleep(0.2)

    # -- devices

    async def devices(self, method: str, path: str, body: Any = None) -> Any:
        """A call of the emulator's control API."""
        return await asyncio.to_thread(self.cluster.emulator.control, method, path, body)


Blocking = Callable[[], None]

__all__ = ["CONTROLLERS", "HOSTS", "Site", "agent_name", "controller_name"]
