"""The ports: what the rooms need from the world. Each has adapters in a room of its own, wired in ``evenkeel.cmd``.

Every method may raise the port's ``Unavailable`` error; callers decide whether to wait.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Protocol

from evenkeel.core.catalogue import AvailabilityZone, CatalogueEntry, CatalogueKind, Flavor, Offer
from evenkeel.core.control import (
    Agent,
    Change,
    Environment,
    Event,
    GroupReach,
    History,
    ListQuery,
    LookAgain,
    Page,
    ServedBy,
    SessionRef,
    Shard,
    ShardOwner,
    Stock,
    VipPlan,
)
from evenkeel.core.device import DeviceFacts, DeviceState, Observation, PartitionBatch, PartitionOutcome
from evenkeel.core.ids import AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.messages import (
    AnyMessage,
    AnyReply,
    Assignments,
    Call,
    Hint,
    Register,
    ReportApplied,
    ReportReceipt,
    ReportState,
    ReportStatus,
    Seen,
    ServedShard,
    Services,
    SessionState,
)
from evenkeel.core.model import (
    Child,
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    ListenerStatistics,
    LoadBalancerTree,
    Member,
    NewPool,
    Pool,
    Subnet,
)
from evenkeel.core.network import (
    NO_OPTIONS,
    DueClaim,
    DuePort,
    PortOptions,
    Segment,
    VipClaim,
    VipPort,
    WantedVip,
)
from evenkeel.core.placement import Assign, GroupSnapshot, GroupView
from evenkeel.core.pool_rooted import PoolRootedStore
from evenkeel.core.quota import Limits, ProjectQuotas, Quotas


class Clock(Protocol):
    """Monotonic time. Only for waiting and for leases; what is stored takes the database's time."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``."""
        ...


# -- bus

Handler = Callable[[AnyMessage], Awaitable[AnyReply | None]]
"""Works on one message. The message is acknowledged (and the reply sent) after it returns; if it raises, the
message is delivered again later, a bounded number of times."""


class Subscription(Protocol):
    """A running consumer."""

    async def close(self) -> None:
        """Take no more messages; wait for those being worked on."""
        ...


class Bus(Protocol):
    """Messages between processes. Queues are durable and made on first use."""

    async def start(self) -> None:
        """Connect. Raises :class:`BusUnavailable` when the bus cannot be reached within its time-out."""
        ...

    async def send(self, queue: str, message: Hint) -> None:
        """Hand a message over durably. Raises :class:`BusUnavailable`, :class:`MessageTooLarge`."""
        ...

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        """Send and wait for the answer. Raises :class:`CallTimeout`, :class:`BusUnavailable`,
        :class:`MessageTooLarge`."""
        ...

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> Subscription:
        """Work on the queue's messages, up to ``concurrency`` at a time, in competition with other consumers.

        Reconnects by itself for as long as it is not closed.
        """
        ...

    async def announce(self, name: str) -> Subscription:
        """Make ``name`` present until the subscription is closed or this process is gone, however it went.

        It is announced again by itself after a lost connection. Raises :class:`BusUnavailable`.
        """
        ...

    async def present(self, name: str) -> bool | None:
        """Is an announced name there? None: cannot be said.

        False is said only of a name that this bus saw present since its own connection was last made: a process that
        visibly vanished, and not one that is a moment later than we are after the broker was restarted.
        """
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...


# -- devices


class Device(Protocol):
    """One device group. Stateless towards callers: any agent of the group may call at any time; the guard decides."""

    @property
    def facts(self) -> DeviceFacts:
        """What it is."""
        ...

    async def check(self) -> tuple[DeviceState, ...]:
        """Look whether each device meets the minimum. Never raises for a device's sake: see ``problem``."""
        ...

    async def take_over(self, project_id: str, epoch: int, session_id: SessionId) -> None:
        """Move the guard of the tenant's partition to ``epoch`` and ``session_id`` on every reachable device; made if
        absent. What the partition holds is not known then: a complete batch is to follow.

        Raises :class:`StaleOwner` if a device holds a newer guard, or one of this epoch and another session;
        :class:`DeviceUnavailable` if none is reachable.
        """
        ...

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Make the partition look as the batch says, guarded by its epoch, on every device of the group.

        One bad load balancer costs only its own outcome. Raises :class:`StaleOwner`; :class:`GuardLost` if a
        reachable device holds neither this guard nor a newer one (nothing was written to that one);
        :class:`DeviceUnavailable` (no device reachable; nothing known to be written).
        """
        ...

    async def observe(self) -> Observation:
        """Statuses and statistics of everything that carries our mark, by a constant number of bulk reads."""
        ...

    async def changed(self) -> None:
        """Return when the devices tell that an operating status is otherwise than :meth:`observe` said last.

        Never returns for devices that cannot tell: those are only looked at now and then. Never raises for a
        device's sake.
        """
        ...

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """How much is used of each of these :class:`~evenkeel.core.capacity.Metric`, on the fullest device; without
        those that cannot be said (a rate needs two looks). A constant number of reads. Raises
        :class:`DeviceUnavailable`."""
        ...

    def forget(self, project_id: str) -> None:
        """Drop whatever is remembered of the partition: it is somebody else's, or may have changed."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...


