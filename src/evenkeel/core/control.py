"""Values of the control plane: environments, agents, shards, events, and the result of a write."""

from collections.abc import Mapping
from typing import Any

from evenkeel.core.enhanced_services import EnhancedService
from evenkeel.core.ids import AgentId, LoadBalancerId, ProjectId, SessionId, ShardId
from evenkeel.core.messages import CapacityFigure, DeviceState, ShardEpoch
from evenkeel.core.model import LoadBalancerTree, Resource
from evenkeel.core.names import titled
from evenkeel.core.network import PortClaim
from evenkeel.core.placement import PlacementBlocker
from evenkeel.core.reach import Reach
from evenkeel.core.statuses import FailbackMode, RescheduleMode
from evenkeel.core.values import Value


class Environment(Value):
    """A named, isolated service environment; the API's ``provider``."""

    name: str
    device_driver: str
    """Name of the only device driver whose agents may join."""
    description: str = ""
    created_at: float = 0.0
    failback: FailbackMode = FailbackMode.AUTO
    breaker_share: float = 0.5
    """Share of the environment's agents; if more of them fall silent together, the circuit breaker opens. 1: never."""
    breaker_agents: int = 3
    """Smallest number of silent agents that opens the circuit breaker, together with ``breaker_share``."""
    halted_at: float | None = None
    """Time since which the circuit breaker is open, so that no shard moves from one agent to another; None: it is
    closed.
    """
    halted_reason: str = ""


class AgentEnhancedServices(Value):
    """The enhanced services that an agent last reported."""

    agent_id: AgentId
    environment: str
    group_number: int
    host: str
    services: tuple[EnhancedService, ...]


class Agent(Value):
    """An agent as stored in the database. Times by the database's clock."""

    id: AgentId
    environment: str
    group_number: int
    host: str
    device_driver: str
    ha_type: str
    endpoints: tuple[str, ...] = ()
    admin_state_up: bool = True
    """False: drained or being drained. The agent gets no shards, and shards it serves are handed over."""
    forced_down: bool = False
    """True if an operator declared the agent's host dead, so that its load balancers may be rebuilt elsewhere."""
    failback_asked: bool = False
    """True if an operator requested that the agent's shards return home (``failback`` manual)."""
    silent_since: float | None = None
    """Time at which the agent's session expired without being ended; None if it did not."""
    reachable_devices: int | None = None
    """Number of devices that the agent reached by its last state report; None: not reported yet."""
    session_id: SessionId | None = None
    alive: bool = False
    """True if the agent's session had not expired at the time of reading."""
    session_started_at: float | None = None
    session_expires_at: float | None = None
    reported_at: float | None = None
    configurations: dict[str, str] = {}
    devices: tuple[DeviceState, ...] = ()
    queue_depth: int = 0
    capacity_score: float = 0.0
    capacity: dict[str, CapacityFigure] = {}
    """Last measured figures by metric of the agent's ``capacity_policy``."""
    serving: tuple[ShardEpoch, ...] = ()
    """The shards that the agent served according to its last state report."""
    assignments_revision: int = 0
    created_at: float = 0.0
    acting_shards: int = 0
    home_shards: int = 0
    load_balancers: int = 0
    """Number of load balancers whose shard has this agent as its home ("bound")."""
    handing_over: int = 0
    """Number of shards the agent acts for and was requested to release to another agent."""
    away_shards: int = 0
    """Number of shards whose home is the agent and for which another agent acts."""
    unserved_shards: int = 0
    """Number of shards whose home is the agent and for which no agent acts."""
    fit: bool = False
    """True if shards may be assigned to the agent now."""
    successors: int = 0
    """Number of other agents of the agent's group to which shards may be assigned now."""
    waiting_blocker: PlacementBlocker | None = None
    """Why shards that the agent should not serve stay with it (:class:`evenkeel.core.placement.PlacementReasons`)."""
    away_blocker: PlacementBlocker | None = None
    """Why shards whose home is the agent and that other agents serve do not return to it."""
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    """How shards of the agent's device group may move."""
    failback: FailbackMode = FailbackMode.AUTO
    """Failback mode of the agent's environment."""
    halted_reason: str = ""
    """Reason why the circuit breaker of the agent's environment is open; empty: it is closed."""

    @property
    def title(self) -> str:
        """Text that names the agent: the host before the id."""
        return f"agent {titled(self.host, self.id)}"


