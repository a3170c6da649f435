"""The messages between controllers and agents. Version 1.

The database is the truth and the queue is a hint: every message may be lost, delayed, repeated or reordered. Structs
are tagged by ``type``; unknown fields are ignored, and new fields have defaults, so that neighbouring versions
understand each other. No message holds a secret; private keys are in boxes that only the requesting process can open.

Agents call on the environment's shared callback queue and get a :class:`Reply`; controllers send hints to an
agent's own queue.
"""

from typing import Annotated

import msgspec

from evenkeel.core.adoption import FoundAddress
from evenkeel.core.certificates import CertificateKind
from evenkeel.core.enhanced_services import EnhancedService
from evenkeel.core.ids import AgentId, LoadBalancerId, ProjectId, SessionId, ShardId
from evenkeel.core.model import ListenerStatistics
from evenkeel.core.names import titled
from evenkeel.core.networks import NetworkLayout
from evenkeel.core.plans import DevicePlan
from evenkeel.core.service import ServiceDefinition
from evenkeel.core.statuses import HaType, OperatingStatus, RescheduleMode
from evenkeel.core.values import Wire

MESSAGE_VERSION = 1
"""Not raised when messages or fields with defaults are added. See ``docs/reference/messages.md`` before raising it: a
process of the previous version must understand the messages of this one.
"""

SESSION_LOST = "session_lost"
"""The ``Refused`` code that ends a session: the agent owns nothing any more."""

IMPLAUSIBLE_EPOCH = "implausible_epoch"
"""The ``Refused`` code of a call with an epoch outside the accepted range: see :mod:`evenkeel.core.epochs`."""
EPOCHS_USED_UP = "epochs_used_up"
"""The ``Refused`` code when the range of epochs is used up."""


OVERTAKEN = "overtaken"
"""The ``Refused`` code of a report that arrived after a newer one of its session was processed. Nothing of it counts:
an agent that still waits for the answer sends its findings again, and one that got none has already done so.
"""

CERTIFICATES_PER_CALL = 20
CERTIFICATES_SECONDS_MAX = 20.0
"""That controllers take to answer :class:`GetCertificates`: what the key manager has not given by then is a problem."""

ORPHANS_PER_CALL = 1000
"""Further ones are asked about when these are gone."""

LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
"""The total size of an answer sent in parts: the most that a caller holds."""


class Message(Wire):
    """Base of all messages."""


# -- agent -> controllers: calls, answered by a Reply ----------


class Register(Message, tag="register"):
    """Open a session: this process is now the agent of (environment, group, host)."""

    agent_id: AgentId
    session_id: SessionId
    environment: str
    group_number: int
    host: str
    device_driver: str
    ha_type: HaType
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    endpoints: tuple[str, ...] = ()
    """The group's devices, so that agents of one group with different devices are detected."""
    identities: dict[str, str] = {}
    """:attr:`DeviceState.identity` by endpoint, so that no device is in two groups."""
    exclusive: bool = True
    """No other device group of the environment may have one of these devices."""
    capacity: dict[str, "CapacityFigure"] = {}
    """As in :class:`ReportState`, so that a new group has its limits from the start."""
    seen: "ConfirmedState | None" = None
    """As in :class:`Keepalive`, of the process's earlier sessions."""
    names_session: bool = False
    """The process names its session in every call and report: one without is not from it."""
    sealing_key: bytes = b""
    """The public key of the process, for which private keys are sealed: see :class:`GetCertificates`. Empty: the
    process requests none.
    """
    network_layout: NetworkLayout = NetworkLayout()
    """How the group's devices are attached to networks, so that controllers allocate what they need there."""


class Keepalive(Message, tag="keepalive"):
    """Renew the session. Updates one row, however many shards the agent owns."""

    agent_id: AgentId
    session_id: SessionId
    seen: "ConfirmedState | None" = None
    as_reported: bool = False
    """The session's last :class:`ReportState` was made again since the last keepalive, and says the same. Only once a
    controller has announced :attr:`SessionState.repeats_hints`.
    """