# -- network


LookUp = Literal["subnets", "networks", "ports", "policies", "security_groups"]
"""What clients look up by name or id; ``policies`` are those of QoS."""


class Network(Protocol):
    """Where VIPs come from, and what the devices need to know of networks."""

    @property
    def has_ports(self) -> bool:
        """VIPs have ports outside the database, which follow when their load balancers change."""
        ...

    async def plan_vip(
        self,
        *,
        project_id: str,
        load_balancer_id: LoadBalancerId,
        subnet_id: str | None,
        network_id: str | None,
        port_id: str | None,
        address: str | None,
        marked: VipPort | None = None,
        additional: Sequence[WantedVip] = (),
        options: PortOptions = NO_OPTIONS,
        any_address: bool = False,
    ) -> VipPlan:
        """How the VIP is to be taken. ``marked``: what a port made for it says; None: what Octavia's say.
        ``additional``: more addresses for the same port, of other subnets of the same network. ``any_address``: an
        operator asks, who may have an address outside the subnet's allocation range, where that is ours to say.

        Raises :class:`Invalid` or :class:`NotFound` naming the field, :class:`Conflict` for an address in use,
        :class:`NetworkUnavailable`. Whatever it raises, nothing stays taken.
        """
        ...

    async def abandon_vip(self, plan: VipPlan) -> None:
        """The load balancer was not stored: have what :meth:`plan_vip` took given back soon. Never raises; without
        this it is given back later."""
        ...

    async def release_vip(self, claim: VipClaim) -> bool:
        """Give back what :meth:`plan_vip` took outside the database; was there anything? Repeating it is harmless.

        Raises :class:`NetworkUnavailable`; :class:`Conflict` if this one is refused."""
        ...

    async def check_options(self, project_id: str, options: PortOptions) -> None:
        """May a port of the project have these? Raises :class:`Invalid` or :class:`NotFound` naming what it may not,
        :class:`NetworkUnavailable`."""
        ...

    async def set_options(self, port_id: str, read: Callable[[], Awaitable[PortOptions | None]]) -> None:
        """Give the port what ``read`` says; nothing if that is None or the port is gone. A change to the port that
        came in between is never undone: then ``read`` is asked again.

        Raises :class:`NetworkUnavailable`; :class:`Conflict` if they are refused."""
        ...

    async def segment(self, network_id: str, subnet_id: str) -> Segment:
        """What devices need to know to be attached. Raises :class:`NotFound`, :class:`NetworkUnavailable`."""
        ...

    async def look_up(
        self, kind: LookUp, filters: Mapping[str, str], *, project_id: str | None
    ) -> tuple[Mapping[str, Any], ...]:
        """What there is of a kind that the project may use (None: of every project), as Neutron's API shows it.

        ``filters``: values of ``id``, ``name``, ``network_id``. Raises :class:`NetworkUnavailable`."""
        ...


# -- store


