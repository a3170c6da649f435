"""What F5's agent made in global routed mode: its clients notice nothing, and all of it is accounted for."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator

from msgspec.structs import replace

from emulator_tests.client import Backend, Client, exchange, free_port
from emulator_tests.test_files import upload
from evenkeel.core.devices.service import ServiceDefinition
from icontrol_emulator import Emulator
from tests.certificates import by_sha256, certificate, referring
from tests.devices.bigip.f5_adoption import Scene, delete_everything, take_over, unaccounted
from tests.devices.bigip.f5_agent import services as f5_services
from tests.devices.bigip.f5_agent.identities import uuid_of, with_uuids
from tests.devices.bigip.f5_agent.links import Unit
from tests.devices.bigip.f5_agent.requests import replay
from tests.devices.bigip.f5_agent.scenes import Replay, of_everything
from tests.devices.bigip.f5_agent.tenants import Tenant
from tests.devices.bigip.f5_agent.tls import client_ssl_names
from tests.devices.bigip.network_world import VTEP
from tests.devices.bigip.rig import ENVIRONMENT, BigIpRig
from tests.devices.bigip.snapshots import snapshot
from tests.devices.services import PROJECT, batch, listener, member, monitor, pool, service
from tests.devices.tls_behaviour import SHOP, WWW, tls_listener
from tests.services.process import loopback_network
from tests.waiting import eventually

_KEYS = "https://keys.example/v1/containers"
CONTAINERS = {f"{_KEYS}/{uuid_of('tls-1')}": WWW, f"{_KEYS}/{uuid_of('tls-2')}": SHOP}
NAMED = {reference: certificate(issued) for reference, issued in CONTAINERS.items()}
TENANT = Tenant(id=PROJECT, prefix=ENVIRONMENT, bandwidth_mbps=200)
PAUSE_SECONDS = 0.02
"""Between the requests of a connection, which otherwise take the core from the device that is changed."""
ENOUGH = 4
ANSWER_SECONDS = 20.0


def vip() -> str:
    """The load balancer's address."""
    return f"{loopback_network()}.79.9"


class Visitors:
    """For each port one client on a connection that lasts, and one with a connection for each request."""

    def __init__(self, ports: dict[int, str]) -> None:
        self._ports = ports
        self._over = asyncio.Event()
        self.lasting = dict.fromkeys(ports, 0)
        self.short = dict.fromkeys(ports, 0)
        self.failures: list[str] = []

    def _tls(self, port: int) -> ssl.SSLContext | None:
        if not self._ports[port]:
            return None
        found = ssl.create_default_context()
        found.check_hostname, found.verify_mode = False, ssl.CERT_NONE
        return found

    async def _visit(self, port: int, counts: dict[int, int], requests: int | None) -> None:
        context = self._tls(port)
        name = self._ports[port] if context else None
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(vip(), port, ssl=context, server_hostname=name)
        try:
            while not self._over.is_set() and requests != 0:
                async with asyncio.timeout(ANSWER_SECONDS):
                    head, body = await exchange(reader, writer)
                if " 200 " not in head or body not in ("a", "b"):
                    self.failures.append(f"{port}: {head} {body}")
                counts[port] += 1
                await asyncio.sleep(PAUSE_SECONDS)
                requests = None if requests is None else requests - 1
        finally:
            writer.close()

    async def _repeat(self, port: int, counts: dict[int, int], requests: int | None) -> None:
        while not self._over.is_set():
            try:
                await self._visit(port, counts, requests)
            except (OSError, EOFError, TimeoutError, ValueError) as error:
                self.failures.append(f"{port}: {error!r}")
                return

    async def enough(self) -> None:
        before = {**self.lasting}, {**self.short}
        await eventually(
            lambda: (
                self.failures
                or all(
                    counts[port] >= count + ENOUGH
                    for counts, was in zip((self.lasting, self.short), before, strict=True)
                    for port, count in was.items()
                )
            )
        )

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, ports: dict[int, str]) -> AsyncIterator["Visitors"]:
        made = cls(ports)
        tasks = [
            asyncio.create_task(made._repeat(port, counts, requests))
            for port in ports
            for counts, requests in ((made.lasting, None), (made.short, 1))
        ]
        try:
            await made.enough()
            yield made
            await made.enough()
        finally:
            made._over.set()
            await asyncio.gather(*tasks)


def definition(servers: list[Backend], ports: list[int]) -> ServiceDefinition:
    """HTTP, TLS with two certificates, and TCP, and a listener of each other kind."""
    members = tuple(
        member(1, place, address="127.0.0.1", protocol_port=server.port) for place, server in enumerate(servers, 1)
    )
    default, other = NAMED
    front = tls_listener(
        id="listener-201",
        protocol_port=ports[1],
        default_pool_id="pool-201",
        default_tls_container_ref=default,
        sni_container_refs=(other,),
        alpn_protocols=(),
    )
    passing = listener(202, protocol="TCP", protocol_port=ports[2])
    first = pool(members=members, monitor=monitor(type="TCP"))
    plain = service(listeners=(listener(protocol_port=ports[0]),), pools=(first,))
    plain = replace(plain, vip=replace(plain.vip, address=vip()))
    more = [
        replace(
            first,
            id=f"pool-{number}",
            protocol=protocol,
            members=tuple(replace(each, id=f"{each.id}-{number}") for each in members),
            monitor=None,
        )
        for number, protocol in ((201, "HTTP"), (202, "TCP"))
    ]
    rich, plainer = of_everything(plain), with_uuids(replace(plain, listeners=(front, passing), pools=tuple(more)))
    both = replace(rich, listeners=(*rich.listeners, *plainer.listeners), pools=(*rich.pools, *plainer.pools))
    return referring(both, NAMED)


async def upload_files(rig: BigIpRig, wanted: ServiceDefinition) -> None:
    device = Client(rig.emulator.devices["bigip-1"].url, rig.emulator.ca_file)
    try:
        for each in wanted.listeners:
            for name, issued in zip(client_ssl_names(TENANT, each), CONTAINERS.values(), strict=False):
                await upload(device, f"{name}.crt", issued.pem)
                await upload(device, f"{name}.key", issued.key_pem())
    finally:
        await device.close()


async def test_nothing_that_f5s_agent_made_in_global_routed_mode_is_noticed_to_go() -> None:
    servers = [await Backend(name).start() for name in ("a", "b")]
    ports = [free_port(vip()) for _ in range(3)]
    async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
        rig = BigIpRig(emulator, "standalone")
        wanted = definition(servers, ports)
        scene = Scene(rig, Replay(TENANT, Unit(name="unit", vtep=VTEP), [wanted]))
        await upload_files(rig, wanted)
        await scene.build()
        await replay(emulator, f5_services.give_flavor(TENANT, wanted))
        owner = rig.owner(allow_loopback_addresses="true")
        certificates = by_sha256(NAMED)
        async with Visitors.of({ports[0]: "", ports[1]: "shop.example.org", ports[2]: ""}) as visitors:
            services, (plan,) = await take_over(owner, [wanted], certificates)
            complete = batch(*services, complete=True, certificates=certificates)
            await owner.apply(complete)
        assert not visitors.failures
        assert not plan.left
        assert unaccounted(scene.made, plan, await snapshot(emulator)) == []
        (then,) = await owner.plan(complete)
        assert not then.operations and not then.left
        await delete_everything(owner, services)
        assert await scene.rest() == {}
        await rig.close()
    for server in servers:
        await server.stop()
