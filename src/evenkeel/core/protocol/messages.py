"""The messages between controllers and agents. Version 1.

The database is the truth and the queue is a hint: every message may be lost, delayed, repeated or reordered. Structs
are tagged by ``type``; unknown fields are ignored, and new fields have defaults, so that processes of adjacent versions
understand each other. No message holds a secret in plain text; private keys are in boxes that only the requesting
process can open.

Agents make calls to the environment's shared callback queue and get a :class:`Reply`; controllers send *hints* to an
agent's own queue: messages without an answer, which say that work may be due and whose loss is made up for by the next
sync.
"""

from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.devices.adoption import FoundAddress, ListenerIrules
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, SessionId, ShardId
from evenkeel.core.kit.values import Wire
from evenkeel.core.networking.networks import NetworkLayout
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.core.resources.enhanced_services import EnhancedService
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from evenkeel.core.status.device_state import DeviceState
from evenkeel.core.status.outcomes import Applied, ObservedStatistics, ObservedStatus
from evenkeel.core.tls.certificates import CertificateKind

MESSAGE_VERSION = 1
"""Version of the messages. It is not raised when messages or fields with defaults are added. See
``docs/reference/messages.md`` before raising it: a process of the previous version must understand the messages of this
one.
"""


SESSION_LOST = "session_lost"
"""The ``Refused`` code that ends a session: the agent owns nothing any more."""


IMPLAUSIBLE_EPOCH = "implausible_epoch"
"""The ``Refused`` code of a call with an epoch outside the accepted range: see :mod:`evenkeel.core.control.epochs`."""


EPOCHS_USED_UP = "epochs_used_up"
"""The ``Refused`` code when the range of epochs is used up."""


OVERTAKEN = "overtaken"
"""The ``Refused`` code of a report that arrived after a newer one of its session was processed.

Its content is ignored: an agent that still waits for the answer sends its findings again, and an agent that stopped
waiting has already done so.
"""


CERTIFICATES_PER_CALL = 20
"""Maximum number of certificates in one :class:`GetCertificates`; agents request further ones in the next call."""


CERTIFICATES_SECONDS_MAX = 20.0
"""Seconds within which controllers answer :class:`GetCertificates`: content that the key manager has not returned by
then is reported as a problem.
"""


ORPHANS_PER_CALL = 1000
"""Maximum number of orphans (load balancers on devices that the database lacks) in one :class:`JudgeOrphans`; the agent
requests verdicts for further ones after these are removed.
"""


LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
"""Maximum total size of an answer sent in parts, because the caller holds all of it in memory."""


class Message(Wire):
    """Base class of all messages between controllers and agents. Every call may be answered by
    :class:`Refused`.
    """


# -- agent -> controllers: calls, answered by a Reply ----------


class Register(Message, tag="register"):
    """Call to open a session: this process is now the agent of (environment, group, host). Answered by
    :class:`SessionState`.
    """

    agent_id: AgentId
    session_id: SessionId
    environment: str
    group_number: int
    host: str
    device_driver: str
    ha_type: HaType
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    endpoints: tuple[str, ...] = ()
    """Addresses of the group's devices, so that agents of one group with different devices are detected."""
    identities: dict[str, str] = {}
    """:attr:`DeviceState.identity` by endpoint, so that a device that is in two groups is detected."""
    exclusive: bool = True
    """True: no other device group of the environment may have one of this group's devices."""
    capacity: dict[str, "CapacityFigure"] = {}
    """Capacity figures as in :attr:`ReportState.capacity`, so that a new group has its limits from the start."""
    seen: "ConfirmedState | None" = None
    """State confirmed to earlier sessions of the process: see :attr:`Keepalive.seen`."""
    sealing_key: bytes = b""
    """The public key of the process, for which private keys are sealed: see :class:`GetCertificates`. Empty: the
    process requests none.
    """
    network_layout: NetworkLayout = NetworkLayout()
    """Attachment of the group's devices to networks, so that controllers allocate the objects needed there."""


class Keepalive(Message, tag="keepalive"):
    """Call to renew the agent's session, which updates one row, however many shards the agent owns. Answered
    by :class:`SessionState`.
    """

    agent_id: AgentId
    session_id: SessionId
    seen: "ConfirmedState | None" = None
    as_reported: bool = False
    """True: the session's last :class:`ReportState` was computed again since the last keepalive, and is unchanged.
    """


