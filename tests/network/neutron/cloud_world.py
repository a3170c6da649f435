"""Our API, controllers and agents beside a real Neutron, whose agents ours are too, with a pair of BIG-IPs on a switch.

Where this process cannot have networks of its own, the devices have no data plane, and :attr:`CloudWorld.site` is None.
"""

import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from sqlalchemy import func, select

from emulator_tests.wired_site import WiredSite
from evenkeel.agent.watched_device import notify_after_changes
from evenkeel.api.app import create_app
from evenkeel.cmd.agent import MovedNetworksCallback
from evenkeel.core.ports import Device
from evenkeel.network.neutron.client import NeutronClient
from evenkeel.network.neutron.driver import NeutronNetwork
from evenkeel.neutron_agent.service import NeutronAgent
from evenkeel.neutron_agent.settings import LB_AGENT, OVS_AGENT, AgentFacts, NeutronAgentSettings
from evenkeel.store.records import schema
from icontrol_emulator import Emulator
from icontrol_emulator.wiring import namespaces
from tests.api.client import Client
from tests.devices.bigip.network_world import make_vtep
from tests.devices.bigip.rig import BigIpRig, Hands
from tests.network.conftest import session_to
from tests.network.neutron_server.sharing import NeutronPlace
from tests.system.test_removed_partitions import DEVICES, PairWorld
from tests.system.world import ENVIRONMENT

DEVICE_ENDS = ("192.0.2.1", "192.0.2.2")
"""Where the devices' tunnels end."""
UNDERLAY = 4000
TIMEOUT_SECONDS = 60.0
"""Of calls to Neutron."""
TABLES = (
    schema.attached_network,
    schema.common_network,
    schema.route_domain,
    schema.device_address,
    schema.device_port,
    schema.vip_claim,
)
"""What is stored of networks and of ports as long as a load balancer needs them."""


class CloudWorld(PairWorld):
    """The agents share a host at Neutron, to which it binds the ports of VIPs and of devices' addresses."""

    options: Mapping[str, str] = {}
    """Of the agents."""
    site: WiredSite | None = None

    def __init__(self, directory: Path, place: NeutronPlace) -> None:
        super().__init__(directory)
        self.place = place
        self.host = f"bigips-{uuid.uuid4().hex[:8]}"
        self.flat_network = f"flat-{uuid.uuid4().hex[:8]}"
        """A physical network without tags, of which Neutron can have one network only."""
        self.clients: list[Client] = []
        self.reporting: dict[str, NeutronAgent] = {}
        self._moved: dict[str, MovedNetworksCallback] = {}

    def new_network(self, client: NeutronClient | None = None) -> NeutronNetwork:
        """Neutron, as a controller has it."""
        client = client or NeutronClient(session_to(self.place.url))
        return NeutronNetwork(client, self.store.claims, self.store.device_ports, timeout_seconds=TIMEOUT_SECONDS)

    def _device_of(self, host: str) -> Device:
        device = self.rig.agent(
            environment=ENVIRONMENT,
            port_binding_host=self.host,
            f5_external_physical_mappings=f"physnet1:1.1:True, {self.flat_network}:1.2:False",
            **self.options,
        )
        settings = NeutronAgentSettings(
            host=self.host,
            transport_url=self.place.bus,
            agent_types=(LB_AGENT, OVS_AGENT),
            report_interval_seconds=3.0,
        )
        facts = AgentFacts(environment=ENVIRONMENT, group_number=1, device_driver="bigip")
        moved = self._moved[host] = MovedNetworksCallback()
        reporting = self.reporting[host] = NeutronAgent(settings, facts, device, moved)
        return notify_after_changes(device, reporting.report_when_bound)

    async def start_agent(self, host: str) -> None:
        await super().start_agent(host)
        self._moved[host].tell = self.agents[host].note_moved_networks
        self.reporting[host].start()

    async def start_controller(self, name: str) -> None:
        """With the API, which was that of the one before."""
        await super().start_controller(name)
        assert self.network is not None
        driver = self.controllers[name].driver
        app = create_app(store=self.store, network=self.network, driver=driver, default_provider=ENVIRONMENT)
        self.clients.append(Client.of(app))

    async def kill_controller(self, name: str) -> None:
        """In the middle of whatever it does."""
        await self.controllers.pop(name).stop()
        self._buses[name].abandon()

    @property
    def api(self) -> Client:
        """Of the controller that was started last."""
        return self.clients[-1]

    async def _end(self, hosts: Iterable[str]) -> None:
        names = list(hosts)
        await super()._end(names)
        for reporting in (self.reporting.pop(name, None) for name in names):
            if reporting is not None:
                await reporting.stop()

    async def is_active(self, load_balancer_id: str) -> bool:
        shown = (await self.api.get(f"/loadbalancers/{load_balancer_id}"))["loadbalancer"]
        return bool(shown["provisioning_status"] == "ACTIVE")

    async def is_gone(self, load_balancer_id: str) -> bool:
        answer = await self.api.http.get(f"/v2/lbaas/loadbalancers/{load_balancer_id}")
        return answer.status_code == 404

    async def kept(self) -> dict[str, int]:
        """How much is stored of networks and of ports."""
        counts = [select(func.count()).select_from(table).scalar_subquery() for table in TABLES]
        found = await self.store.database.read(lambda connection: connection.execute(select(*counts)).one())
        return {table.name: count for table, count in zip(TABLES, found, strict=True) if count}

    def hands(self) -> dict[str, Hands]:
        """On each device."""
        return {name: Hands(self.emulator, name) for name in DEVICES}

    async def close(self) -> None:
        await super().close()
        for client in self.clients:
            await client.http.aclose()


@asynccontextmanager
async def cloud_world(directory: Path, place: NeutronPlace, options: Mapping[str, str]) -> AsyncIterator[CloudWorld]:
    """A world that is not started; its devices have what operators make for tunnels."""
    async with AsyncExitStack() as stack:
        site = None if namespaces.obstacle() else WiredSite(*DEVICES)
        if site is not None:
            stack.push_async_callback(site.close)
        how: dict[str, Any] = {"data_plane": False} if site is None else {"cables": site.cables}
        emulator = Emulator(devices=list(DEVICES), ha="pair", users={"admin": "admin"}, **how)
        await stack.enter_async_context(emulator)
        world = CloudWorld(directory, place)
        world.rig, world.emulator, world.site, world.options = BigIpRig(emulator, "pair"), emulator, site, options
        stack.push_async_callback(world.rig.close)
        world.retire_seconds = 0.1
        world.controller_settings = replace(
            world.controller_settings,
            network_answer_seconds=8.0,
            network_facts_seconds=30.0,
            release_interval_seconds=0.1,
        )
        for hands, end in zip(world.hands().values(), DEVICE_ENDS, strict=True):
            await make_vtep(hands, end)
            port = {"interfaces": [{"name": "1.2", "tagged": True}]}
            await hands.call("PATCH", "net/vlan/~Common~underlay", port)
        network = world.network = world.new_network()
        stack.callback(network.close)
        stack.push_async_callback(world.close)
        yield world