class ConfirmedState(Wire):
    """The newest data that the database has confirmed to a process: a database that does not know it has lost
    commits.
    """

    history: str
    """:attr:`SessionState.history` in which it was confirmed."""
    keepalives: int = 0
    """:attr:`SessionState.keepalives`, the highest."""
    confirmed: "Applied | None" = None
    """An outcome of a recently accepted report."""
    confirmed_in: "ShardEpoch | None" = None
    """The shard of ``confirmed``, at the epoch at which the agent served it then, unless the agent has removed the load
    balancer since. None: it may be gone.
    """
    left: ShardId | None = None
    """A shard recently missing from the agent's assignments. Shards are never deleted: a missing row was lost."""


class ReportState(Message, tag="report_state"):
    """The full state report, every ``report_interval`` if it differs from the last one; else :class:`Keepalive` says
    so."""

    agent_id: AgentId
    session_id: SessionId
    configurations: dict[str, str] = {}
    """Settings in readable form; never secrets."""
    devices: tuple["DeviceState", ...] = ()
    queue_depth: int = 0
    """Load balancers waiting in this agent to be reconciled."""
    capacity_score: float = 0.0
    capacity: dict[str, "CapacityFigure"] = {}
    """By metric of the agent's ``capacity_policy``, as measured on the devices."""
    capacity_measured_seconds_ago: float = 0.0
    """Age of ``capacity`` when the report was made."""
    sent_at_seconds: float = 0.0
    """By the monotonic clock of the agent's process: two reports tell whether the database's clock jumped in between.
    0: of an agent of the previous version."""
    capacity_unknown: bool = False
    """There is a policy, but no measurement yet: the stored values of the group stay."""
    serving: tuple["ShardEpoch", ...] = ()
    """The shards that the agent believes to own, at most some hundreds, so that operators can compare."""
    enhanced_services: tuple[EnhancedService, ...] | None = None
    """What its operator offers to tenants; None: as in the session's report before."""
    moved_networks: tuple[str, ...] = ()
    """Networks of Neutron's whose ports have moved, at most :data:`MOVED_NETWORKS_MAX`, as the agent heard: a reason to
    read them again."""


MOVED_NETWORKS_MAX = 500


CAPACITY_MAX = 1e18
"""Of a metric's value and limit: what is computed from them stays a number."""


class CapacityFigure(Wire):
    """The measured value of a metric, and its limit by the operator's ``capacity_policy``."""

    value: Annotated[float, msgspec.Meta(ge=-CAPACITY_MAX, le=CAPACITY_MAX)]
    limit: Annotated[float, msgspec.Meta(gt=0, le=CAPACITY_MAX)]


class DeviceState(Wire):
    """The state of one device as an agent sees it."""

    name: str
    reachable: bool
    version: str = ""
    failover_state: str = ""
    problem: str = ""
    """What is missing or wrong (human-readable); empty when the device is usable."""
    identity: str = ""
    """A unique id that does not depend on the address: a serial number, the id of an installation. Empty: not known."""
    incarnation: str = ""
    """Changes whenever the device may hold another configuration than it got last: it restarted, was restored or lost
    its state. Empty: not known.
    """
    certificate_ends_at: float | None = None
    """Unix time at which the certificate that its management address shows expires; None: not known."""
    sync_state: str = ""
    """Whether its configuration is in sync with that of its cluster's other devices, in the device's own words. Empty:
    not known, or the device has no configuration synchronisation.
    """
    own_name: str = ""
    """The device's name for itself: ``name`` of a daemon beside HAProxy, the host name of a BIG-IP; that of the last
    contact while it is out of reach. Empty: not known. ``name`` identifies the device, this is shown to people."""

    @property
    def title(self) -> str:
        """The device for a text: its own name before its address."""
        return titled(self.own_name, self.name)


