"""The agent as one of a real Neutron's agents, over a real RabbitMQ."""

import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from ipaddress import IPv4Address
from typing import Any

import pytest

from evenkeel.core.devices.device import Attachments
from evenkeel.neutron_agent.service import NeutronAgent
from evenkeel.neutron_agent.settings import LB_AGENT, OVS_AGENT, NeutronAgentSettings
from tests.network.conftest import NEEDS_NEUTRON
from tests.network.neutron.patience import eventually
from tests.neutron_agent.compute import FACTS, Compute, attachments
from tests.neutron_agent.conftest import Site

pytestmark = NEEDS_NEUTRON


class Devices:
    """A device group."""

    def __init__(self, found: Attachments) -> None:
        self.found = found

    async def attachments(self) -> Attachments:
        return self.found


class Scene:
    """An agent of ours, and a network."""

    def __init__(self, site: Site, *end_points: str) -> None:
        self.site = site
        self.neutron: Any = site.neutron.network
        self.host = f"bigips-{uuid.uuid4().hex[:8]}"
        self.moved: list[Collection[str]] = []
        self.devices = Devices(attachments(*end_points))
        settings = NeutronAgentSettings(
            host=self.host, transport_url=site.bus, agent_types=(LB_AGENT, OVS_AGENT), report_interval_seconds=0.5
        )
        self.agent = NeutronAgent(settings, FACTS, self.devices, self.moved.append)
        self.network = self.neutron.create_network(name="net", provider_network_type="vxlan")
        self.neutron.create_subnet(network_id=self.network.id, ip_version=4, cidr="10.0.0.0/24")

    def listed(self) -> dict[str, Any]:
        return {each.agent_type: each for each in self.neutron.agents(host=self.host)}

    def port(self, host: str) -> Any:
        return self.neutron.create_port(network_id=self.network.id, binding_host_id=host, device_owner="compute:nova")

    def status(self, port: Any) -> str:
        return str(self.neutron.get_port(port.id).status)

    def clean(self) -> None:
        for port in self.neutron.ports(network_id=self.network.id):
            self.neutron.delete_port(port)
        self.neutron.delete_network(self.network)


@pytest.fixture
def addresses() -> Iterator[str]:
    """End points that no other test has."""
    return (str(IPv4Address(10 << 24 | uuid.uuid4().int % 2**24)) for _ in range(100))


@pytest.fixture
def computes(site: Site, addresses: Iterator[str]) -> Iterator[Callable[[], Compute]]:
    """Makes hosts."""
    made: list[Compute] = []

    def make() -> Compute:
        made.append(Compute(site.bus, next(addresses)))
        return made[-1]

    yield make
    for each in made:
        each.bus.close()


@pytest.fixture
async def scene(site: Site, addresses: Iterator[str]) -> AsyncIterator[Scene]:
    made = Scene(site, next(addresses), next(addresses))
    made.agent.start()
    await eventually(lambda: len(made.listed()) == 2, every_seconds=0.5)
    yield made
    await made.agent.stop()
    made.clean()


async def test_neutron_lists_the_agent_with_what_it_reports(scene: Scene) -> None:
    first, second = scene.devices.found.end_points
    for agent_type in (LB_AGENT, OVS_AGENT):
        shown = scene.listed()[agent_type]
        assert shown.is_alive and shown.binary == "evenkeel-agent"
        assert shown.configuration == {
            "bridge_mappings": {"physnet1": "1.1"},
            "tunnel_types": ["vxlan", "gre"],
            "tunneling_ip": first,
            "tunneling_ips": [first, second],
            "l2_population": True,
            "environment_prefix": "prod",
            "environment_group_number": 2,
            "global_routed_mode": False,
            "device_drivers": ["bigip"],
        }
    # removed by an operator, it is there again with the next report
    before = scene.listed()[LB_AGENT].id
    scene.neutron.delete_agent(before)
    await eventually(lambda: scene.listed().get(LB_AGENT) is not None, every_seconds=0.5)
    assert scene.listed()[LB_AGENT].id != before  # settled: the old one was deleted before


async def test_hosts_learn_of_the_tunnels_of_each_device(
    scene: Scene, computes: Callable[[], Compute], addresses: Iterator[str]
) -> None:
    def known() -> set[str]:
        """To a host that registers its own end point."""
        answer = compute.bus._call("q-plugin", "tunnel_sync", tunnel_ip=own, tunnel_type="vxlan", host=compute.host)
        return {each["ip_address"] for each in answer["tunnels"]}

    compute = computes()
    own = compute.end_point
    await eventually(lambda: {*scene.devices.found.end_points, own} <= known(), every_seconds=0.5)
    # an end point that changed is registered instead of the old one
    changed = next(addresses)
    old = scene.devices.found.end_points[0]
    scene.devices.found = attachments(changed, *scene.devices.found.end_points[1:])
    await eventually(lambda: {changed, old} & known() == {changed}, every_seconds=0.5)


async def test_ports_of_vips_are_bound_and_up(scene: Scene) -> None:
    vip = scene.port("")
    assert scene.status(vip) == "DOWN"
    scene.agent.report_when_bound([vip.id])  # the controllers bind it in a moment
    scene.neutron.update_port(vip, binding_host_id=scene.host)

    await eventually(lambda: scene.status(vip) == "ACTIVE", every_seconds=0.5)
    # settled: Neutron binds a port before it makes it active
    assert scene.neutron.get_port(vip.id).binding_vif_type == "ovs"


async def test_agent_reports_networks_whose_ports_move(scene: Scene, computes: Callable[[], Compute]) -> None:
    first, second = computes(), computes()
    member = scene.port(first.host)
    first.start(member.id)
    await eventually(lambda: frozenset({scene.network.id}) in scene.moved)

    scene.moved.clear()
    scene.neutron.update_port(member, binding_host_id=second.host)
    second.start(member.id)
    await eventually(lambda: frozenset({scene.network.id}) in scene.moved)
    scene.moved.clear()
    scene.neutron.update_port(member, fixed_ips=[{"ip_address": "10.0.0.99"}])
    await eventually(lambda: frozenset({scene.network.id}) in scene.moved)
    scene.moved.clear()
    scene.neutron.delete_port(member)
    await eventually(lambda: frozenset({scene.network.id}) in scene.moved)
