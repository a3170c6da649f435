"""Projects with networks in a real Neutron, servers that traffic reaches, and what devices have to have of them."""

import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from emulator_tests.wired_site import Host
from tests.devices.bigip.network_world import TRAFFIC_GROUP
from tests.devices.bigip.rig import Hands
from tests.network.neutron.cloud_world import DEVICE_ENDS, UNDERLAY, CloudWorld
from tests.network.neutron.conftest import Cloud
from tests.network.neutron.f5_layout import ATTRIBUTES, PROFILES, Member, Objects, Place, place_objects, tenant_objects
from tests.network.neutron.patience import eventually
from tests.neutron_agent.compute import Compute
from tests.system.test_removed_partitions import DEVICES
from tests.system.world import ENVIRONMENT

INNER, OUTER = "10.0.0.0/24", "10.1.0.0/24"
"""Of members; and of VIPs that are in another network."""
SERVERS, CLIENT = (200, 201), 150
"""Last octets."""
ENDS = {"vxlan": ("192.0.2.11", "192.0.2.12"), "gre": ("192.0.2.13", "192.0.2.14")}
"""The tunnel end points of the servers' hosts."""
EXTERNAL = "external"
"""A VLAN of operators that Neutron has as external."""
DEVICE_OWNER = "network:evenkeel"


class Network(NamedTuple):
    """One of Neutron's, with a subnet."""

    shown: Any
    subnet_id: str
    cidr: str
    kind: str

    @property
    def type(self) -> str:
        return "vlan" if self.kind == EXTERNAL else self.kind

    @property
    def vlan(self) -> int:
        """On the switch."""
        return self.shown.provider_segmentation_id or 0

    def address(self, last: int) -> str:
        return f"{self.cidr.rpartition('.')[0]}.{last}"


