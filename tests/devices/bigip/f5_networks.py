"""What F5's agent made of a tenant's networks on a device, by its own rules of naming."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.adoption import AdoptedNetworks, FoundNetworks, services_after_adoption
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import AddressUse, ServiceNetwork
from tests.devices.bigip.f5_agent import links, services, tenants
from tests.devices.bigip.f5_agent.links import Attachment, Unit
from tests.devices.bigip.f5_agent.requests import Request, create, replay
from tests.devices.bigip.f5_agent.tenants import Generation, HaType, Tenant
from tests.devices.bigip.network_world import VTEP
from tests.devices.bigip.rig import ENVIRONMENT, Hands
from tests.devices.services import PROJECT

NUMBER = 5
"""Of its route domain."""


class F5Agent:
    """Replays what an agent until 9.6 sends for one tenant on one device, step by step. ``name``: the device's own;
    ``place``: which of the definitions' self IPs it has."""

    def __init__(
        self,
        hands: Hands,
        *,
        name: str = "host-192-0-2-9.local",
        ha: HaType = HaType.STANDALONE,
        place: int = 0,
        tenant: str = PROJECT,
        prefix: str = ENVIRONMENT,
    ) -> None:
        self.hands = hands
        self.tenant = Tenant(id=tenant, prefix=prefix, generation=Generation.TENANT, ha=ha)
        self.unit = Unit(name=name, place=place, vtep=VTEP)
        self.partition = self.tenant.partition
        self._networks: list[ServiceNetwork] = []
        self._snat: list[str] = []

    async def send(self, requests: Iterable[Request]) -> None:
        await replay(self.hands.emulator, requests, self.hands.device)

    async def call(self, kind: str, name: str, **body: Any) -> None:
        await self.send([create(kind, self.partition, name, **body)])

    async def begin(self, number: int = NUMBER) -> None:
        """The tenant's partition with its route domain, and what it made in /Common."""
        if "vxlan_ovs" not in await self.hands.items("net/tunnels/vxlan", "Common"):
            await self.send(links.profiles())
        await self.send([*tenants.begin(self.tenant), links.route_domain(self.tenant, self.partition, number)])

    async def attach(self, network: ServiceNetwork) -> str:
        """A network with its subnets; returns the name of its VLAN or tunnel."""
        await self.send(links.attach(self.tenant, self.unit, network, others=self._networks))
        made = list(links.tenants_snat(self.tenant, network, before=self._snat))
        await self.send(made)
        self._snat += [str(each.body["name"]) for each in made if each.path == "ltm/snat-translation"]
        self._networks.append(network)
        return links.link_of(network, self.unit)

    async def serve(self, wanted: ServiceDefinition, link: str, number: int = NUMBER, *, snat_pool: str = "") -> None:
        """A load balancer on networks that are attached. ``snat_pool``: not that of the tenant."""
        at = Attachment(route_domain=number, link=link, snat_pool=snat_pool or self.partition)
        await self.send(services.create_balancer(self.tenant, wanted, at))
        await self.send(services.create_rest(self.tenant, wanted, at))


def adopted(
    services: Iterable[ServiceDefinition], found: FoundNetworks, *, without: Sequence[AddressUse] = ()
) -> tuple[ServiceDefinition, ...]:
    """The definitions after controllers have taken over what was found, without addresses of these uses."""
    kept = tuple(each for each in found.addresses if each.use not in without)
    taken = AdoptedNetworks(route_domain=found.route_domain, addresses=kept, route_domains=found.route_domains)
    return services_after_adoption(services, taken)


def elsewhere(network: ServiceNetwork, number: int = 1, step: int = 40) -> ServiceNetwork:
    """The same network as it was allocated before the adoption: with another number, and other addresses."""

    def moved(text: str) -> str:
        head, _, last = text.rpartition(".")
        return f"{head}.{int(last) + step}"

    subnets = tuple(
        replace(subnet, addresses=tuple(replace(each, address=moved(each.address)) for each in subnet.addresses))
        for subnet in network.subnets
    )
    return replace(network, route_domain=number, subnets=subnets)