class ConfirmedState(Wire):
    """The newest data that the database has confirmed to a process: a database that does not contain this data has lost
    commits.
    """

    history: str
    """Id of the database's history (:attr:`SessionState.history`) in which the data was confirmed."""
    keepalives: int = 0
    """Highest :attr:`SessionState.keepalives` that was confirmed in that history."""
    confirmed: "Applied | None" = None
    """An outcome from a recently accepted report."""
    confirmed_in: "ShardEpoch | None" = None
    """The shard of ``confirmed``, at the epoch at which the agent served it then. None: the agent has removed the load
    balancer since, so its row may be gone.
    """
    left: ShardId | None = None
    """Id of a shard recently removed from the agent's assignments. Shards are never deleted: a missing row was lost."""


class ReportState(Message, tag="report_state"):
    """Call with the full state report of an agent, sent every ``report_interval`` if it differs from the last
    one; otherwise :attr:`Keepalive.as_reported` replaces it. Answered by :class:`Done`.
    """

    agent_id: AgentId
    session_id: SessionId
    configurations: dict[str, str] = {}
    """The agent's settings in readable form; never secrets."""
    devices: tuple["DeviceState", ...] = ()
    queue_depth: int = 0
    """Number of load balancers waiting in this agent to be reconciled."""
    capacity_score: float = 0.0
    capacity: dict[str, "CapacityFigure"] = {}
    """Figures measured on the devices, by metric of the agent's ``capacity_policy``."""
    capacity_measured_seconds_ago: float = 0.0
    """Age of ``capacity`` in seconds when the report was made."""
    sent_at_seconds: float = 0.0
    """Time of the report by the monotonic clock of the agent's process: two reports show whether the database's clock
    jumped in between. 0: not given.
    """
    capacity_unknown: bool = False
    """True: the agent has a capacity policy, but no measurement yet, so that the stored values of the group stay
    unchanged.
    """
    serving: tuple["ShardEpoch", ...] = ()
    """Shards that the agent believes to own, at most some hundreds, so that operators can compare them with the
    database.
    """
    enhanced_services: tuple[EnhancedService, ...] | None = None
    """Enhanced services that the agent's operator offers to tenants; None: unchanged since the session's previous
    report.
    """
    moved_networks: tuple[str, ...] = ()
    """Ids of Neutron networks in which ports have moved, at most :data:`MOVED_NETWORKS_MAX`, so that controllers read
    them again.
    """


MOVED_NETWORKS_MAX = 500


class GetAssignments(Message, tag="get_assignments"):
    """Call to read the shards of the session with their pending work: at most ``limit`` shards after
    ``after_id``, in the order of the shards' ids. Answered by :class:`Assignments`.
    """

    agent_id: AgentId
    session_id: SessionId
    served: tuple["FormerShard", ...] = ()
    """Shards that this process served in the previous history and that are no longer assigned to it; sent in a new
    history. Shards that are missing from the database are created again, so that their configuration on the devices is
    removed.
    """
    takes_parts: bool = False
    """True: the caller accepts an answer in :class:`ReplyPart` messages."""
    after_id: str = ""
    """Last shard of the previous page; empty for the first page."""
    limit: int = 0
    """Largest size of the page; controllers may answer with fewer shards. 0: all shards, for agents without support for
    pages.
    """
    shard_ids: tuple[ShardId, ...] = ()
    """Ids of the only shards to return, at most :data:`NAMED_ASSIGNMENTS_MAX`; shards that are not this session's are
    missing in the answer. Empty: all shards. Controllers of version 0.1 ignore this field and answer with all.
    """


NAMED_ASSIGNMENTS_MAX = 100


class GetServices(Message, tag="get_services"):
    """Call to read service definitions of a shard, at most ``limit`` after ``after_id`` in id order: of
    ``load_balancer_ids``, or (None) of all. Answered by :class:`ServiceDefinitions`.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    load_balancer_ids: tuple[LoadBalancerId, ...] | None = None
    after_id: str = ""
    limit: int = 100
    takes_parts: bool = False
    """True: the caller accepts an answer in :class:`ReplyPart` messages. False: a definition that does not fit a
    message is replaced by one that every driver refuses with that reason.
    """
    knows_standby: bool = False
    """True: the caller supports :attr:`.service.ServiceDefinition.standby`."""


class WantedCertificate(Wire):
    """A certificate that a reference of a load balancer named when the load balancer's definition was made."""

    load_balancer_id: LoadBalancerId
    reference: str
    kind: CertificateKind
    sha256: str


