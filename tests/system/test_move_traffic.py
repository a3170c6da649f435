"""Clients connect all the time while a load balancer moves between two HAProxy hosts, and its VIP's route with it.

In real time: real HAProxys and their daemons in network namespaces, and the kernel's TCP.
"""

import asyncio
import contextlib
import shutil
import subprocess
import tempfile
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from emulator_tests.wired_site import Host, WiredSite, need_namespaces
from evenkeel.core.control.move_requests import MoveProgress, MoveRequest
from evenkeel.core.control.moves import MoveStep
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId
from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.ports import Device
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Member, Pool, Vip
from evenkeel.devices.haproxy import open_group
from evenkeel.devices.haproxy.driver import HaproxyGroup
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from evenkeel.haproxyd.haproxy.binary import SEARCH_PATH
from tests.haproxyd.daemonworld import PASSWORD, Daemon
from tests.listening import StreamServer
from tests.services.haproxy import configured_binary
from tests.services.process import free_port
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(
        configured_binary() is None and shutil.which("haproxy", path=SEARCH_PATH) is None, reason="no haproxy here"
    ),
]
VIP, MEMBER = "203.0.113.7", "10.0.0.21"
HOSTS = {"h0": "10.0.0.11", "k0": "10.0.0.12"}
"""Agents, each with the HAProxy host of its device group."""
CLIENTS, KEPT = 4, 2
"""Clients with a connection for each request, and clients that keep theirs."""


class HostDaemon(Daemon):
    """In the namespace of its host; reached through a port of this one."""

    host: Host

    def _launch(self) -> None:
        with self.host.namespace._inside(), (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)

    async def forward(self) -> StreamServer:
        """Pass connections on, as the network between agents and the host."""
        port = int(self.endpoint_file.read_text().rpartition(":")[2])

        async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there = await self.host.connect("127.0.0.1", port)
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

        return await StreamServer.start(passed)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while content := await reader.read(65_536):
            writer.write(content)
            await writer.drain()
    writer.close()


@dataclass
class Client:
    """Asks the VIP without a pause; counts answers and failures."""

    host: Host
    keeps: bool
    found: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        while True:
            try:
                reader, writer = await self.host.connect(VIP)
            except OSError:
                self.found["failed"] += 1
                continue
            try:
                while True:
                    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    head = await reader.readuntil(b"\r\n\r\n")
                    await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
                    self.found["200" if head.startswith(b"HTTP/1.1 200") else "failed"] += 1
                    if not self.keeps:
                        break
                    await asyncio.sleep(0.01)
            except (OSError, asyncio.IncompleteReadError):
                self.found["failed"] += 1
            finally:
                writer.transport.abort()


class HaproxyWorld(World):
    """An agent and a HAProxy host in each of two device groups."""

    device_driver = "haproxy"
    groups: list[HaproxyGroup]
    ports: dict[str, int]
    authorities: dict[str, Path]

    def _group_of(self, host: str) -> int:
        return 2 if host.startswith("k") else 1

    def _device_of(self, host: str) -> Device:
        options = {
            "haproxyd_url": f"https://127.0.0.1:{self.ports[host]}",
            "haproxyd_username": "agent-1",
            "haproxyd_password": PASSWORD,
            "ca_file": str(self.authorities[host]),
            "connect_timeout": "60",
            "request_timeout": "120",
        }
        made = open_group(options, environment=ENVIRONMENT, group_number=self._group_of(host), host=host)
        assert isinstance(made, HaproxyGroup)
        self.groups.append(made)
        return made

    async def serve(self) -> str:
        """A load balancer with a listener, a pool and a member."""
        own = {"project_id": "p1", "load_balancer_id": str(uuid.uuid4())}
        vip = Vip(address=VIP, subnet_id="s", network_id="n", port_id=str(uuid.uuid4()))
        pool = Pool(id=str(uuid.uuid4()), protocol="HTTP", lb_algorithm="ROUND_ROBIN", **own)
        listener = Listener(id=str(uuid.uuid4()), protocol="HTTP", protocol_port=80, default_pool_id=pool.id, **own)
        member = Member(id=str(uuid.uuid4()), pool_id=pool.id, address=MEMBER, protocol_port=8080, **own)
        root = LoadBalancer(id=own["load_balancer_id"], project_id="p1", vip=vip, provider=ENVIRONMENT)
        tree = LoadBalancerTree(load_balancer=root, listeners=(listener,), pools=(pool,), members=(member,))
        plan = VipPlan(subnet_id="s", network_id="n", port_id=vip.port_id, address=VIP)
        await self.controllers["c0"].driver.change_accepted(
            await self.store.tenants.create_load_balancer(tree, plan, [])
        )
        return root.id

    async def move(self, id_: str) -> None:
        request = MoveRequest(
            project_id=ProjectId("p1"),
            environment=ENVIRONMENT,
            group_number=2,
            load_balancer_ids=(LoadBalancerId(id_),),
            home_agent_id=AgentId(default_agent_id(ENVIRONMENT, 2, "k0")),
            whole_project=True,
            listening=(LoadBalancerId(id_),),
            target_listens=True,
            by_operator=(LoadBalancerId(id_),),
        )
        for change in await self.store.operators.begin_moves(request):
            await self.controllers["c0"].driver.change_accepted(change)

    async def progress(self, id_: str) -> MoveProgress:
        (found,) = await self.store.operators.moves(load_balancer_id=LoadBalancerId(id_))
        return found