class GetAssignments(Message, tag="get_assignments"):
    """Request the shards of this session and the pending work in them: a page of at most ``limit`` after ``after_id``,
    in the order of their ids.
    """

    agent_id: AgentId
    session_id: SessionId
    served: tuple["FormerShard", ...] = ()
    """In a new history: shards that this process served before and that are no longer assigned to it. Those that the
    database does not know are created again, so that their configuration on the devices is removed.
    """
    takes_parts: bool = False
    """The caller accepts an answer in :class:`ReplyPart` messages."""
    after_id: str = ""
    """Of a page after the first: the last shard of the page before."""
    limit: int = 0
    """Controllers may answer with fewer. 0: all, for agents that know no pages."""


class GetServices(Message, tag="get_services"):
    """Request service definitions of a shard: those named, or all after ``after_id`` in id order, at most ``limit``."""

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    load_balancer_ids: tuple[LoadBalancerId, ...] | None = None
    after_id: str = ""
    limit: int = 100
    takes_parts: bool = False
    """As in :class:`GetAssignments`. Without it, a definition that does not fit a message is replaced by one that every
    driver refuses with that reason.
    """


class WantedCertificate(Wire):
    """What a reference of a load balancer named when its definition was made."""

    load_balancer_id: LoadBalancerId
    reference: str
    kind: CertificateKind
    sha256: str


class GetCertificates(Message, tag="get_certificates"):
    """Request the certificates that devices of a shard lack, at most :data:`CERTIFICATES_PER_CALL`. Controllers give
    only those that the shard's load balancers refer to, sealed for the key that the session was registered with.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    wanted: tuple[WantedCertificate, ...]
    takes_parts: bool = False
    """As in :class:`GetAssignments`."""


class JudgeOrphans(Message, tag="judge_orphans"):
    """Ask what is to become of load balancers, or networks of the common shard, on devices that the definitions of the
    shard did not name, at most :data:`ORPHANS_PER_CALL`. They are deleted ones that a device did not lose, or were
    never heard of by a database that lost commits. Only controllers that announce it
    (:attr:`SessionState.judges_orphans`) answer.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    load_balancer_ids: tuple[LoadBalancerId, ...]


class AdoptNetworks(Message, tag="adopt_networks"):
    """Have the shard take over the route domain and the addresses that another program gave to the devices in the
    tenant's partition, before the partition itself is adopted. Refused with ``conflict`` if it cannot: then nothing is
    changed. Only controllers that announce it (:attr:`SessionState.adopts_networks`) answer.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    route_domain: int
    """Its number on all devices of the group."""
    addresses: tuple[FoundAddress, ...] = ()
    """At most :data:`evenkeel.core.adoption.ADDRESSES_MAX`."""
    apply: bool = False
    """False: only say what would be taken over."""


class ReleaseShards(Message, tag="release_shards"):
    """Release shards: this agent has no operation in progress in them any more."""

    agent_id: AgentId
    session_id: SessionId
    shards: tuple["ShardEpoch", ...]


class ShardEpoch(Wire):
    """One shard at one epoch."""

    shard_id: ShardId
    epoch: int


class FormerShard(Wire):
    """A shard as it was served in the previous history."""

    project_id: ProjectId
    epoch: int


class RaiseEpoch(Message, tag="raise_epoch"):
    """The device's guard is newer than our epoch although the database says we own the shard (it was restored
    from a backup): request an epoch above ``seen_epoch``."""

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    seen_epoch: int


class EndSession(Message, tag="end_session"):
    """The agent stops and frees all its shards."""

    agent_id: AgentId
    session_id: SessionId


# -- agent -> controllers: reports (answered too, so that the agent knows they were committed) --------------------


class Applied(Wire):
    """The outcome for one load balancer. ``error`` empty: the device holds ``revision``."""

    load_balancer_id: LoadBalancerId
    revision: int
    change_id: str = ""
    """Of the definition that was applied."""
    error: str = ""
    waiting: bool = False
    """Not tried yet because of ``error`` (no device answers, for example): the load balancer stays PENDING, with the
    reason.
    """


class Repaired(Wire):
    """A difference that a pass found on a device and corrected: see :class:`core.device.Repair`."""

    load_balancer_id: LoadBalancerId
    device: str
    found: tuple[str, ...]


class Departure(Message, tag="departure"):
    """The connection that announced a session's presence has ended. The message broker sends it on behalf of the
    process (:class:`evenkeel.core.ports.Will`); nothing answers it. It is a reason to probe, no proof.
    """

    agent_id: AgentId
    session_id: SessionId


class ReportApplied(Message, tag="report_applied"):
    """Outcomes of one reconcile pass over a shard."""

    agent_id: AgentId
    shard_id: ShardId
    epoch: int
    outcomes: tuple[Applied, ...]
    session_id: SessionId = SessionId("")
    history: str = ""
    """:attr:`SessionState.history`, as known when the definitions were asked for."""
    carries_traffic: bool = True
    """False: objects that the device confirms are not ONLINE yet."""
    repaired: tuple[Repaired, ...] = ()


class ObservedStatus(Wire):
    """The operating status of one object as seen on the device. ``kind`` is loadbalancer, listener, pool or
    member."""

    kind: str
    id: str
    status: OperatingStatus
    reason: str = ""
    """Of a load balancer: why it is not ONLINE (human-readable); names the missing device."""


class ObservedStatistics(Wire):
    """Totals of one listener, summed over the group's devices."""

    listener_id: str
    statistics: ListenerStatistics