class Tenant:
    """A project with its networks, servers and load balancer."""

    def __init__(self, world: CloudWorld, cloud: Cloud, vip: str, members: str = "") -> None:
        """Kinds of the networks of the VIP and, if that is another one, of the members."""
        self.world = world
        self.cloud = cloud
        self.id = uuid.uuid4().hex
        self.vip = self._network(vip, OUTER if members else INNER)
        self.inner = self._network(members, INNER) if members else self.vip
        self.computes: list[Compute] = []
        self.members: tuple[Member, ...] = ()
        self.servers: list[Host] = []
        self.client: Host | None = None
        self.load_balancer_id = self.vip_address = ""

    @property
    def networks(self) -> tuple[Network, ...]:
        return (self.vip,) if self.inner is self.vip else (self.vip, self.inner)

    @property
    def partition(self) -> str:
        return f"{ENVIRONMENT}_{self.id}"

    def _network(self, kind: str, cidr: str) -> Network:
        how: dict[str, Any] = {"provider_network_type": "vlan" if kind == EXTERNAL else kind}
        if kind not in PROFILES:
            how["provider_physical_network"] = self.world.flat_network if kind == "flat" else "physnet1"
        if kind == EXTERNAL:
            how["is_router_external"] = True
        network_id, subnet_id = self.cloud.network("operators" if kind == EXTERNAL else self.id, cidr=cidr, **how)
        return Network(self.cloud.neutron.get_network(network_id), subnet_id, cidr, kind)

    # -- servers

    async def start(self) -> None:
        """Ports for servers and the client, and the servers where there may be any."""
        ends = ENDS.get(self.inner.type, ("",) * len(SERVERS))
        for last, end in zip(SERVERS, ends, strict=True):
            await self._start_server(self.inner.address(last), end)
        if self.inner.type in PROFILES:  # a device does not know where others are
            self.client = self.servers[0] if self.servers else None
            return
        address = self.vip.address(CLIENT)
        self.reserve(self.vip, address)
        if self.world.site is not None:
            self.client = self.world.site.host(f"client {self.id}", f"{address}/24", vlan=self.vip.vlan)

    def reserve(self, network: Network, address: str, **more: Any) -> Any:
        """A port for somebody else than devices."""
        fixed = [{"ip_address": address}]
        return self.cloud.neutron.create_port(network_id=network.shown.id, fixed_ips=fixed, name="server", **more)

    async def _start_server(self, address: str, end: str) -> None:
        bound = {}
        if end:
            self.computes.append(Compute(self.world.place.bus, end))
            bound = {"binding_host_id": self.computes[-1].host, "device_owner": "compute:nova"}
        port = self.reserve(self.inner, address, **bound)
        self.members = (*self.members, Member(address, port.mac_address, end))
        site, name = self.world.site, self.named(address)
        if site is None:
            return
        if end:
            host = site.host(name, f"{end}/24", vlan=UNDERLAY)
            attach = host.vxlan if self.inner.type == "vxlan" else host.gre
            attach(self.inner.vlan, end, DEVICE_ENDS, f"{address}/24", port.mac_address)
        else:
            host = site.host(name, f"{address}/24", vlan=self.inner.vlan, hardware=port.mac_address)
        await host.serve()
        self.servers.append(host)

    def named(self, address: str) -> str:
        """A server's answer."""
        return f"{self.id} {address}"

    def close(self) -> None:
        for compute in self.computes:
            compute.bus.close()

    # -- the load balancer

    async def create(self) -> None:
        """By our API, with a listener, a pool and the servers as members."""
        members = [
            {"address": one.address, "protocol_port": 8080, "subnet_id": self.inner.subnet_id} for one in self.members
        ]
        pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
        listener = {"protocol": "HTTP", "protocol_port": 80, "default_pool": pool}
        body = {"vip_subnet_id": self.vip.subnet_id, "project_id": self.id, "listeners": [listener]}
        made = (await self.world.api.post("/loadbalancers", {"loadbalancer": body}))["loadbalancer"]
        self.load_balancer_id, self.vip_address = made["id"], made["vip_address"]

    async def delete(self) -> None:
        await self.world.api.delete(f"/loadbalancers/{self.load_balancer_id}?cascade=true")

    # -- Neutron

    def device_ports(self, network: Network) -> dict[str, Any]:
        """Ports for addresses of devices, by name."""
        found = self.cloud.neutron.ports(network_id=network.shown.id, device_owner=DEVICE_OWNER)
        return {port.name: port for port in found}

    def our_ports(self) -> list[Any]:
        """All ports in its networks but those of servers."""
        return [
            port
            for network in self.networks
            for port in self.cloud.neutron.ports(network_id=network.shown.id)
            if port.name != "server"
        ]

    # -- devices

    def _is_common(self, network: Network) -> bool:
        return network.kind == EXTERNAL or self.world.options.get("f5_common_networks") == "True"

    def place(self, network: Network, device: str, number: int) -> Place:
        """The network on a device, with what Neutron says of it. ``number``: of the tenant's route domain."""
        host = self.world.emulator.devices[device].url.removeprefix("https://")
        addresses = {name: port.fixed_ips[0]["ip_address"] for name, port in self.device_ports(network).items()}
        common = self._is_common(network)
        return Place(
            folder="Common" if common else self.partition,
            number=0 if common else number,
            kind=network.type,
            segment=network.shown.provider_segmentation_id,
            mtu=network.shown.mtu,
            subnet_id=network.subnet_id,
            cidr=network.cidr,
            device=host.replace(":", "-"),
            self_ip=addresses[f"self-{host}-{network.subnet_id}"],
            snat=addresses.get(f"snat-{TRAFFIC_GROUP}-{network.subnet_id}", ""),
            gateway=addresses.get(f"floating-{TRAFFIC_GROUP}-{network.subnet_id}", ""),
            end_point=DEVICE_ENDS[DEVICES.index(device)],
            members=self.members if network.type in PROFILES else (),
        )

    def expected(self, device: str, number: int) -> Objects:
        """What the device is to have of its networks. ``number``: of its route domain."""
        places = [self.place(network, device, number) for network in self.networks]
        links = [place.link for place in places if place.folder != "Common"]
        snats = [place.snat_path for place in places if place.snat]
        gateway = "" if self._is_common(self.vip) else self.vip.address(1)
        objects = dict(tenant_objects(self.partition, number if links else 0, links, snats, gateway))
        for place in places:
            objects |= place_objects(place)
        pool = {"type": "snat", "pool": f"/{self.partition}/{self.partition}"}
        return objects | self.servers_of(places[0].at(self.vip_address), pool if snats else {"type": "none"})

    def servers_of(self, address: str, translation: Mapping[str, str]) -> Objects:
        """Its virtual address and virtual server."""
        return {
            f"ltm/virtual-address /{self.partition}/{ENVIRONMENT}_{self.load_balancer_id}": {"address": address},
            f"ltm/virtual /{self.partition}/{ENVIRONMENT}_": {"sourceAddressTranslation": translation},
        }


async def seen(hands: Hands) -> dict[str, Mapping[str, Any]]:
    """What a device has of networks and virtual servers. A virtual server's path ends with its prefix: the id of its
    listener is of no interest here."""
    found: dict[str, Mapping[str, Any]] = {}
    for kind in ATTRIBUTES:
        answer = await hands.call("GET", f"{kind}?expandSubcollections=true")
        for item in answer.get("items", ()):
            path = re.sub(rf"/{ENVIRONMENT}_[0-9a-f-]{{36}}$", f"/{ENVIRONMENT}_", item["fullPath"])
            key = path if kind == "ltm/virtual" else item["fullPath"]
            found[f"{kind} {key}"] = dict(_attributes(kind, item))
    return found


def _attributes(kind: str, item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ATTRIBUTES[kind]:
        if name in ("interfaces", "records"):
            parts = item.get(f"{name}Reference", {}).get("items", ())
            yield name, sorted((_plain(part) for part in parts), key=lambda part: str(part["name"]))
        elif name == "sourceAddressTranslation":
            yield name, {part: item[name][part] for part in ("type", "pool") if part in item[name]}
        elif name in item:
            yield name, item[name]


def _plain(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: part[name] for name in ("name", "tagged", "untagged", "endpoint", "endpoints") if name in part}


async def active(world: CloudWorld, tenant: Tenant) -> None:
    await eventually(lambda: world.is_active(tenant.load_balancer_id), every_seconds=0.1)