@dataclass
class Site:
    """The world, its HAProxy hosts, and the host of the clients, which is their router, too."""

    world: HaproxyWorld
    hosts: dict[str, Host]
    clients: Host


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    need_namespaces()
    network = WiredSite()
    daemons: list[HostDaemon] = []
    forwards: list[asyncio.Server] = []
    world = HaproxyWorld(tmp_path)
    world.groups, world.ports, world.authorities = [], {}, {}
    folder = Path(tempfile.mkdtemp(prefix="ek", dir=SHARED_MEMORY_DIR))
    try:
        await network.server("member", f"{MEMBER}/24")
        clients = network.host("clients", "10.0.0.2/24")
        clients.run(f"route add 203.0.113.0/24 via {HOSTS['h0']}")
        hosts = {}
        for name, address in HOSTS.items():
            host = hosts[name] = network.host(name, f"{address}/24")
            host.run("route add local 203.0.113.0/24 dev lo")
            (folder / name).mkdir()
            daemon = HostDaemon(folder / name, name=name, bind_port=free_port())
            daemon.host = host
            daemons.append(daemon)
            await daemon.start()
            forwards.append(await daemon.forward())
            world.ports[name] = forwards[-1].port
            world.authorities[name] = daemon.files.authority
        await world.start(controllers=1, agents=1)
        yield Site(world, hosts, clients)
    finally:
        await world.close()
        for group in world.groups:
            await group.close()
        for forward in forwards:
            forward.close()
        for daemon in daemons:
            with daemon.host.namespace._inside():
                daemon.clean_up()
        await network.close()
        shutil.rmtree(folder, ignore_errors=True)


async def test_no_client_fails_more_than_once_while_a_load_balancer_moves(site: Site) -> None:
    world = site.world
    id_ = await world.serve()
    await eventually(lambda: world.active(id_))
    await world.start_agent("k0")
    clients = [Client(site.clients, keeps=number >= CLIENTS) for number in range(CLIENTS + KEPT)]
    asking = [asyncio.create_task(client.run()) for client in clients]

    async def asked(more: int) -> None:
        """All clients had so many answers more."""
        before = [client.found["200"] for client in clients]
        await eventually(lambda: all(one.found["200"] >= had + more for one, had in zip(clients, before, strict=True)))

    await asked(20)
    await world.move(id_)
    await eventually(lambda: is_at(world, id_, MoveStep.DRAINING))  # settled: no client may ever fail so far
    assert [client.found["failed"] for client in clients] == [0] * len(clients)
    await asked(20)
    site.clients.run(f"route replace {VIP}/32 via {HOSTS['k0']}")
    await asked(20)
    for change in await world.store.operators.end_move(LoadBalancerId(id_), back=False):
        await world.controllers["c0"].driver.change_accepted(change)
    await eventually(lambda: is_at(world, id_, MoveStep.DONE))
    await asked(20)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    failed = [client.found["failed"] for client in clients]
    # The one that is open when the route changes: the new host does not know it.
    assert max(failed) <= 1, failed
    assert (await world.progress(id_)).gap_seconds == 0.0
    assert await site.hosts["h0"].finds_nobody(VIP)
    assert await site.hosts["k0"].ask(VIP) == ["member"]


async def is_at(world: HaproxyWorld, id_: str, wanted: MoveStep) -> bool:
    return (await world.progress(id_)).step is wanted
