"""Environments, the reachability of their device groups, and the environment of a load balancer."""

from collections.abc import Mapping

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.vip_networks import VipNetworks
from evenkeel.core.placement.reach import Reachability
from evenkeel.core.resources.model import DataPath
from evenkeel.core.resources.statuses import FailbackMode


class Environment(Value):
    """A named, isolated service environment; the API's ``provider``."""

    name: str
    device_driver: str
    """Name of the device driver; only agents with this driver may join the environment."""
    description: str = ""
    created_at: float = 0.0
    failback: FailbackMode = FailbackMode.AUTO
    breaker_share: float = 0.5
    """Share of the environment's agents that opens the circuit breaker if more fall silent together; 1: the breaker
    never opens.
    """
    breaker_agents: int = 3
    """Smallest number of silent agents that opens the circuit breaker, together with ``breaker_share``."""
    vip_networks_allowed: tuple[str, ...] = ()
    """Ids of networks and subnets that new VIPs may be on; empty: every one."""
    vip_networks_denied: tuple[str, ...] = ()
    """Ids of networks and subnets that no new VIP may be on, also if allowed."""
    halted_at: float | None = None
    """Time since which the circuit breaker is open, so that no shard moves from one agent to another; None: it is
    closed.
    """
    halted_reason: str = ""

    @property
    def vip_networks(self) -> VipNetworks:
        """Networks and subnets that new VIPs may be on."""
        return VipNetworks(allowed=self.vip_networks_allowed, denied=self.vip_networks_denied)


class UnreachableGroup(Value):
    """A device group with unreachable devices, or without an agent that observes them."""

    environment: str
    number: int
    reach: Reachability
    tenants: int
    """Number of projects with a shard in the group."""
    device_driver: str = ""
    titles: Mapping[str, str] = {}
    """Text for a device by its address: its own name before the address; devices without a known name are missing."""

    @property
    def unreachable_device_titles(self) -> tuple[str, ...]:
        """Texts that name the devices that no agent reaches, sorted by the devices' addresses."""
        return tuple(self.titles.get(name, name) for name in self.reach.away)


class LoadBalancerProviderFacts(Value):
    """The environment of a load balancer, and other facts about it that never change, so that they may be cached."""

    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    provider: str
    """Name of the load balancer's environment, which cannot be deleted while the load balancer exists."""
    device_driver: str
    vip_address: str | None
    """Address of the VIP if all VIPs are of one address family. None: the VIPs are of both families; or there is no
    VIP, or one that exists only while an LBaaS v1 pool has a listener.
    """
    data_path: DataPath = "proxy"
    """Whether a proxy or the kernel of the devices forwards the load balancer's connections, by its flavor."""