class TenantStore(Protocol):
    """What the API reads and writes. Every write is one transaction that

    locks the load balancer by raising its revision (compare-and-set), marks what it touches PENDING_*, sets the
    PENDING deadline and returns a :class:`Change`. A write is accepted while an earlier one is PENDING, and on an
    ERROR load balancer; on one marked deleted it is a :class:`Conflict`. ``project_id`` None means "any project";
    else an
    object of another project is :class:`NotFound`. Constant number of queries whatever the size of the tree.
    """

    async def create_load_balancer(self, tree: LoadBalancerTree, vip: VipPlan | None) -> Change:
        """Store a whole tree; without a VIP if it is made for a pool of LBaaS v1. A health monitor that names a shared
        one becomes what that is. Raises :class:`Conflict` for a VIP address in use or an id that exists,
        :class:`Invalid` for a flavor or availability zone that is gone, :class:`NotFound` for a shared monitor."""
        ...

    async def update_load_balancer(
        self,
        load_balancer_id: LoadBalancerId,
        changes: Mapping[str, Any],
        *,
        project_id: str | None,
        tell_network: bool = False,
    ) -> Change:
        """Change attributes of the root object. ``tell_network``: its VIP's port is to follow, see
        :class:`PortStore`."""
        ...

    async def fail_over_load_balancer(self, load_balancer_id: LoadBalancerId, *, project_id: str | None) -> Change:
        """Have its device brought up to date again: a revision that differs in nothing."""
        ...

    async def delete_load_balancer(
        self, load_balancer_id: LoadBalancerId, *, cascade: bool, project_id: str | None
    ) -> Change:
        """Mark it deleted. :class:`Invalid` if it has listeners or pools and not ``cascade``. Repeating it is
        harmless.

        One that was never placed goes at once.
        """
        ...

    async def add_listener(
        self,
        row: Listener,
        l7policies: Sequence[L7Policy] = (),
        l7rules: Sequence[L7Rule] = (),
        *,
        new_pools: Sequence[NewPool] = (),
        project_id: str | None,
    ) -> Change:
        """``row.load_balancer_id`` is given, the policies' positions are right. ``new_pools``: those that come with
        it, which it and its policies name like any other. Same port on the load balancer: :class:`Conflict`."""
        ...

    async def add_l7policy(
        self, row: L7Policy, rules: Sequence[L7Rule], *, new_pool: NewPool | None = None, project_id: str | None
    ) -> Change:
        """``row.listener_id`` is given. It takes the place ``row.position``, or the one after the last if that is
        less; those from there on move up. ``new_pool``: the one it sends to, if it comes with it.
        :class:`NotFound` for a pool that is not of the load balancer, :class:`Invalid` for one of the wrong
        protocol."""
        ...

    async def add_l7rule(self, row: L7Rule, *, project_id: str | None) -> Change:
        """``row.l7policy_id`` is given. More rules than are allowed: :class:`Conflict`."""
        ...

    async def add_pool(
        self,
        row: Pool,
        members: Sequence[Member],
        monitor: HealthMonitor | None,
        *,
        listener_id: str | None,
        project_id: str | None,
    ) -> Change:
        """``row.load_balancer_id`` may be empty if ``listener_id`` is given: then the listener's, whose default
        pool it
        becomes; :class:`Conflict` if that has one already."""
        ...

    async def add_member(self, row: Member, *, project_id: str | None) -> Change:
        """``row.pool_id`` is given, ``row.load_balancer_id`` is filled in. Same address and port:
        :class:`Conflict`."""
        ...

    async def add_members(self, rows: Sequence[Member], *, project_id: str | None) -> Change:
        """As :meth:`add_member`, for one or more of one pool: all are added or none."""
        ...

    async def add_health_monitor(self, row: HealthMonitor, *, project_id: str | None) -> Change:
        """``row.pool_id`` is given. A second monitor of the pool: :class:`Conflict`."""
        ...

    async def replace_members(
        self, pool_id: str, members: Sequence[Member], *, additive_only: bool, project_id: str | None
    ) -> Change:
        """Make the pool's members exactly ``members``, matched by (address, port); only add and change if
        ``additive_only``."""
        ...

    async def update_child(
        self,
        kind: type[Child],
        child_id: str,
        changes: Mapping[str, Any],
        *,
        parent_id: str | None = None,
        project_id: str | None,
    ) -> Change:
        """Change attributes of a child; ``parent_id`` is the pool of a member, the policy of a rule. An L7 policy that
        is given a position moves there, and those in between make room."""
        ...

    async def delete_child(
        self,
        kind: type[Child],
        child_id: str,
        *,
        parent_id: str | None = None,
        restrict: bool = False,
        project_id: str | None,
    ) -> Change:
        """Mark a child (and what is below it) deleted. A pool that an L7 policy sends to: :class:`Conflict`.

        ``restrict``: a listener with L7 policies and a pool with a health monitor are a :class:`Conflict`, and L7
        policies that send to the pool reject from then on."""
        ...

    async def get(
        self, kind: type[Any], object_id: str, *, parent_id: str | None = None, project_id: str | None
    ) -> Any:
        """One object with its ids of children. Raises :class:`NotFound`."""
        ...

    async def served_by(self, kind: type[Any], object_id: str, *, project_id: str | None) -> ServedBy:
        """What serves the load balancer that the object is or belongs to; one query. Raises :class:`NotFound`."""
        ...

    async def list(self, kind: type[Any], query: ListQuery, *, parent_id: str | None = None) -> Page:
        """A page of objects. Unknown filter or sort names and markers are :class:`Invalid`."""
        ...

    async def tree(
        self, load_balancer_id: LoadBalancerId, *, project_id: str | None, statuses_only: bool = False
    ) -> LoadBalancerTree:
        """Everything of one load balancer, those marked deleted included; with ``statuses_only`` without tags and
        descriptions, which may be most of it. Raises :class:`NotFound`."""
        ...

    async def statistics(
        self, load_balancer_id: LoadBalancerId, *, listener_id: str | None = None
    ) -> ListenerStatistics:
        """Totals of one listener or, summed, of the load balancer."""
        ...

    async def subnets(self) -> tuple[Subnet, ...]:
        """All address pools of the built-in network."""
        ...

    async def add_subnet(self, subnet: Subnet) -> Subnet:
        """Store an address pool. Raises :class:`Conflict` if the id or name exists."""
        ...

    async def delete_subnet(self, subnet_id: str) -> None:
        """Raises :class:`NotFound`, :class:`Conflict` while a load balancer uses it."""
        ...


