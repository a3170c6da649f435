"""A daemon's core with real HAProxys in a folder of its own: members, clients and free addresses around it.

``EVENKEEL_TEST_HAPROXY`` names another HAProxy to run all of this with (:mod:`tests.services.haproxy`).
"""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import socket
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from evenkeel.core.networking.addresses import AddressRules
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.haproxy.processes import start_ticks
from evenkeel.haproxyd.haproxy.runtime.counters import PartitionCounters
from evenkeel.haproxyd.partition.guard import NotPartitionOwner
from evenkeel.haproxyd.partition.manager import PartitionManager
from evenkeel.haproxyd.partition.supervisor import PartitionSupervisor
from evenkeel.haproxyd.ports import PartitionEvent
from evenkeel.haproxyd.settings import DaemonSettings
from tests.devices.services import session_of
from tests.listening import StreamServer
from tests.services.haproxy import configured_binary
from tests.waiting import eventually

REQUEST_TIMEOUT_SECONDS = 30.0
VIP_PORT = 8080


def files_of(supervisor: PartitionSupervisor) -> PartitionStorage:
    """A partition on disk."""
    return supervisor._storage


def config_path(supervisor: PartitionSupervisor) -> Path:
    """The configuration that its HAProxy reads."""
    return files_of(supervisor).config_dir / "haproxy.cfg"


def free_vip() -> str:
    """An address of this host that nobody else uses."""
    while True:
        address = f"127.{random.randint(16, 250)}.{random.randint(1, 250)}.{random.randint(1, 250)}"
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind((address, VIP_PORT))
            return address


class Member:
    """A tiny web server that answers with its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.address = "127.0.0.1"
        self.port = 0
        self.hits = 0
        self._server: StreamServer | None = None

    async def start(self) -> None:
        self._server = await StreamServer.start(self._serve, self.address, self.port)
        self.port = self._server.port

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.hits += 1
                body = self.name.encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


class Client:
    """One keep-alive connection, opened anew when the other side says so; or one for each request."""

    def __init__(self, address: str, port: int = VIP_PORT, *, keep_alive: bool = False) -> None:
        self._where = (address, port)
        self._keep_alive = keep_alive
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, *headers: str) -> tuple[int, str]:
        """Status and body of one answer. Raises :class:`OSError` if there is none."""
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                return await self._get(headers)
        except (TimeoutError, asyncio.IncompleteReadError, OSError) as error:
            self.close()
            raise OSError(f"no answer: {error!r}") from error

    async def _get(self, headers: tuple[str, ...]) -> tuple[int, str]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._where)
        reader, writer = self._streams
        connection = "keep-alive" if self._keep_alive else "close"
        lines = ("GET / HTTP/1.1", "Host: test", f"Connection: {connection}", *headers, "", "")
        writer.write("\r\n".join(lines).encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        body = await reader.readexactly(length)
        if not self._keep_alive or "connection: close" in head:
            self.close()
        return int(head.split()[1]), body.decode()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def get(address: str, port: int = VIP_PORT) -> str:
    """What one request is answered: the member's name; or the status if it is none, or ``refused``."""
    try:
        status, body = await Client(address, port).get()
    except OSError:
        return "refused"
    return body if status == 200 else str(status)


class Traffic:
    """Requests without end, every one of which is counted."""

    def __init__(self, address: str, port: int = VIP_PORT, *, keep_alive: int = 4, one_shot: int = 4) -> None:
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []
        self._clients = [Client(address, port, keep_alive=True) for _ in range(keep_alive)]
        self._clients += [Client(address, port) for _ in range(one_shot)]
        self._ending = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def total(self) -> int:
        return self.answers.total() + len(self.failures)

    async def __aenter__(self) -> "Traffic":
        self._tasks = [asyncio.create_task(self._ask(client)) for client in self._clients]
        return self

    async def __aexit__(self, *details: object) -> None:
        self._ending = True
        await asyncio.gather(*self._tasks)
        for client in self._clients:
            client.close()

    async def more(self, requests: int) -> None:
        """Wait until that many more were made."""
        goal = self.total + requests
        await eventually(lambda: self.total >= goal)

    async def _ask(self, client: Client) -> None:
        while not self._ending:
            try:
                status, body = await client.get()
            except OSError as error:
                self.failures.append(str(error))
                continue
            if status == 200:
                self.answers[body] += 1
            else:
                self.failures.append(f"status {status}")


def server(member: Member, **changes) -> wire.BackendServer:
    values = {"name": member.name, "address": member.address, "port": member.port}
    return wire.BackendServer(**{**values, **changes})


def backend(name: str, *members: Member | wire.BackendServer, lines: tuple[str, ...] = (), **changes) -> wire.Backend:
    servers = tuple(one if isinstance(one, wire.BackendServer) else server(one) for one in members)
    return wire.Backend(name=name, lines=("balance roundrobin", *lines), servers=servers, **changes)


