"""A tenant's partition, and the agent's way of naming."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tests.devices.bigip.f5_agent.requests import COMMON, Request, create, remove

LOCAL_ONLY = "traffic-group-local-only"
DISCONNECTED = "disconnected_network"


class Generation(Enum):
    """Of the agent, by what has a route domain of its own."""

    TENANT = "until 9.6"
    NETWORK = "9.8 to 9.10"


class HaType(Enum):
    """The option ``f5_ha_type``; values: the agent's name of a subnet's SNAT address until 9.6."""

    STANDALONE = "snat-traffic-group-local-only-{}_{}"
    PAIR = "snat-traffic-group-1{}_{}"
    SCALEN = "snat-traffic-group-1-{}_{}"


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """What names and settings of objects depend on."""

    id: str
    prefix: str
    generation: Generation = Generation.NETWORK
    ha: HaType = HaType.STANDALONE
    first_domain: int = 0
    """Number of the route domain that has the partition's name, until 9.6, where subnets overlap (option
    ``max_namespaces_per_tenant``); 0: of all networks.
    """
    persistence_timeout_seconds: int = 1800
    bandwidth_mbps: int = 0
    """Of each load balancer: the option ``f5_bandwidth_default`` since 9.9, whose default is 200; 0: not limited."""

    @property
    def partition(self) -> str:
        return self.named(self.id)

    @property
    def traffic_group(self) -> str:
        return LOCAL_ONLY if self.ha is HaType.STANDALONE else "traffic-group-1"

    def named(self, object_id: str) -> str:
        """Name of a load balancer's object, of a network's route domain, or of the partition."""
        return f"{self.prefix}_{object_id}"


def begin(tenant: Tenant) -> Iterator[Request]:
    """The partition, which is a folder below the root for the agent."""
    yield Request(
        "POST",
        "sys/folder",
        {
            "name": tenant.partition,
            "subPath": "/",
            "fullPath": f"/{tenant.partition}",
            "hidden": False,
            "inheritedDevicegroup": True,
            "trafficGroup": f"/{COMMON}/{tenant.traffic_group}",
            "inheritedTrafficGroup": False,
        },
    )
    if tenant.generation is Generation.TENANT:
        nowhere = {"profile": "ppp", "description": "Tenant disconnected network"}
        yield create("net/tunnels/tunnel", tenant.partition, DISCONNECTED, **nowhere)


def end(tenant: Tenant) -> Iterator[Request]:
    """After everything in the partition is gone."""
    if tenant.generation is Generation.TENANT:
        yield remove("net/tunnels/tunnel", tenant.partition, DISCONNECTED)
    yield Request("DELETE", f"sys/folder/~{tenant.partition}")
