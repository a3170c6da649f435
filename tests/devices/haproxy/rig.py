"""HAProxys for tests: real ones behind real daemons, agents that reach them, and a pair of hands that changes things.

Several daemons on one host cannot listen at one address. So each gets addresses of its own: those that service
definitions name are replaced on the way to it.
"""

import asyncio
import random
import re
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from evenkeel.core.networking.addresses import AddressRules
from evenkeel.core.ports import Device
from evenkeel.devices.haproxy import open_group
from evenkeel.devices.haproxy.client import DaemonClient
from evenkeel.devices.haproxy.driver import HaproxyGroup
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.api.tls import CertificateFiles, make_certificates
from evenkeel.haproxyd.daemon import HaproxyDaemon
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from evenkeel.haproxyd.errors import HaproxyDown, PartitionUnknown
from evenkeel.haproxyd.settings import DaemonSettings
from tests.devices.owner import Owner
from tests.devices.services import PROJECT
from tests.haproxyd.quick_credentials import write_agent
from tests.services.haproxy import configured_binary
from tests.services.process import free_port
from tests.waiting import eventually

ENVIRONMENT = "dev"
PARTITION = f"{ENVIRONMENT}_{PROJECT}"
AGENT, PASSWORD = "agent-1", "correct horse battery"
FOREIGN = "hand-made"
PORT_BASES = 6_000, 13_000
"""Added to listeners' ports: below the ports that other servers of tests listen on, some of them at all addresses."""
MAINTENANCE = 0x01 | 0x02 | 0x20
"""Bits of an admin state: forced, inherited, or by a name that is not resolved."""


