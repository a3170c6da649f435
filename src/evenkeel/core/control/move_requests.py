"""Requests of operators to move load balancers, and their moves as operators see them."""

from evenkeel.core.control.moves import MoveStep
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.kit.values import Value


class DeviceGroupPlace(Value):
    """A device group to which load balancers may be moved."""

    environment: str
    group_number: int
    device_driver: str
    capacity_score: float
    at_limit: tuple[str, ...] = ()
    """Metrics at their limit (human-readable)."""


class MovableLoadBalancer(Value):
    """A load balancer that an operator wants to move, with what decides whether that is possible."""

    id: LoadBalancerId
    name: str
    project_id: ProjectId
    environment: str
    group_number: int | None
    """Number of the load balancer's device group; None: it has none yet."""
    device_driver: str
    vip_address: str
    deleted: bool
    mirrored: bool
    held: bool
    moving: bool
    vip_network_id: str
    vip_subnet_id: str
    flavor_id: str | None
    availability_zone: str | None
    zone_group_number: int | None
    network_port: bool
    """True: the network service has a port for its VIP, which is bound to a host."""
    certificates: int
    """Number of references to a key manager."""
    attached_networks: int
    """Number of networks to which its present devices are attached for its project."""


class MoveRequest(Value):
    """A checked request: load balancers of one project, to a device group."""

    project_id: ProjectId
    environment: str
    group_number: int
    load_balancer_ids: tuple[LoadBalancerId, ...]
    home_agent_id: AgentId | None
    """Home of the project's shard there if it has to be created; None: no agent is up."""
    whole_project: bool
    """True: the project's new load balancers go there, too."""
    listening: tuple[LoadBalancerId, ...] = ()
    """Load balancers whose present devices answer only what is routed to them."""
    target_listens: bool = False
    by_operator: tuple[LoadBalancerId, ...] = ()
    """Load balancers whose VIPs an operator routes."""


class MoveProgress(Value):
    """The last move of a load balancer."""

    load_balancer_id: LoadBalancerId
    name: str
    project_id: ProjectId
    vip_address: str
    step: MoveStep
    source: str
    """Device group, ``<environment>/<number>``."""
    target: str
    source_shard_id: ShardId
    target_shard_id: ShardId
    back: bool
    by_operator: bool
    reason: str
    gap_seconds: float | None
    begun_at: float
    step_at: float