class GetCertificates(Message, tag="get_certificates"):
    """Call to read the certificates that devices of a shard lack, at most :data:`CERTIFICATES_PER_CALL`.
    Controllers return only certificates that the shard's load balancers refer to, sealed for the public
    key with which the session was registered. Answered by :class:`Certificates`.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    wanted: tuple[WantedCertificate, ...]
    takes_parts: bool = False
    """True: the caller accepts an answer in :class:`ReplyPart` messages."""


class JudgeOrphans(Message, tag="judge_orphans"):
    """Call for a verdict on load balancers, or networks of the common shard, that are on devices and missing
    from the shard's definitions, at most :data:`ORPHANS_PER_CALL`: they were deleted and a device kept
    them, or a database that lost commits does not contain them. Answered by :class:`OrphanVerdict`.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    load_balancer_ids: tuple[LoadBalancerId, ...]


class AdoptNetworks(Message, tag="adopt_networks"):
    """Call to let the shard take over the route domain and the addresses that another program gave to the
    devices in the tenant's partition, before the partition itself is adopted. Answered by
    :class:`NetworksAdopted`, or refused with ``conflict`` if that is impossible: then nothing is changed.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    route_domain: int
    """Number of the route domain on all devices of the group;
    :data:`evenkeel.core.devices.adoption.SEVERAL_ROUTE_DOMAINS`: ``route_domains`` has the numbers.
    """
    addresses: tuple[FoundAddress, ...] = ()
    """Addresses to take over, at most :data:`evenkeel.core.devices.adoption.ADDRESSES_MAX`."""
    apply: bool = False
    """True: take over the networks; False: only report what would be taken over."""
    route_domains: dict[str, int] = {}
    """{network id: number of its route domain}, at most :data:`evenkeel.core.devices.adoption.ADDRESSES_MAX`. Networks
    of the shard that are missing, because no device is attached to them, get one of these numbers or another.
    """


class KeepIrules(Message, tag="keep_irules"):
    """Call to let listeners of the shard keep the iRules that an operator attached to their virtual servers,
    before the partition is adopted. Answered by :class:`Done`, or refused with ``conflict`` if one cannot
    be kept: then nothing is changed.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    listeners: tuple[ListenerIrules, ...]


class ReleaseShards(Message, tag="release_shards"):
    """Call to release shards: the agent has no operation in progress in them any more. Answered by
    :class:`Done`.
    """

    agent_id: AgentId
    session_id: SessionId
    shards: tuple["ShardEpoch", ...]


class FormerShard(Wire):
    """A shard that the process served in the previous history of the database, with its last epoch."""

    project_id: ProjectId
    epoch: int


class RaiseEpoch(Message, tag="raise_epoch"):
    """Call for an epoch above ``seen_epoch`` for a shard of the agent. Answered by :class:`Done`; the new
    epoch is in the next :class:`Assignments`.

    A device's guard (epoch and session of the owner) is newer than the agent's epoch although the agent owns
    the shard by the database: the database was restored from a backup.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    seen_epoch: int


class EndSession(Message, tag="end_session"):
    """Call to end the session: the agent stops and releases all its shards. Answered by :class:`Done`."""

    agent_id: AgentId
    session_id: SessionId


class Repaired(Wire):
    """A difference that a pass found on a device and corrected: see :class:`evenkeel.core.devices.device.Repair`."""

    load_balancer_id: LoadBalancerId
    device: str
    found: tuple[str, ...]


class Departure(Message, tag="departure"):
    """Notification that the connection that announced a session's presence has ended.

    The message broker sends it on behalf of the process (:class:`evenkeel.core.ports.Will`), and it has no answer. It
    causes a probe; it does not prove that the process is gone.
    """

    agent_id: AgentId
    session_id: SessionId


class ReportApplied(Message, tag="report_applied"):
    """Call with the outcomes of one reconcile pass over a shard: which load balancers the devices hold, and
    errors. Answered by :class:`ReportReceipt`.
    """

    agent_id: AgentId
    shard_id: ShardId
    epoch: int
    outcomes: tuple[Applied, ...]
    session_id: SessionId
    history: str = ""
    """Id of the database's history (:attr:`SessionState.history`) when the agent requested the definitions."""
    carries_traffic: bool = True
    """False: objects that the device confirms are not ONLINE yet."""
    repaired: tuple[Repaired, ...] = ()