class Box:
    """One host: a daemon with its HAProxys."""

    def __init__(
        self, folder: Path, name: str, files: CertificateFiles, credentials: Path, program: Path | None
    ) -> None:
        self.folder = folder
        self._reservation, self.network = free_network()
        self._port_base = random.randint(*PORT_BASES)
        peers_port = random.randint(32_000, 32_600) if name == "one" else random.randint(32_601, 32_700)
        self._settings = DaemonSettings(
            name=name,
            state_dir=folder / "state",
            run_dir=folder / "r",
            haproxy=program or configured_binary(),
            addresses=AddressRules(allow_loopback=True),
            maxconn=2000,
            start_timeout_seconds=120.0,
            reload_timeout_seconds=120.0,
            command_timeout_seconds=60.0,
            guard_timeout_seconds=60.0,
            peers_address=f"127.{self.network}.0.1",
            peers_port_first=peers_port,
            peers_port_last=peers_port + 60,
            # daemons of all tests share this host's kernel
            nftables_table=f"evenkeel_{name}_{self.network}",
        )
        self._http = HttpSettings(
            certificate=files.certificate,
            key=files.key,
            credentials_file=credentials,
            host="127.0.0.1",
            port=free_port(),  # none that the kernel gives to somebody else while the daemon is away
        )
        self.host = ""
        self.daemon: HaproxyDaemon | None = None

    @property
    def running(self) -> HaproxyDaemon:
        """The daemon, which must be up."""
        assert self.daemon is not None
        return self.daemon

    async def start(self) -> None:
        """Again at the same place, if it was up before."""
        self.daemon = HaproxyDaemon(self._settings, self._http)
        self.host = (await self.daemon.start()).removeprefix("https://")

    async def stop(self) -> None:
        """The daemon only; HAProxys go on."""
        if self.daemon is not None:
            await self.daemon.stop()
            self.daemon = None

    async def end(self) -> None:
        """All of it."""
        if self.daemon is None:
            await self.start()
        await self.running.partitions.stop_all()
        await self.stop()
        self._reservation.close()

    # -- addresses

    def moved(self, address: str, port: int) -> tuple[str, int]:
        """Where the box listens instead."""
        if address == "::1":
            return address, self._port_base + port
        if not address.startswith("10.1."):
            return address, port
        return f"127.{self.network}.{address.removeprefix('10.1.')}", self._port_base + port

    def moved_back(self, address: str, port: int) -> tuple[str, int]:
        """What the service definition names."""
        if address == "::1":
            return address, port - self._port_base
        if not address.startswith(f"127.{self.network}."):
            return address, port
        return f"10.1.{address.removeprefix(f'127.{self.network}.')}", port - self._port_base

    def change(self, change: wire.PartitionChange) -> wire.PartitionChange:
        """The same for the box's addresses."""
        balancers = tuple(_at(self.moved, one) for one in change.load_balancers)
        return msgspec.structs.replace(change, load_balancers=balancers)

    # -- hands

    @property
    def directory(self) -> Path:
        return self.folder / "state" / "partitions" / PARTITION

    @property
    def configuration(self) -> Path:
        return self.directory / "conf" / "haproxy.cfg"

    async def tell(self, command: str) -> str:
        """What the running HAProxy answers; nothing if there is none."""
        try:
            return await self.running.partitions.get(PARTITION).cli.command(command)
        except (PartitionUnknown, HaproxyDown):
            return ""

    async def content(self) -> dict[str, Any]:
        try:
            partition = self.running.partitions.get(PARTITION)
        except PartitionUnknown:
            return {}
        # files for the next start are written after the response
        await eventually(lambda: partition.settled_pass_count is not None)
        held = self.running.partitions.show(PARTITION).load_balancers
        return {
            **{f"held {one.id}": msgspec.to_builtins(one) for one in held},
            **self._sections(),
            **await self._servers({backend.name for one in held for backend in one.backends}),
        }

    def _sections(self) -> dict[str, Any]:
        """What is on disk of frontends and backends."""
        if not self.configuration.exists():
            return {}
        text = self.configuration.read_text()
        found = re.findall(r"^((?:frontend|backend) \S+)\n((?:[ \t].*\n)*)", text, re.MULTILINE)
        return {f"file {name}": lines.strip() for name, lines in found}

    async def _servers(self, backends: set[str]) -> dict[str, Any]:
        """Servers as they run. One in maintenance that nobody knows of waits for the next reload to go."""
        held = self.running.partitions.show(PARTITION).load_balancers
        known = {(each.name, server.name) for one in held for each in one.backends for server in each.servers}
        found = {}
        for fields in filter(None, map(str.split, (await self.tell("show servers state")).splitlines()[2:])):
            backend, name, address, admin, weight = fields[1], fields[3], fields[4], int(fields[6]), fields[7]
            down = bool(admin & MAINTENANCE)
            if backend in backends and not (down and (backend, name) not in known):
                found[f"running {backend}/{name}"] = (address, weight, down)
        return found

    async def spoil(self) -> None:
        text = self.configuration.read_text()
        text = text.replace("balance roundrobin", "balance leastconn").replace("weight 1", "weight 7")
        self.configuration.write_text(text)
        for command in (
            "set server pool-1/member-1-1 weight 9",
            "set server pool-1/member-1-2 state maint",
            "set server pool-1/member-1-3 addr 10.9.9.9 port 99",
        ):
            await self.tell(command)

    def add_foreign(self) -> None:
        (self.directory / "local.cfg").write_text(f"backend {FOREIGN}\n    server {FOREIGN} 10.9.9.9:80\n")

    def foreign(self) -> dict[str, Any]:
        return {"local.cfg": (self.directory / "local.cfg").read_text()}


def free_network() -> tuple[socket.socket, int]:
    """The second byte of addresses 127.x that no other box has, of this process or another one, until the socket is
    closed."""
    for network in random.SystemRandom().sample(range(16, 251), k=235):
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0evenkeel-test-network-{network}")
        except OSError:
            reservation.close()
            continue
        return reservation, network
    raise RuntimeError("all networks of loopback addresses are in use")


