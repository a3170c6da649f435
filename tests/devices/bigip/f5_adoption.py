"""The steps of an adoption of what F5's agent made, from the first look at it to an empty device."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import NetworkType, ServiceNetwork
from evenkeel.core.tls.certificates import CertificateContent
from tests.devices.bigip.f5_agent import links
from tests.devices.bigip.f5_agent.links import Unit
from tests.devices.bigip.f5_agent.requests import replay
from tests.devices.bigip.f5_agent.scenes import Replay
from tests.devices.bigip.f5_agent.tenants import Generation, HaType, Tenant
from tests.devices.bigip.f5_networks import adopted, elsewhere
from tests.devices.bigip.network_world import VTEP, balancer, hosts_of, make_vtep, network, subnet, tunnel
from tests.devices.bigip.rig import ENVIRONMENT, BigIpRig, Hands
from tests.devices.bigip.snapshots import Snapshot, differences, snapshot
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, session_of

DEVICE = Unit(name="host-192-0-2-9.local", vtep=VTEP)
FLAT = {"network_type": NetworkType.FLAT, "physical_network": "flatnet", "segmentation_id": None, "route_domain": 9}
KINDS: dict[NetworkType, Callable[..., ServiceNetwork]] = {
    NetworkType.VLAN: lambda number, *own: network(number, *own, route_domain=100 + number),
    NetworkType.FLAT: lambda number, *own: network(number, *own, **FLAT),
    NetworkType.VXLAN: lambda number, *own: tunnel(number, *own, route_domain=5000 + number),
    NetworkType.GRE: lambda number, *own: tunnel(number, *own, kind=NetworkType.GRE, route_domain=5000 + number),
}
NONE: Mapping[str, CertificateContent] = MappingProxyType({})
MARKED = ("auth/partition ", "net/fdb/", "sys/crypto/")
"""Begins what an adoption marks, tables that come and go with VLANs and tunnels, and another view of files."""
OURS = "ltm/data-group/internal /Common/evenkeel_"
"""Begins our own marks on a device, which stay while agents serve it."""


class Scene:
    """A device on which the agent has made a tenant's load balancers."""

    def __init__(self, rig: BigIpRig, replayed: Replay, device: str = "bigip-1") -> None:
        self.rig = rig
        self.hands = Hands(rig.emulator, device)
        self.replayed = replayed
        self.before: Snapshot = {}
        self.made: Snapshot = {}

    async def build(self) -> None:
        await make_vtep(self.hands, self.replayed.unit.vtep)
        port = {"interfaces": [{"name": "1.1", "tagged": True}]}
        await self.hands.call("PATCH", "net/vlan/~Common~underlay", port)
        await replay(self.rig.emulator, links.profiles(), self.hands.device)
        self.before = await snapshot(self.rig.emulator, self.hands.device)
        await replay(self.rig.emulator, self.replayed.requests(), self.hands.device)
        now = await snapshot(self.rig.emulator, self.hands.device)
        self.made = {key: each for key, each in now.items() if key not in self.before and not key.startswith(MARKED)}

    async def rest(self) -> dict[str, object]:
        """What differs from the device before the agent came."""
        found = differences(self.before, await snapshot(self.rig.emulator, self.hands.device))
        return {key: each for key, each in found.items() if not key.startswith(OURS)}


def tenant_of(generation: Generation, ha: HaType = HaType.STANDALONE) -> Tenant:
    return Tenant(id=PROJECT, prefix=ENVIRONMENT, generation=generation, ha=ha)


def attached(rig: BigIpRig, kind: NetworkType, *, snat: int = 1) -> ServiceDefinition:
    """A load balancer in a network of this type, with the numbers that agents since 9.8 would give it."""
    return balancer(1, KINDS[kind](1, subnet(1, hosts_of(rig), snat=snat)))


def apart(services: list[ServiceDefinition]) -> list[ServiceDefinition]:
    """The load balancers as we have them before the adoption: with other addresses and route domains."""
    return [replace(one, networks=tuple(map(elsewhere, one.networks))) for one in services]


def gone(one: ServiceDefinition) -> ServiceDefinition:
    return replace(one, revision=9, listeners=(), pools=(), networks=(), deleted=True)


async def take_over(
    owner: Owner, services: list[ServiceDefinition], certificates: Mapping[str, CertificateContent] = NONE
) -> tuple[list[ServiceDefinition], tuple[DevicePlan, ...]]:
    """Adopt the partition; returns the definitions after it, and the plans that were shown before."""
    had = apart(services)
    found = await owner.found_networks(batch(*had, complete=True))
    kept = list(adopted(had, found)) if found is not None else services
    complete = batch(*kept, complete=True, certificates=certificates)
    plans: tuple[DevicePlan, ...] = await owner.plan(complete)
    assert not [each for each in plans if each.refusal or each.problem]
    await owner.adopt(PROJECT)
    outcome = await owner.apply(complete)
    assert [one.error for one in outcome.outcomes] == ["" for _ in kept]
    return kept, plans


async def delete_everything(owner: Owner, services: list[ServiceDefinition]) -> None:
    for one in services:
        outcome = await owner.apply(batch(gone(one)))
        assert [each.error for each in outcome.outcomes] == [""]
    await owner.apply(batch(complete=True))
    assert not (await owner.retire(PROJECT, 1, session_of(1))).left


def unaccounted(made: Snapshot, plan: DevicePlan, after: Snapshot) -> list[str]:
    """Objects that the agent made, and that are neither named by the plan nor as they were."""
    shown = {f"{step.type} {step.name}" for step in plan.operations}
    named = {" ".join(each.split()[:2]) for each in plan.left}
    return [key for key, each in made.items() if key not in shown | named and after.get(key) != each]
