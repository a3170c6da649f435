"""Requests of operators to move load balancers to another device group, and the moves as operators see them."""

from evenkeel.core.control.moves import MoveStep
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.kit.values import Value


class MoveTargetGroup(Value):
    """A device group to which load balancers may be moved. ``capacity_score``: share of its capacity in use;
    from 1.0 on it takes no more load balancers.
    """

    environment: str
    group_number: int
    device_driver: str
    capacity_score: float
    at_limit: tuple[str, ...] = ()
    """Capacity metrics of the device group that are at their limit (human-readable)."""


class MovableLoadBalancer(Value):
    """A load balancer that an operator wants to move, with the facts that decide whether the move is possible."""

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
    """True: the load balancer's VIP has a port at the network service, which is bound to a host."""
    certificates: int
    """Number of references to a key manager in the load balancer's listeners and pools."""
    attached_networks: int
    """Number of networks to which the load balancer's present devices are attached for its project."""


class MoveRequest(Value):
    """A checked request to move load balancers of one project to a device group."""

    project_id: ProjectId
    environment: str
    group_number: int
    load_balancer_ids: tuple[LoadBalancerId, ...]
    home_agent_id: AgentId | None
    """Home agent of the project's shard on the target group if the shard has to be created; None: no agent
    there is up.
    """
    whole_project: bool
    """True: new load balancers of the project are placed on the target group, too."""
    listening: tuple[LoadBalancerId, ...] = ()
    """Ids of load balancers whose present devices answer only what is routed to them, so they need not stop before the
    new devices start.
    """
    target_listens: bool = False
    by_operator: tuple[LoadBalancerId, ...] = ()
    """Ids of load balancers whose VIPs an operator routes to the new devices."""


class MoveProgress(Value):
    """The last move of a load balancer to another device group, as operators see it. The attributes are those
    of :class:`.moves.Move`; ``begun_at``, ``step_at``: when the move and its present step began, seconds
    since 1970 by the database's clock.
    """

    load_balancer_id: LoadBalancerId
    name: str
    project_id: ProjectId
    vip_address: str
    step: MoveStep
    source: str
    """Device group from which the load balancer moves: ``<environment>/<number>``."""
    target: str
    source_shard_id: ShardId
    target_shard_id: ShardId
    back: bool
    by_operator: bool
    reason: str
    gap_seconds: float | None
    begun_at: float
    step_at: float