class ReportStatus(Message, tag="report_status"):
    """Statuses that the owner of a group's common shard observed on the devices; only changes since its last report."""

    agent_id: AgentId
    shard_id: ShardId
    epoch: int
    session_id: SessionId = SessionId("")
    statuses: tuple[ObservedStatus, ...] = ()
    statistics: tuple[ObservedStatistics, ...] = ()
    absent: tuple[LoadBalancerId, ...] = ()
    """Load balancers that were expected on the devices and missing from all of them in two observations."""
    present: tuple[LoadBalancerId, ...] = ()
    """Load balancers that were absent and are present again."""
    changed: tuple[LoadBalancerId, ...] = ()
    """Load balancers whose configuration on the devices differs from the previous observation."""
    lacking: dict[LoadBalancerId, str] = {}
    """By load balancer: reachable devices that did not hold all of it in two observations, while others did."""
    renewed: tuple[str, ...] = ()
    """Devices whose configuration is unknown: their incarnation or identity changed, or they were unreachable and
    report neither.
    """
    renewed_before: tuple[str, ...] = ()
    """Devices recently reported as ``renewed``: owners of shards that missed that hint have to read them now."""
    expected_after: str | None = None
    """Request the load balancers that are expected on the devices, those after this id."""
    number: int = 0
    """Grows by one with each report of the session: a report that arrives after a newer one is ignored. 0: not
    numbered.
    """
    tenants: tuple[ProjectId, ...] = ()
    """Tenants that have a partition of the group on a device, now and then; those without a shard are orphans."""


class ReportPlan(Message, tag="report_plan"):
    """The answer to a :class:`PlanHint`: what the next pass over the load balancer would change."""

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    inquiry_id: str
    devices: tuple[DevicePlan, ...] = ()
    problem: str = ""
    """Why there are no plans (human-readable)."""


# -- controllers -> agent ----------


class WorkHint(Message, tag="work_hint"):
    """Something below these load balancers changed. The agent's next sync makes up for lost hints."""

    shard_id: ShardId
    """Empty: of all shards that the agent serves, together with ``complete``."""
    load_balancer_ids: tuple[LoadBalancerId, ...]
    look_again: bool = False
    """No tenant changed anything: the devices may hold these otherwise than the agent left them. For a group's common
    shard: observe all statuses and report them again.
    """
    complete: bool = False
    """With ``look_again``: everything in the shard."""
    carried: "InlinedDefinitions | None" = None
    """Small definitions of some of them, so that the agent need not request these."""


class InlinedDefinitions(Wire):
    """Definitions as committed while the agent acted for the shard in this session, at this epoch and in this history
    of the database. In any other they are void. They contain no certificates.
    """

    session_id: SessionId
    epoch: int
    history: str
    services: tuple[ServiceDefinition, ...]