class Shard(Value):
    """The unit of ownership: one tenant on one device group."""

    id: ShardId
    environment: str
    group_number: int
    project_id: ProjectId
    home_agent_id: AgentId
    acting_agent_id: AgentId | None
    epoch: int
    handover_to: AgentId | None = None
    """Agent to which the acting agent has to release the shard in a planned handover; None: no
    handover is in progress.
    """


class ShardCount(Value):
    """Numbers of an environment's shards: all shards, and shards without a live agent."""

    environment: str
    total: int
    unserved: int


class UnknownHistory(Value):
    """A history that an agent reported and this database never had: the database was replaced by another one."""

    id: str
    noted_at: float
    """Database time at which an agent first reported the history, in seconds since 1970."""
    agent_id: str
    """Id of the first agent that reported the history."""
    host: str = ""
    """Host of the agent that reported the history; empty if the agent was deleted."""


class History(Value):
    """A history of the database without lost commits: another history begins when the database lost commits."""

    id: str
    """Random id of the history; empty: unknown."""
    begun_at: float
    unknown: tuple[UnknownHistory, ...] = ()
    """Histories of other databases; they halt every removal from devices until an operator accepts them."""


class OrphanSummary(Value):
    """Counts of orphans: objects on devices that the database does not contain; and seconds until the first one is
    removed.
    """

    load_balancers: int = 0
    """Number of orphaned load balancers in partitions of tenants with a shard."""
    load_balancers_removed_in_seconds: float | None = None
    """Seconds until the first orphaned load balancer may be removed; None: none is removed automatically."""
    partitions: int = 0
    """Number of partitions of tenants without a shard."""
    partitions_removed_in_seconds: float | None = None
    """Seconds until the first partition may be emptied; None: none is emptied automatically."""
    unknown_histories: tuple[UnknownHistory, ...] = ()
    """Histories of other databases; while there are any, nothing is removed."""


class OrphanedPartition(Value):
    """A partition on the devices of a group, of a tenant without a shard there."""

    project_id: ProjectId
    seconds: float
    """Seconds since the partition was first reported."""


class OrphanedLoadBalancer(Value):
    """A load balancer on the devices of a non-empty shard that is missing from the database."""

    load_balancer_id: LoadBalancerId
    seconds: float
    """Seconds since the load balancer was first reported."""
    removed_in_seconds: float | None
    """Seconds until the load balancer may be removed; None: it is not removed automatically."""


class ShardOwner(Value):
    """The agent that gets hints about a shard."""

    shard_id: ShardId
    environment: str
    group_number: int
    host: str


class OwnershipTerm(Value):
    """One ownership term: the session, epoch and database history in which an agent owns a shard."""

    session_id: SessionId
    epoch: int
    history: str
    """Id of the database history."""


class ShardWithCapacity(Value):
    """A tenant's shard with capacity for another load balancer."""

    shard_id: ShardId
    owner: ShardOwner | None = None
    """The acting agent; None: no agent acts for the shard."""
    term: OwnershipTerm | None = None
    """Ownership term of the acting agent; None: its devices have to be attached to networks first."""


class PlacedLoadBalancers(Value):
    """Load balancers that were placed in a shard with capacity, and the agent that acts for it."""

    revisions: Mapping[LoadBalancerId, int]
    owner: ShardOwner | None = None
    """The acting agent; None: no agent acts for the shard."""
    epoch: int = 0