def load_balancer(
    name: str,
    vip: str,
    *members: Member | wire.BackendServer,
    revision: int = 1,
    port: int = VIP_PORT,
    lines: tuple[str, ...] = (),
    backend_lines: tuple[str, ...] = (),
    files: tuple[wire.File, ...] = (),
    maxconn: int | None = None,
    dynamic: bool = True,
) -> wire.LoadBalancerConfig:
    """One HTTP listener with one pool."""
    frontend = wire.Frontend(
        name=f"{name}_f",
        binds=(wire.Bind(address=vip, port=port),),
        maxconn=maxconn,
        lines=(*lines, f"default_backend {name}_b"),
    )
    pool = backend(f"{name}_b", *members, lines=backend_lines, dynamic=dynamic)
    return wire.LoadBalancerConfig(id=name, revision=revision, frontends=(frontend,), backends=(pool,), files=files)


class World:
    """A folder, its daemon's core, and members; everything ends with the world."""

    def __init__(self, directory: Path, **settings) -> None:
        values = {
            "name": "host-1",
            "state_dir": directory / "state",
            "run_dir": directory / "run",
            "haproxy": configured_binary(),
            "addresses": AddressRules(allow_loopback=True),
            # so long that no machine stands still for it
            **dict.fromkeys(("start_timeout_seconds", "reload_timeout_seconds", "check_timeout_seconds"), 120.0),
            **dict.fromkeys(("command_timeout_seconds", "guard_timeout_seconds"), 60.0),
        }
        self.directory = directory
        self.settings = DaemonSettings(**{**values, **settings})
        self.news: list[PartitionEvent] = []
        self.counters: dict[str, PartitionCounters] = {}
        self.partitions = self._new()
        self._members: list[Member] = []

    def _new(self) -> PartitionManager:
        return PartitionManager(self.settings, on_event=self.news.append, make_counters=self._make_counters)

    def _make_counters(self, name: str, directory: Path) -> PartitionCounters:
        self.counters[name] = PartitionCounters(name, directory)
        return self.counters[name]

    async def _forsake_counters(self) -> None:
        """As when their daemon is killed: nothing is saved, and connections to old workers are closed."""
        followed = [task for counters in self.counters.values() for task in counters._followed.values()]
        for task in followed:
            task.cancel()
        await asyncio.gather(*followed, return_exceptions=True)
        self.counters.clear()

    async def member(self, name: str) -> Member:
        """One more, which answers."""
        one = Member(name)
        await one.start()
        self._members.append(one)
        return one

    async def restart(self) -> None:
        """Another daemon takes over, as after a kill -9 of this one: nothing was said and nothing finished."""
        old = self.partitions
        for name in old.names():
            await forsake(old, name)
        await self._forsake_counters()
        self.partitions = self._new()
        await self.partitions.start()

    async def take_over(self, name: str, epoch: int, *, session_id: str = "", owner: str = "") -> wire.GuardState:
        """Move the guard; to the session that owns at this epoch, where a test does not say another."""
        wanted = wire.GuardState(epoch=epoch, session_id=session_id or session_of(epoch), owner=owner)
        return await self.partitions.take_over(name, wanted)

    async def put(self, name: str, *load_balancers: wire.LoadBalancerConfig, epoch: int = 1) -> wire.Receipt:
        return await self.change(name, complete=True, epoch=epoch, load_balancers=load_balancers)

    async def patch(
        self, name: str, *load_balancers: wire.LoadBalancerConfig, epoch: int = 1, removed: tuple[str, ...] = ()
    ) -> wire.Receipt:
        return await self.change(name, complete=False, epoch=epoch, load_balancers=load_balancers, removed=removed)

    async def change(self, name: str, *, complete: bool, epoch: int = 1, **fields) -> wire.Receipt:
        """As an owner does, who takes over if the guard is not its own."""
        own = {"session_id": session_of(epoch), "state_id": self.partitions.identity.state_id}
        change = wire.PartitionChange(epoch=epoch, **{**own, **fields})
        try:
            return await self.partitions.change(name, change, complete=complete)
        except NotPartitionOwner:
            await self.take_over(name, epoch)
            return await self.partitions.change(name, change, complete=complete)

    async def end(self) -> None:
        await self.partitions.stop_all()
        await self._forsake_counters()
        for folder in self.settings.partitions_dir.glob("*"):  # one that could not be read goes on otherwise
            told = PartitionStorage(folder, folder).read_running()
            if told.master_pid and start_ticks(told.master_pid) == told.master_started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(told.master_pid, signal.SIGTERM)
        for member in self._members:
            await member.stop()


async def forsake(partitions: PartitionManager, name: str) -> None:
    """Make a supervisor stop where it is."""
    supervisor = partitions.get(name)
    supervisor._closing = True
    supervisor._cancel_timer()
    if supervisor._task is not None:
        supervisor._task.cancel()
        await asyncio.gather(supervisor._task, return_exceptions=True)
    supervisor._runner.process.detach()


@contextlib.asynccontextmanager
async def world(**settings) -> AsyncIterator[World]:
    """A world with its daemon started. Its folder's name is short, because of the sockets in it; it is in memory, where
    keys are kept."""
    directory = Path(tempfile.mkdtemp(prefix="ek", dir=SHARED_MEMORY_DIR))
    made = World(directory, **settings)
    try:
        await made.partitions.start()
        yield made
    finally:
        await made.end()
        shutil.rmtree(directory, ignore_errors=True)


def errors(receipt: wire.Receipt) -> dict[str, str]:
    """Load balancers that were refused, and why."""
    return {outcome.load_balancer_id: outcome.error for outcome in receipt.outcomes if outcome.error}