class ReportStatus(Message, tag="report_status"):
    """Call with statuses that the owner of a group's common shard observed on the devices: the changes since its
    last reports, and all of them at intervals. Answered by :class:`ReportReceipt`.
    """

    agent_id: AgentId
    shard_id: ShardId
    epoch: int
    session_id: SessionId
    statuses: tuple[ObservedStatus, ...] = ()
    statistics: tuple[ObservedStatistics, ...] = ()
    absent: tuple[LoadBalancerId, ...] = ()
    """Load balancers that the devices had to hold and that were missing from all of them in two observations."""
    present: tuple[LoadBalancerId, ...] = ()
    """Load balancers that were absent and are present again."""
    changed: tuple[LoadBalancerId, ...] = ()
    """Load balancers whose configuration on the devices differs from the previous observation."""
    lacking: dict[LoadBalancerId, str] = {}
    """{load balancer id: reachable devices that lacked a part of it in two observations, while others held it}."""
    renewed: tuple[str, ...] = ()
    """Devices whose configuration may be lost: their incarnation or identity changed, or they were unreachable and
    report neither.
    """
    renewed_before: tuple[str, ...] = ()
    """Devices recently reported as ``renewed``: owners of shards that missed the hint about it have to read
    them now.
    """
    expected_after: str | None = None
    """Id after which the agent requests the load balancers that are expected on the devices; None: no request."""
    number: int = 0
    """Number that grows by one with each report of the session: a report that arrives after a newer one is ignored. 0:
    not numbered.
    """
    tenants: tuple[ProjectId, ...] = ()
    """Tenants that have a partition of the group on a device; sent at intervals. Partitions of tenants without a shard
    are orphans.
    """


class ReportPlan(Message, tag="report_plan"):
    """Call with the answer to a :class:`PlanHint` or :class:`AdoptionHint`: changes that the next pass would
    make. Answered by :class:`Done`.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    inquiry_id: str
    devices: tuple[DevicePlan, ...] = ()
    problem: str = ""
    """Reason why there are no plans (human-readable)."""


# -- controllers -> agent ----------


class ApplyHint(Message, tag="apply_hint"):
    """Hint that the definitions of these load balancers, or of their children, changed: the agent has to
    apply them. The agent's next sync makes up for a lost hint.
    """

    shard_id: ShardId
    load_balancer_ids: tuple[LoadBalancerId, ...]
    inlined: "InlinedDefinitions | None" = None
    """Small definitions of some of the load balancers, so that the agent need not request them; None: there are
    none.
    """
    new_shard: "NewShard | None" = None
    """Set if the shard was created for one of the load balancers, so that the agent need not request its
    assignments.
    """


class RecheckHint(Message, tag="recheck_hint"):
    """Hint that devices may hold these load balancers in another state than the agent left them, although no tenant
    changed anything: the agent reads and applies them again.
    """

    shard_id: ShardId
    load_balancer_ids: tuple[LoadBalancerId, ...]


class ResyncHint(Message, tag="resync_hint"):
    """Hint that devices may hold anything else in this shard than the agent left there: the agent compares the whole
    shard.

    For a device group's common shard it has the same effect as :class:`ReportAgainHint`.
    """

    shard_id: ShardId


class ResyncAllHint(Message, tag="resync_all_hint"):
    """Hint to compare all shards that the agent serves: whole devices may have lost or changed their state."""


class ReportAgainHint(Message, tag="report_again_hint"):
    """Hint to the observer of a device group to observe all statuses and report them again, because stored statuses
    were overwritten.
    """

    shard_id: ShardId
    """The device group's common shard."""


class InlinedDefinitions(Wire):
    """Service definitions in a hint, as committed while the agent acted for the shard in this session, at this epoch
    and in this history of the database.

    They are void in any other session, epoch or history, and contain no certificates.
    """

    session_id: SessionId
    epoch: int
    history: str
    services: tuple[ServiceDefinition, ...]


class NewShard(Wire):
    """A shard in a hint, as committed when it was created for the agent in this session, at
    :data:`~evenkeel.core.control.epochs.FIRST_EPOCH`, and in this history of the database.

    It is void in any other session or history.
    """

    project_id: ProjectId
    session_id: SessionId
    history: str
    revision: int
    """:attr:`SessionState.assignments_revision` as this creation, and no other change, raised it."""