class AssignmentsHint(Message, tag="assignments_hint"):
    """The shards of the agent's session have changed: it has to request them."""


class PlanHint(Message, tag="plan_hint"):
    """An operator asks what the next pass over a load balancer would change. Answered by a :class:`ReportPlan` to any
    controller; agents of an earlier version do not answer.
    """

    shard_id: ShardId
    load_balancer_id: LoadBalancerId
    """Empty: the next complete pass over the shard."""
    inquiry_id: str
    adopt: bool = False
    """After the answer, take over what another program made in the tenant's partition, and make a complete pass."""


# -- replies


class Reply(Message):
    """Base of all answers to calls."""


class Done(Reply, tag="done"):
    """Committed."""


class Refused(Reply, tag="refused"):
    """Understood and refused; nothing changed. ``code`` is stable."""

    code: str
    reason: str
    retry_after_seconds: float | None = None
    """Set where the same call may succeed after that time."""


class ReplyPart(Reply, tag="part"):
    """A part of an answer that does not fit one message. Sent to callers that accept parts; code above the bus never
    sees it.
    """

    number: int
    """The first is 0."""
    count: int
    digest: str
    """SHA-256 of the whole, in hexadecimal digits: parts with another digest belong to another answer."""
    data: bytes


class SessionState(Reply, tag="session_state"):
    """The session lasts for another ``ttl_seconds``, counted from before the call was sent."""

    ttl_seconds: float
    assignments_revision: int
    """Grows whenever the set of shards this agent owns changes."""
    history: str = ""
    """The history of the database. If it changed, the database lost commits, and earlier answers and confirmations may
    not hold any more. Empty: the controller does not know histories.
    """
    keepalives: int = 0
    """Grows with every keepalive of this agent."""
    unknown_in: "ShardEpoch | None" = None
    """The shard of an outcome that was confirmed to the agent, and whose load balancer the database does not know. It
    was just deleted, or its creation was lost: then only a complete pass removes it from the devices.
    """
    takes_keepalives: bool = False
    """Keepalives may be sent to :func:`keepalive_queue`."""
    takes_light_keepalives: bool = False
    """Keepalives may be sent to :func:`transient_keepalive_queue`."""
    repeats_hints: bool = False
    """Controllers send hints again while work is not confirmed, and take :attr:`Keepalive.as_reported`: agents need
    neither ask for assignments nor report their state at each ``report_interval`` without a reason.
    """
    judges_orphans: bool = False
    """:class:`JudgeOrphans` is answered."""
    adopts_networks: bool = False
    """:class:`AdoptNetworks` is answered."""


class Assignment(Wire):
    """One shard the agent owns."""

    shard_id: ShardId
    project_id: ProjectId
    """Empty for the device group's common shard."""
    epoch: int
    handover: bool = False
    """The agent has to finish operations in progress and release it."""
    work: tuple[LoadBalancerId, ...] = ()
    """Load balancers whose newest revision is not confirmed, at most some hundreds; more follow."""


class Assignments(Reply, tag="assignments"):
    """Shards the session owns: all of them, or a page, which names all those between its ends."""

    revision: int
    """As in :class:`SessionState`, read before the shards."""
    shards: tuple[Assignment, ...]
    history: str = ""
    """As in :class:`SessionState`."""
    served_ignored: bool = False
    """The shards in :attr:`GetAssignments.served` were not looked at: by the database's clock, its history is not new.
    They are to be named again later, because that clock may have been set."""
    after_id: str = ""
    """Where the page begins. Controllers that know no pages answer with all shards, whatever was asked."""
    more: bool = False
    """There are more after the last one."""


class ServiceDefinitions(Reply, tag="services"):
    """Service definitions in id order. ``missing``: requested by id, and no longer in this shard."""

    services: tuple[ServiceDefinition, ...]
    missing: tuple[LoadBalancerId, ...] = ()
    more: bool = False
    """There are more after the last one."""