class OperatorStore(Protocol):
    """What the operators' API reads and writes."""

    async def environments(self) -> tuple[Environment, ...]:
        """All, by name."""
        ...

    async def add_environment(self, environment: Environment) -> Environment:
        """Store one. The same again is harmless; one that differs is a :class:`Conflict`."""
        ...

    async def agents(self, *, environment: str | None = None) -> tuple[Agent, ...]:
        """All agents with their load, by environment, group and host. Constant number of queries."""
        ...

    async def agent(self, agent_id: AgentId) -> Agent:
        """Raises :class:`NotFound`."""
        ...

    async def update_environment(self, name: str, changes: Mapping[str, Any]) -> Environment:
        """Change ``description``, ``failback``, ``breaker_share``, ``breaker_agents``. Raises :class:`NotFound`,
        :class:`Invalid`."""
        ...

    async def history(self) -> History:
        """Which history of the database this is."""
        ...

    async def new_history(self) -> History:
        """Begin another one, after the database was restored or has lost commits: every agent looks at everything it
        serves, and what was ACTIVE is PENDING_UPDATE until then."""
        ...

    async def resume_environment(self, name: str) -> Environment:
        """Close the circuit breaker: the agents silent until now count as lost for good, and their shards move.
        Repeating it is harmless. Raises :class:`NotFound`."""
        ...

    async def delete_environment(self, name: str) -> None:
        """Raises :class:`NotFound`; :class:`Conflict` while it has agents or load balancers."""
        ...

    async def set_agent_admin_state(self, agent_id: AgentId, up: bool) -> Agent:
        """Down is drained: it gets no new shards, and those it serves are handed over, release before acquire.
        Repeating it is harmless. Raises :class:`NotFound`."""
        ...

    async def force_agent_down(self, agent_id: AgentId, down: bool) -> Agent:
        """Declare its host dead, or not: whatever it serves moves at once, also in mode ``relocate``. Raises
        :class:`NotFound`."""
        ...

    async def ask_failback(self, agent_id: AgentId) -> Agent:
        """Have its shards handed back. Raises :class:`NotFound`; :class:`Conflict` where the environment's failback
        is ``never``."""
        ...

    async def rebind_agent(self, agent_id: AgentId, to_agent_id: str) -> int:
        """Another agent of its group becomes the home of all its shards; how many. What it acts for moves by and by.

        Repeating it is harmless. Raises :class:`NotFound`, :class:`Conflict` naming ``to`` (no other agent of its
        group)."""
        ...

    async def delete_agent(self, agent_id: AgentId, *, rebind_to: str | None = None) -> None:
        """Raises :class:`NotFound`; :class:`Conflict` while it is alive, or home to a shard with load balancers
        unless those are rebound in the same transaction."""
        ...

    async def load_balancers_on_agent(self, agent_id: AgentId, query: ListQuery) -> Page:
        """Load balancers the agent acts for or is home to. Raises :class:`NotFound`."""
        ...

    async def hosting(self, load_balancer_id: LoadBalancerId) -> Shard | None:
        """The shard of a load balancer; None if not placed. Raises :class:`NotFound`."""
        ...

    async def shards(self, *, environment: str | None = None, agent_id: AgentId | None = None) -> tuple[Shard, ...]:
        """Shards, by environment, group and tenant."""
        ...

    async def events(self, *, after: int = 0, limit: int = 100, newest: bool = False) -> tuple[Event, ...]:
        """Events with an id above ``after``, oldest first; with ``newest`` the last ``limit`` of them."""
        ...

    async def out_of_reach(self) -> tuple[GroupReach, ...]:
        """Device groups that are not wholly in reach, or that nobody looks at; one query."""
        ...

    async def summary(self) -> Mapping[str, int]:
        """Counts of load balancers by provisioning status, keys as in the API; one query."""
        ...