class AssignmentsHint(Message, tag="assignments_hint"):
    """Hint that the shards of the agent's session have changed: the agent has to request them."""


class PlanHint(Message, tag="plan_hint"):
    """An operator's request for the changes that the next pass over a load balancer would make. The agent answers with
    a :class:`ReportPlan` to any controller.
    """

    shard_id: ShardId
    load_balancer_id: LoadBalancerId
    """Id of the load balancer; empty: the request is about the next complete pass over the shard."""
    inquiry_id: str
    adopt: bool = False
    """True: after the answer, adopt the tenant's partition that another program made, and make a complete pass."""


class AdoptionHint(Message, tag="adoption_hint"):
    """An operator's request about the adoption of a tenant's partition from another program, answered like a
    :class:`PlanHint`.

    It is a message of its own, because an agent of an earlier version must ignore such a request instead of carrying
    out a part of it.
    """

    shard_id: ShardId
    inquiry_id: str
    apply: bool = False
    """True: carry out the request; False: only report what would be changed."""
    give_back: bool = False
    """True: return the adopted partition to the other program, and keep everything else in it."""
    keep_irules: bool = False
    """True: with the adoption, the iRules of operators stay on the virtual servers."""


# -- replies


class Reply(Message):
    """Base class of all answers to calls."""


class Done(Reply, tag="done"):
    """Reply: the call succeeded, and its effects are committed."""


class Refused(Reply, tag="refused"):
    """Reply: the call was understood and refused; nothing changed. ``code``: stable kind of the refusal;
    ``reason``: text for people.
    """

    code: str
    reason: str
    retry_after_seconds: float | None = None
    """Seconds after which the same call may succeed; None: no such time is known."""


class ReplyPart(Reply, tag="part"):
    """Reply: a part of an answer that does not fit one message, sent to callers that accept parts; the bus
    joins the parts.
    """

    number: int
    """Position of the part; the first is 0."""
    count: int
    digest: str
    """SHA-256 of the whole answer, in hexadecimal digits: parts with another digest belong to another answer."""
    data: bytes


class SessionState(Reply, tag="session_state"):
    """Reply that confirms a session: it lasts for another ``ttl_seconds``, counted from before the call was
    sent.
    """

    ttl_seconds: float
    assignments_revision: int
    """Number that grows whenever the set of shards this agent owns changes."""
    history: str = ""
    """Id of the database's history. If it changed, the database lost commits, and earlier answers and confirmations may
    not hold any more. Empty: the controller does not support histories.
    """
    keepalives: int = 0
    """Number that grows with every keepalive of this agent."""
    unknown_in: "ShardEpoch | None" = None
    """The shard of an outcome that was confirmed to the agent, and whose load balancer is missing from the database;
    None: nothing is missing.

    The load balancer was just deleted, or its creation was lost: then only a complete pass removes it from the devices.
    """


class Assignment(Wire):
    """A shard that the agent owns."""

    shard_id: ShardId
    project_id: ProjectId
    """Id of the tenant; empty for the device group's common shard."""
    epoch: int
    handover: bool = False
    """True: the agent has to finish operations in progress and release the shard."""
    work: tuple[LoadBalancerId, ...] = ()
    """Ids of load balancers whose newest revision is not confirmed, at most some hundreds; the next answer contains
    more.
    """


class Assignments(Reply, tag="assignments"):
    """Reply with the shards that the session owns: all of them, or one page, which contains all shards
    between its first and last id.
    """

    revision: int
    """:attr:`SessionState.assignments_revision`, read before the shards."""
    shards: tuple[Assignment, ...]
    history: str = ""
    """:attr:`SessionState.history`, read before the shards."""
    served_ignored: bool = False
    """True: the shards in :attr:`GetAssignments.served` were ignored, because by the database's clock its history is
    not new.

    The agent has to send them again later, because that clock may have been set.
    """
    after_id: str = ""
    """Id after which the page begins. Controllers without support for pages answer with all shards, whatever was
    requested.
    """
    more: bool = False
    """True: more shards follow after the last one of this page."""


