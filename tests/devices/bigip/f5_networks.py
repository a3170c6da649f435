"""What F5's agent made of a tenant's networks on a device, by its own rules of naming."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.adoption import FoundNetworks, TakenNetworks, as_adopted
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import TUNNELS, AddressUse, NetworkType, ServiceNetwork, ServiceSubnet
from tests.devices.bigip.network_world import VTEP
from tests.devices.bigip.rig import ENVIRONMENT, Hands
from tests.devices.services import PROJECT

NUMBER = 5
"""Of its route domain."""
_MADE_IN_COMMON = {
    "vxlan": {"floodingType": "multipoint", "port": 4789},
    "gre": {"floodingType": "multipoint", "encapsulation": "transparent-ethernet-bridging"},
}
SNAT_NAMES = {
    "standalone": "snat-traffic-group-local-only-{}_{}",
    "pair": "snat-traffic-group-1{}_{}",
    "scalen": "snat-traffic-group-1-{}_{}",
}


class F5Agent:
    """Makes objects of one tenant on one device. ``name``: the device's own; ``place``: which of the definitions'
    self IPs it has."""

    def __init__(
        self,
        hands: Hands,
        *,
        name: str = "host-192-0-2-9.local",
        ha: str = "standalone",
        place: int = 0,
        tenant: str = PROJECT,
        prefix: str = ENVIRONMENT,
    ) -> None:
        self.hands = hands
        self._name = name
        self._snat = SNAT_NAMES[ha]
        self._place = place
        self._prefix = prefix
        self.partition = f"{prefix}_{tenant}"

    async def call(self, kind: str, name: str, **body: Any) -> None:
        await self.hands.call("POST", kind, {"name": name, "partition": self.partition, **body})

    async def begin(self, number: int = NUMBER) -> None:
        """The tenant's partition with its route domain, and what it made in /Common."""
        await self.hands.call("POST", "auth/partition", {"name": self.partition})
        await self.call("net/route-domain", self.partition, id=number, strict="disabled", parent="/Common/0")
        there = {kind: await self.hands.items(f"net/tunnels/{kind}", "Common") for kind in _MADE_IN_COMMON}
        for kind, settings in _MADE_IN_COMMON.items():
            if f"{kind}_ovs" in there[kind]:
                continue
            common = {"name": f"{kind}_ovs", "partition": "Common", "defaultsFrom": f"/Common/{kind}", **settings}
            await self.hands.call("POST", f"net/tunnels/{kind}", common)
        # a tunnel of type ppp on the device
        made = {"profile": "/Common/ipip", "description": "Tenant disconnected network", "localAddress": VTEP}
        await self.call("net/tunnels/tunnel", "disconnected_network", **made)

    async def attach(self, network: ServiceNetwork, number: int = NUMBER) -> str:
        """A network with its subnets; returns the name of its VLAN or tunnel."""
        link = await self._link(network)
        path = f"net/route-domain/~{self.partition}~{self.partition}"
        domain = await self.hands.call("GET", path)
        vlans = [*domain.get("vlans", ()), f"/{self.partition}/{link}"]
        await self.hands.call("PATCH", path, {"vlans": vlans})
        for subnet in network.subnets:
            await self._subnet(subnet, link, number)
        return link

    async def _link(self, network: ServiceNetwork) -> str:
        if network.network_type in TUNNELS:
            name = f"tunnel-{network.network_type.value}-{network.segmentation_id}"
            profile = f"{network.network_type.value}_ovs"
            ends = {"localAddress": VTEP, "remoteAddress": "0.0.0.0"}  # as F5's agent wrote it
            await self.call(
                "net/tunnels/tunnel",
                name,
                profile=profile,
                key=network.segmentation_id,
                description=network.id,
                **ends,
            )
            return name
        if network.network_type is NetworkType.FLAT:
            await self.call("net/vlan", "flat-1-2", description=network.id, interfaces=[_port("1.2", "untagged")])
            return "flat-1-2"
        name = f"vlan-{network.segmentation_id}"
        made = {"tag": network.segmentation_id, "interfaces": [_port("1.1", "tagged")]}
        await self.call("net/vlan", name, description=network.id, **made)
        return name

    async def _subnet(self, subnet: ServiceSubnet, link: str, number: int) -> None:
        length = subnet.cidr.rpartition("/")[2]
        selves = [each.address for each in subnet.addresses if each.use is AddressUse.SELF]
        address = f"{selves[self._place]}%{number}/{length}"
        await self.call(
            "net/self", f"local-{self._name}-{subnet.id}", address=address, vlan=f"/{self.partition}/{link}"
        )
        for each in subnet.addresses:
            if each.use is AddressUse.SNAT:
                name = self._snat.format(subnet.id, each.index)
                await self.call("ltm/snat-translation", name, address=f"{each.address}%{number}")
                await self._in_pool(name)

    async def _in_pool(self, name: str) -> None:
        there = await self.hands.items("ltm/snatpool", self.partition)
        if self.partition not in there:
            await self.call("ltm/snatpool", self.partition, members=[f"/{self.partition}/{name}"])
            return
        members = [*there[self.partition]["members"], f"/{self.partition}/{name}"]
        await self.hands.call("PATCH", f"ltm/snatpool/~{self.partition}~{self.partition}", {"members": members})

    async def serve(self, wanted: ServiceDefinition, link: str, number: int = NUMBER, *, snat_pool: str = "") -> None:
        """A load balancer on networks that are attached, with one listener and its pool. ``snat_pool``: not that of the
        tenant.
        """
        (pool,), (listener,) = wanted.pools, wanted.listeners
        name = f"{self._prefix}_{wanted.load_balancer_id}"
        address = f"{wanted.vip.address}%{number}"
        await self.call("ltm/virtual-address", name, address=address, autoDelete="false", description="web: ")
        members = [
            {"name": f"{each.address}%{number}:{each.protocol_port}", "partition": self.partition}
            for each in pool.members
        ]
        await self.call(
            "ltm/pool", f"{self._prefix}_{pool.id}", loadBalancingMode="round-robin", members=members, description="p: "
        )
        await self.call(
            "ltm/virtual",
            f"{self._prefix}_{listener.id}",
            destination=f"/{self.partition}/{name}:{listener.protocol_port}",
            mask="255.255.255.255",
            ipProtocol="tcp",
            pool=f"/{self.partition}/{self._prefix}_{pool.id}",
            profiles=[{"name": each, "partition": "Common"} for each in ("http", "oneconnect", "tcp")],
            sourceAddressTranslation={"type": "snat", "pool": f"/{self.partition}/{snat_pool or self.partition}"},
            vlansEnabled=True,
            vlans=[f"/{self.partition}/{link}"],
            description="l: ",
        )


def _port(name: str, how: str) -> dict[str, Any]:
    return {"name": name, how: True}


def adopted(
    services: Iterable[ServiceDefinition], found: FoundNetworks, *, without: Sequence[AddressUse] = ()
) -> tuple[ServiceDefinition, ...]:
    """The definitions after controllers have taken over what was found, without addresses of these uses."""
    kept = tuple(each for each in found.addresses if each.use not in without)
    return as_adopted(services, TakenNetworks(route_domain=found.route_domain, addresses=kept))


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