class OwnershipStore(Protocol):
    """Sessions, shards and reports: where two processes meet. Everything is compare-and-set; expiry is by the
    database's clock."""

    async def register(self, call: Register, *, ttl_seconds: float) -> SessionState:
        """Open the session. Raises :class:`CallRefused` with code ``unknown_environment``, ``contradiction``
        (device driver,
        HA type or endpoints differ from the environment's or group's) or ``duplicate`` (another session of that
        (environment, group, host) or agent id is live). Makes the group's common shard if there is none."""
        ...

    async def keepalive(
        self, agent_id: AgentId, session_id: SessionId, *, ttl_seconds: float, seen: Seen | None = None
    ) -> SessionState:
        """Renew, one row. Raises :class:`SessionLost` if it was ended or replaced. A new history begins if the database
        does not know what was confirmed to the agent (``seen``).

        One that has expired lives again: whatever was taken from it meanwhile has another epoch, and what was not
        is still its own. So an outage of the bus or the database moves nothing by itself.
        """
        ...

    async def record_state(self, call: ReportState) -> None:
        """Store a state report. Raises :class:`SessionLost`."""
        ...

    async def end_session(self, agent_id: AgentId, session_id: SessionId) -> None:
        """End it and free its shards. Harmless if it has ended."""
        ...

    async def assignments(
        self, agent_id: AgentId, session_id: SessionId, *, work_limit: int, served: Sequence[ServedShard] = ()
    ) -> Assignments:
        """The session's shards and their unconfirmed load balancers. ``served``: see :class:`GetAssignments`; taken for
        a while after a new history has begun. Raises :class:`SessionLost`."""
        ...

    async def services(
        self,
        agent_id: AgentId,
        session_id: SessionId,
        shard_id: ShardId,
        epoch: int,
        *,
        load_balancer_ids: Sequence[LoadBalancerId] | None,
        after_id: str,
        limit: int,
    ) -> Services:
        """Definitions of a shard. Raises :class:`SessionLost` if the agent does not own it at that epoch, or the
        session is not the agent's."""
        ...

    async def release(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int
    ) -> ShardOwner | None:
        """Free a shard, or pass it to ``handover_to`` with the next epoch; that agent is returned. None if nothing
        changed hands. Harmless if the epoch is old. Raises :class:`SessionLost` if the session is not the agent's."""
        ...

    async def raise_epoch(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int, seen_epoch: int
    ) -> bool:
        """Lift the shard's epoch above ``seen_epoch``, by at most one jump, still owned by the agent. False if it no
        longer owns it at ``epoch`` in that session. Raises :class:`CallRefused` if there is no higher one."""
        ...

    async def record_applied(self, report: ReportApplied) -> ReportReceipt:
        """Outcomes: confirmed revisions become ACTIVE (or PENDING_* if a newer one was accepted since) and
        confirmed deletes
        remove rows; errors become ERROR with the reason if the revision is still the newest. Old epochs, and sessions
        that are not the agent's, are ignored, ``stale``.
        A revision never goes backwards. An event is recorded only when the status changes."""
        ...

    async def record_observed(self, report: ReportStatus) -> ReportReceipt:
        """Operating statuses and statistics, a constant number of statements. Old epochs, and sessions that are not the
        agent's, are ignored, ``stale``. Raises :class:`CallRefused` for a numbered report that comes after a newer one
        of its session, and then takes nothing of it."""
        ...

    async def note_findings(self, report: ReportStatus) -> tuple[LookAgain, ...]:
        """What the devices do not hold as they should: absent load balancers become ERROR with all below them, those
        that are present again lose that reason; an event for each change. Returns who is to look, and at what. A
        constant number of statements for each thousand. Old epochs are ignored. Raises :class:`CallRefused` as
        :meth:`record_observed` does."""
        ...

    async def expected(self, report: ReportStatus, *, limit: int) -> ReportReceipt:
        """The load balancers after ``expected_after`` that the devices of the group are to hold, in id order: confirmed
        ones that are not deleted, and have a VIP that they are to keep. ``stale`` for old epochs."""
        ...

    # scheduler

    async def unplaced(self, *, limit: int) -> tuple[tuple[LoadBalancerId, str, str], ...]:
        """(load balancer id, environment, project id) of those without a shard, oldest first."""
        ...

    async def groups(
        self,
        environment: str,
        project_id: str,
        *,
        settle_seconds: float,
        load_balancer_id: LoadBalancerId | None = None,
    ) -> tuple[GroupView, ...]:
        """The environment's device groups as placement sees them. Constant number of queries. ``load_balancer_id``: for
        this one, which may be bound to a group by its availability zone."""
        ...

    async def place(
        self,
        load_balancer_id: LoadBalancerId,
        environment: str,
        project_id: str,
        group_number: int,
        home_agent_id: AgentId | None,
    ) -> ShardOwner | None:
        """Bind the load balancer to the tenant's shard on that group, which is made with that home, acting agent and
        epoch 1 if there is none; without a home none is made. Returns the acting agent. None if the load balancer was
        placed or removed meanwhile, or the group is full by its agents' capacity policy: what the load balancer will
        need is reserved until measured."""
        ...

    async def explain_unplaced(self, load_balancer_ids: Sequence[LoadBalancerId], reason: str) -> None:
        """Write on them why they wait; no change if it is there already."""
        ...

    async def take_stock(self, *, settle_seconds: float, breaker_window_seconds: float, homes: bool) -> Stock:
        """Which groups have a shard without a live acting agent, with one that is to leave, with a handover to end,
        or (only if ``homes``) away from a home that wants it; and whether an agent fell silent.
        Two small queries and one that reads indexes when there is nothing to do."""
        ...

    async def note_silence(self, *, breaker_window_seconds: float) -> None:
        """Record agents that fell silent, once each, and open or close circuit breakers."""
        ...

    async def note_reach(self, environment: str, group_number: int) -> ShardOwner | None:
        """Judge which devices of a group its agents reach, and write down what changed: an event for each device that
        went out of reach or came back, and on the load balancers of a group of which none is reached, or that nobody
        looks at (see :mod:`evenkeel.core.reach`). Returns who is to look at the devices again, so that statuses say
        what is seen."""
        ...

    async def group_snapshot(self, environment: str, group_number: int, *, settle_seconds: float) -> GroupSnapshot:
        """One group: shards that need a decision (see above), and all its agents."""
        ...

    async def sessions(self) -> tuple[SessionRef, ...]:
        """The sessions that stand now."""
        ...

    async def suspect(self, sessions: Sequence[SessionRef]) -> int:
        """Their processes visibly vanished: the sessions end now and not when their time is up; how many did.
        A keepalive of one that was suspected wrongly revives it."""
        ...

    async def assign(self, steps: Sequence[Assign]) -> tuple[ShardOwner, ...]:
        """Takeovers, in one transaction: acting agent = ``agent_id``, epoch + 1, each if its epoch is still the seen
        one, its acting agent is still not live (or its handover long overdue) and the new one is eligible. Returns
        the new owners of those that succeeded."""
        ...

    async def start_handover(
        self, shard_id: ShardId, seen_epoch: int, agent_id: AgentId, *, rebind: bool = False
    ) -> ShardOwner | None:
        """Ask the acting agent to release the shard to ``agent_id``, which with ``rebind`` becomes its home too.
        Returns the acting agent, who must be told."""
        ...

    # sweeper

    async def mark_overdue(self, *, limit: int) -> int:
        """PENDING_* past its deadline becomes ERROR with a reason; returns how many. Those not placed are left."""
        ...

    async def add_event(self, event: Event) -> None:
        """Record an event."""
        ...

    async def trim_events(self, *, keep: int) -> int:
        """Remove the oldest events beyond ``keep``."""
        ...