def _at(moved: Callable[[str, int], tuple[str, int]], config: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
    """The load balancer with other addresses."""

    def elsewhere(binds: tuple[wire.Bind, ...]) -> tuple[wire.Bind, ...]:
        places = (moved(bind.address, bind.port) for bind in binds)
        return tuple(wire.Bind(address=address, port=port) for address, port in places)

    frontends = tuple(msgspec.structs.replace(each, binds=elsewhere(each.binds)) for each in config.frontends)
    datagrams = tuple(msgspec.structs.replace(each, binds=elsewhere(each.binds)) for each in config.datagram_listeners)
    return msgspec.structs.replace(config, frontends=frontends, datagram_listeners=datagrams)


class MovedDaemon(DaemonClient):
    """A driver's connection to a box, with the addresses in what it sends replaced, and in what it reads."""

    box: Box

    async def held_load_balancers(self, partition: str) -> tuple[wire.LoadBalancerConfig, ...]:
        return tuple(_at(self.box.moved_back, one) for one in await super().held_load_balancers(partition))

    async def put(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        return await super().put(partition, self.box.change(change))

    async def patch(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        return await super().patch(partition, self.box.change(change))


class HaproxyRig:
    """Boxes of one group."""

    def __init__(self, boxes: tuple[Box, ...], files: CertificateFiles, ha_type: str) -> None:
        self.boxes = boxes
        self.files = files
        self.ha_type = ha_type
        self.agents: list[HaproxyGroup] = []

    @property
    def box(self) -> Box:
        return self.boxes[0]

    def options(self, **changes: str) -> dict[str, str]:
        return {
            "haproxyd_url": ",".join(f"https://{box.host}" for box in self.boxes),
            "haproxyd_username": AGENT,
            "haproxyd_password": PASSWORD,
            "ha_type": self.ha_type,
            "ca_file": str(self.files.authority),
            "connect_timeout": "60",
            "request_timeout": "120",
            **changes,
        }

    def agent(self, *, environment: str = ENVIRONMENT, group_number: int = 1, **changes: str) -> Device:
        host = f"host-{len(self.agents) + 1}"
        group = open_group(self.options(**changes), environment=environment, group_number=group_number, host=host)
        assert isinstance(group, HaproxyGroup)
        for device in group._devices:
            device.daemon.__class__ = MovedDaemon
            device.daemon.box = next(box for box in self.boxes if box.host == device.host)  # type: ignore[attr-defined]
        self.agents.append(group)
        return group

    def owner(self, **changes: Any) -> Owner:
        """An agent that takes over where it must."""
        return Owner(self.agent(**changes))

    # -- what the contract asks for

    async def content(self) -> dict[str, Any]:
        return await self.box.content()

    async def spoil(self) -> None:
        for box in self.boxes:
            await box.spoil()

    async def add_foreign(self) -> None:
        for box in self.boxes:
            box.add_foreign()

    async def foreign(self) -> dict[str, Any]:
        return {box.host: box.foreign() for box in self.boxes}

    async def close(self) -> None:
        await asyncio.gather(*(agent.close() for agent in self.agents))
        await asyncio.gather(*(box.end() for box in self.boxes))


@asynccontextmanager
async def haproxy(*names: str, program: Path | None = None) -> AsyncIterator[HaproxyRig]:
    """A running group, of as many boxes as there are names. Its folder's name is short, because of sockets in it.

    ``program``: another HAProxy than the usual one.
    """
    folder = Path(tempfile.mkdtemp(prefix="ek", dir=SHARED_MEMORY_DIR))
    files = make_certificates(folder / "tls", ["127.0.0.1", "localhost"])
    credentials = folder / "credentials"
    write_agent(credentials, AGENT, PASSWORD)
    boxes = tuple(Box(folder / str(place), name, files, credentials, program) for place, name in enumerate(names))
    rig = HaproxyRig(boxes, files, "standalone" if len(names) == 1 else "pair")
    try:
        for box in boxes:
            await box.start()
        yield rig
    finally:
        await rig.close()
        shutil.rmtree(folder, ignore_errors=True)