class GroupReach(Value):
    """A device group with devices that are out of reach."""

    environment: str
    number: int
    reach: Reach
    tenants: int
    """Number of projects with a shard in the group."""
    device_driver: str = ""
    titles: Mapping[str, str] = {}
    """Text for a device by its address: its own name before the address; devices without a known name are missing."""

    @property
    def away_titles(self) -> tuple[str, ...]:
        """Texts that name the devices that no agent reaches."""
        return tuple(self.titles.get(name, name) for name in self.reach.away)


class Recheck(Value):
    """A request to the owner of a shard to read its devices again: their content, or statuses, may differ from what the
    owner last observed.
    """

    owner: ShardOwner
    """The agent; an empty ``shard_id`` means all shards that this agent serves."""
    load_balancer_ids: tuple[LoadBalancerId, ...] = ()
    complete: bool = False
    """True: read the whole shard, including load balancers believed to be applied."""


class SessionRef(Value):
    """A live session of an agent."""

    agent_id: AgentId
    session_id: SessionId
    environment: str
    late: bool = False
    """True if the session's agent has missed keepalives."""


class ChangeIndicator(Value):
    """Cheap change indicator: if it equals that of the last tick, the scheduler skips the full read."""

    now_seconds: float
    """Time of the database's clock in seconds."""
    calm: bool
    """True if every agent's session is live or was ended, none of them changed lately, and no shard or load balancer
    waits for an agent: then only a change of ``marks`` leads to a decision.
    """
    marks: tuple[float, ...]
    """Counts and sums over the agents' rows. Other values: something has changed."""
    late: int = 0
    """Number of live sessions whose agents have missed keepalives."""


class DueWork(Value):
    """Decisions that are due, as the scheduler's tick reads them."""

    now_seconds: float
    """Time of the database's clock in seconds."""
    groups: tuple[tuple[str, int], ...] = ()
    """Pairs (environment, group number) of groups in which a decision on a shard is due."""
    silence: bool = False
    """True if ``note_silence`` is due: an agent fell silent, or a circuit breaker is to open or close."""
    reach: tuple[tuple[str, int], ...] = ()
    """Pairs (environment, group number) of groups whose reachable devices differ from the recorded ones: ``note_reach``
    is due.
    """


class Change(Value):
    """An accepted write: committed, and not yet on the device."""

    load_balancer_id: LoadBalancerId
    revision: int
    environment: str
    owner: ShardOwner | None
    """The acting agent; None: no agent acts for the shard now, and the next acting agent finds the change."""
    placed: bool
    """False: the load balancer has no shard yet, and the scheduler must place it."""
    resources: tuple[Resource, ...] = ()
    """The objects of the write, in their present state."""
    tell_network: bool = False
    """True if the VIP's port has to be updated: see :class:`evenkeel.core.ports.PortStore`."""
    tree: LoadBalancerTree | None = None
    """The whole load balancer, for its creation only; else None."""
    term: OwnershipTerm | None = None
    """Ownership term of the owner, for the creation of a load balancer whose tree is all that its devices need; else
    None.
    """


class AgentLife(Value):
    """Liveness of an agent, without its load."""

    id: AgentId
    host: str
    alive: bool
    silent: bool
    """True if the agent's session has expired, and neither was ended nor its host declared dead."""
    environment: str = ""
    group_number: int = 0


class StuckLoadBalancers(Value):
    """Load balancers that do not become ACTIVE: of one device group, or of one environment if they are not placed."""

    environment: str
    group_number: int | None
    """Number of the device group; None: the load balancers are not placed yet."""
    failed: int = 0
    """Number of load balancers in ERROR."""
    waiting: int = 0
    """Number of load balancers that are PENDING with a reason."""
    example: str = ""
    """Id of one load balancer that waits."""
    pending_seconds: float = 0.0
    """Seconds since the oldest change was accepted that is PENDING without a reason; 0 if there is none."""