class ClaimStore(Protocol):
    """What was taken of a network service, and has to be given back to it."""

    async def claim_vip(self, claim: VipClaim, *, grace_seconds: float) -> None:
        """Write down what may be taken. Due ``grace_seconds`` later unless a load balancer holds it by then; and
        from the moment on that that load balancer's row is removed. Raises :class:`Conflict` if there is one."""
        ...

    async def abandon_vip(self, claim: VipClaim) -> None:
        """It is due now, unless a load balancer holds it. Written down again if it was forgotten meanwhile."""
        ...

    async def forget_vip(self, load_balancer_id: LoadBalancerId) -> None:
        """It was given back, or never taken. One that a load balancer holds stays. Repeating it is harmless."""
        ...

    async def take_due_claims(self, *, limit: int, retry_seconds: float) -> tuple[DueClaim, ...]:
        """Claims that are due, longest first, each to one caller only: for all others it is due again after
        ``retry_seconds``, doubled with each attempt up to five minutes. One query if none is."""
        ...


class PortStore(Protocol):
    """What the network service is still to be told of VIPs' ports. It is written down by the accepted change itself."""

    async def port_of(self, load_balancer_id: LoadBalancerId) -> DuePort | None:
        """What the port is to have, as it is now; None: the load balancer is gone, or its port is as it should be."""
        ...

    async def port_set(self, port: DuePort) -> bool:
        """The network service was told. False: it was changed again meanwhile, and is still to be told."""
        ...

    async def take_due_ports(self, *, limit: int, retry_seconds: float) -> tuple[LoadBalancerId, ...]:
        """Load balancers whose ports are still to be changed, longest first, each to one caller only: for all others
        it is due again after ``retry_seconds``, doubled with each attempt up to five minutes. One query if none is."""
        ...