class ServiceDefinitions(Reply, tag="services"):
    """Reply with service definitions in id order. ``missing``: ids of requested load balancers that are no
    longer in this shard.
    """

    services: tuple[ServiceDefinition, ...]
    missing: tuple[LoadBalancerId, ...] = ()
    more: bool = False
    """True: more definitions follow after the last one of this page."""


class Certificates(Reply, tag="certificates"):
    """Reply with the requested certificates, each in a sealed box that only the requesting process can open."""

    sealed: dict[str, bytes] = {}
    """{:attr:`WantedCertificate.sha256`: sealed box with the certificate}."""
    problems: dict[str, str] = {}
    """{:attr:`WantedCertificate.sha256`: reason why the certificate is missing (human-readable, naming the
    reference)}.
    """


class OrphanVerdict(Reply, tag="orphan_verdict"):
    """Reply to :class:`JudgeOrphans`: which orphans to remove from devices."""

    remove: tuple[LoadBalancerId, ...] = ()
    """Ids of orphans to be removed from the devices now; all others stay."""
    kept: dict[LoadBalancerId, float | None] = {}
    """{id of an orphan that stays: seconds until its removal may begin; None: never automatically}."""
    again_seconds: float | None = None
    """Seconds after which the agent has to request a verdict again, if no complete pass comes earlier; None: only with
    that pass.
    """


class NetworksAdopted(Reply, tag="networks_adopted"):
    """Reply to :class:`AdoptNetworks`: networks and addresses that were, or would be, taken over."""

    route_domain: int
    addresses: tuple[FoundAddress, ...] = ()
    """The addresses of the request that are taken over; devices get other addresses instead of the rest."""
    route_domains: dict[str, int] = {}
    """{network id: number of its route domain} for all networks of the shard, if the request had several numbers."""


class ReportReceipt(Reply, tag="report_receipt"):
    """Reply to a report. ``stale``: the report was ignored, because its sender does not own the shard at that
    epoch.
    """

    stale: bool = False
    expected: tuple[LoadBalancerId, ...] | None = None
    """The answer to ``expected_after``: load balancers that must be on the devices of the group, in id order. None:
    unknown.
    """
    absent: tuple[LoadBalancerId, ...] = ()
    """Ids out of ``expected`` of load balancers that the database records as absent from devices."""
    more: bool = False
    """True: more load balancers follow after the last one of ``expected``."""
    reached_count: int | None = None
    """Number of times that devices of the group became reachable again. If it changed, all statuses have to be reported
    again. None: unknown.
    """
    unknown: tuple[LoadBalancerId, ...] = ()
    """Load balancers of the report's outcomes that the shard does not contain: an earlier report removed their rows, or
    the database lost them.
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
    | KeepIrules
    | ReleaseShards
    | RaiseEpoch
    | EndSession
    | ReportApplied
    | ReportStatus
    | ReportPlan
)


ShardHint = ApplyHint | RecheckHint | ResyncHint | ReportAgainHint

WorkHint = ShardHint | ResyncAllHint
"""Hints about work on shards, which the agent passes to the workers of these shards."""
Hint = WorkHint | AssignmentsHint | PlanHint | AdoptionHint


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
    """Return the name of the environment's queue that all controllers consume together."""
    return f"{_CALLBACK}{environment}"


def keepalive_queue(environment: str) -> str:
    """Return the name of the environment's queue for notices of departures (:class:`Departure`), so that they
    do not wait behind reports.
    """
    return f"{_KEEPALIVE}{environment}"


def transient_keepalive_queue(environment: str) -> str:
    """Return the name of the environment's queue for keepalives that may get lost: the broker neither writes
    them to its disk nor confirms them.
    """
    return f"{_LIGHT_KEEPALIVE}{environment}"


def is_callback_queue(queue: str) -> bool:
    return queue.startswith((_CALLBACK, _KEEPALIVE, _LIGHT_KEEPALIVE))


def is_transient(queue: str) -> bool:
    """Whether messages of the queue may get lost, because their senders repeat them."""
    return queue.startswith(_LIGHT_KEEPALIVE)


def presence_name(session_id: SessionId) -> str:
    """Return the name that an agent's process announces on the bus while it runs: see
    :meth:`evenkeel.core.ports.Bus.announce`.
    """
    return f"evenkeel-presence_{session_id}"


def agent_queue(environment: str, group_number: int, host: str) -> str:
    """Return the name of the queue to which controllers send hints for one agent."""
    return f"evenkeel-process-on-agent_{environment}.{group_number}.{host}"