class LoadBalancerSummary(Value):
    """Counts of load balancers by status."""

    by_status: Mapping[str, int]
    """Number of load balancers by provisioning status, zeros included."""
    by_operating_status: Mapping[str, int]
    """Number of load balancers by operating status, zeros included."""
    waiting: int
    """Number of PENDING load balancers with a reason, for which more than time is needed."""
    oldest_pending_seconds: float
    """Seconds since the oldest change was accepted that is still PENDING; 0 if there is none."""
    stuck: tuple[StuckLoadBalancers, ...] = ()
    """Load balancers that do not become ACTIVE, by environment and device group; groups without any are missing."""
    age_seconds: float = 0.0
    """Seconds since the load balancers were counted; 0: they were counted for this answer."""


class Event(Value):
    """An event for operators. ``kind`` is stable, ``text`` is human-readable."""

    kind: str
    text: str
    id: int = 0
    at: float = 0.0
    environment: str = ""
    agent_id: AgentId = AgentId("")
    shard_id: ShardId = ShardId("")
    load_balancer_id: LoadBalancerId = LoadBalancerId("")
    user_name: str = ""
    """Name, or else id, of the operator who caused the event. Empty: the operator is unnamed, or the event has another
    cause.
    """
    user_id: str = ""
    request_id: str = ""
    """Id of the operator's API request; empty: the event is no operator's act."""
    client_address: str = ""
    """IP address from which the operator's request came."""


class TagFilter(Value):
    """Filter by tags that objects must and must not have; an empty set filters nothing. No tag
    contains a comma here.
    """

    every: tuple[str, ...] = ()
    """Tags that an object must all have."""
    some: tuple[str, ...] = ()
    """Tags of which an object must have at least one."""
    not_every: tuple[str, ...] = ()
    """Tags that an object must not have all together."""
    none: tuple[str, ...] = ()
    """Tags of which an object must have none."""


class ListQuery(Value):
    """A list request: equality filters (every name must match one of its values), order and page.

    ``project_id`` None: all projects. ``sort``: (attribute, descending) pairs; ``created_at``, ``id`` is always
    appended so that the order is total. ``limit`` None: no limit.
    """

    filters: dict[str, tuple[Any, ...]] = {}
    tags: TagFilter | None = None
    project_id: ProjectId | None = None
    sort: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    marker: str | None = None
    page_reverse: bool = False


class Page(Value):
    """One page of a list, in order. ``before``/``after``: whether there are more objects on that side."""

    items: tuple[Any, ...]
    before: bool = False
    after: bool = False


class ServedBy(Value):
    """The environment of a load balancer, and other facts that never change: so they may be cached."""

    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    provider: str
    """Name of the load balancer's environment, which cannot be deleted while the load balancer exists."""
    device_driver: str
    vip_address: str | None
    """Address of the VIP if all VIPs are of one address family. None: they are of both; or there is no VIP, or one that
    exists only while an LBaaS v1 pool has a listener.
    """


class VipPlan(Value):
    """Plan for the allocation of the VIP of a new load balancer. ``address`` set: exactly that one; else the store
    allocates a free one between ``allocation_start`` and ``allocation_end`` of the subnet, in the transaction that
    stores the load balancer.
    """

    subnet_id: str
    network_id: str
    port_id: str
    address: str | None = None
    allocation_start: str = ""
    allocation_end: str = ""
    reserved: tuple[str, ...] = ()
    """Addresses and ranges between them that must not be allocated; see :attr:`evenkeel.core.model.Subnet.reserved`."""
    claim: PortClaim | None = None
    """The claim under which the VIP's port was created outside the database; storing the load balancer confirms it."""
    tell_network: bool = False
    """True: the port exists and still has to be updated to the load balancer's options."""
    additional: tuple["VipPlan", ...] = ()
    """Plans for additional addresses, on the same network and port."""
    elsewhere: tuple["VipPlan", ...] = ()
    """Plans on other subnets, for a request that names a whole network: tried in this order if this plan's subnet has
    no free address.
    """