class QuotaStore(Protocol):
    """How much projects may have. The limits hold in every write that makes something: it raises :class:`QuotaMet`."""

    def default_quotas(self) -> Quotas:
        """Of projects that have none of their own."""
        ...

    async def quotas_of(self, project_id: str) -> ProjectQuotas:
        """The project's quotas, the default ones filled in; one query."""
        ...

    async def list_quotas(self, query: ListQuery) -> Page:
        """A page of the quotas of projects that have some of their own. Raises as :meth:`TenantStore.list`."""
        ...

    async def set_quotas(self, project_id: str, limits: Limits) -> ProjectQuotas:
        """Set those given; None: back to the default. What is there already stays."""
        ...


class CatalogueStore(Protocol):
    """Flavors, availability zones (known by name) and their profiles."""

    async def list_catalogue(self, kind: CatalogueKind, query: ListQuery) -> Page:
        """A page of one kind. Raises as :meth:`TenantStore.list`."""
        ...

    async def catalogue_entry(self, kind: CatalogueKind, key: str) -> Any:
        """One of a kind. Raises :class:`NotFound`."""
        ...

    async def add_catalogue_entry(self, entry: CatalogueEntry) -> Any:
        """Store one. Raises :class:`Conflict` if the name is taken, :class:`Invalid` if there is no such profile."""
        ...

    async def update_catalogue_entry(self, kind: CatalogueKind, key: str, changes: Mapping[str, Any]) -> Any:
        """Change attributes. Raises :class:`NotFound`; :class:`Conflict` if the name is taken, or for anything but the
        name of a profile in use."""
        ...

    async def delete_catalogue_entry(self, kind: CatalogueKind, key: str) -> None:
        """Raises :class:`NotFound`, :class:`Conflict` while it is in use."""
        ...

    async def offer(self, kind: type[Flavor] | type[AvailabilityZone], key: str) -> Offer | None:
        """What choosing it means; None: there is none. One query."""
        ...


class Store(
    TenantStore,
    PoolRootedStore,
    OperatorStore,
    OwnershipStore,
    ClaimStore,
    PortStore,
    QuotaStore,
    CatalogueStore,
    Protocol,
):
    """The database."""

    async def start(self) -> None:
        """Connect and bring the schema up to date. Raises :class:`StoreUnavailable`."""
        ...

    async def ping(self) -> None:
        """Raises :class:`StoreUnavailable` unless the database answers."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...


__all__ = [
    "Bus",
    "ClaimStore",
    "Clock",
    "Device",
    "DeviceState",
    "Handler",
    "LookUp",
    "Network",
    "OperatorStore",
    "OwnershipStore",
    "Store",
    "Subscription",
    "TenantStore",
]