class Certificates(Reply, tag="certificates"):
    """The requested certificates, each in a sealed box that only the requesting process can open."""

    sealed: dict[str, bytes] = {}
    """By :attr:`WantedCertificate.sha256`."""
    problems: dict[str, str] = {}
    """By :attr:`WantedCertificate.sha256`: why there is none (human-readable), naming the reference."""


class OrphanVerdict(Reply, tag="orphan_verdict"):
    """The answer to :class:`JudgeOrphans`."""

    remove: tuple[LoadBalancerId, ...] = ()
    """To be removed from the devices now; all others stay."""
    kept: dict[LoadBalancerId, float | None] = {}
    """Orphans that stay, and seconds until each may be removed; None: never by itself."""
    again_seconds: float | None = None
    """When to ask again, if not before with the next complete pass."""


class NetworksAdopted(Reply, tag="networks_adopted"):
    """The answer to :class:`AdoptNetworks`: what was, or would be, taken over."""

    route_domain: int
    addresses: tuple[FoundAddress, ...] = ()
    """Of those named; the devices get others instead of the rest."""


class ReportReceipt(Reply, tag="report_receipt"):
    """The report was received. ``stale``: its epoch was old, so it was ignored."""

    stale: bool = False
    expected: tuple[LoadBalancerId, ...] | None = None
    """The answer to ``expected_after``: load balancers that must be on the devices of the group, in id order. None:
    unknown.
    """
    absent: tuple[LoadBalancerId, ...] = ()
    """Those of ``expected`` that are recorded as absent."""
    more: bool = False
    """There are more after the last one of ``expected``."""
    reached_count: int | None = None
    """How often the devices of the group became reachable again. If it changed, all statuses have to be reported again.
    None: unknown.
    """
    unknown: tuple[LoadBalancerId, ...] = ()
    """Load balancers of the report's outcomes that the shard does not have: an earlier report removed them, or the
    database lost them.
    """


Call = (
    Register
    | Keepalive
    | ReportState
    | GetAssignments
    | GetServices
    | GetCertificates
    | JudgeOrphans
    | AdoptNetworks
    | ReleaseShards
    | RaiseEpoch
    | EndSession
    | ReportApplied
    | ReportStatus
    | ReportPlan
)
Hint = WorkHint | AssignmentsHint | PlanHint
AnyReply = (
    Done
    | Refused
    | ReplyPart
    | SessionState
    | Assignments
    | ServiceDefinitions
    | Certificates
    | OrphanVerdict
    | NetworksAdopted
    | ReportReceipt
)
AnyMessage = Call | Departure | Hint | AnyReply


_CALLBACK = "evenkeel-process-on-controller_"
_KEEPALIVE = "evenkeel-keepalive-on-controller_"
_LIGHT_KEEPALIVE = "evenkeel-light-keepalive-on-controller_"


def callback_queue(environment: str) -> str:
    """The one queue of an environment that all controllers consume together."""
    return f"{_CALLBACK}{environment}"


def keepalive_queue(environment: str) -> str:
    """As :func:`callback_queue`, for keepalives only, so that they do not wait behind reports."""
    return f"{_KEEPALIVE}{environment}"


def transient_keepalive_queue(environment: str) -> str:
    """As :func:`keepalive_queue`, for keepalives that may get lost: nothing is stored, confirmed or acknowledged."""
    return f"{_LIGHT_KEEPALIVE}{environment}"


def is_callback_queue(queue: str) -> bool:
    """Whether ``queue`` is a callback queue."""
    return queue.startswith((_CALLBACK, _KEEPALIVE, _LIGHT_KEEPALIVE))


def is_transient(queue: str) -> bool:
    """Whether messages of the queue may get lost, because their senders repeat them."""
    return queue.startswith(_LIGHT_KEEPALIVE)


def presence_name(session_id: SessionId) -> str:
    """The name that an agent's process announces on the bus while it runs: see
    :meth:`evenkeel.core.ports.Bus.announce`.
    """
    return f"evenkeel-presence_{session_id}"


def agent_queue(environment: str, group_number: int, host: str) -> str:
    """The queue of one agent."""
    return f"evenkeel-process-on-agent_{environment}.{group_number}.{host}"
