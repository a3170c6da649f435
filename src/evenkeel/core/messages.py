"""What controllers and agents say to each other. Version 1.

The database is the truth and the queue is a hint: every message may be lost, delayed, repeated or reordered, and
nothing here may assume otherwise. Structs are tagged by ``type``; unknown fields are ignored, and new fields have
defaults, so that neighbouring versions understand each other. No message holds a secret; private keys are in boxes
that only the process that asked for them can open.

Agents call on the environment's shared callback queue and get a :class:`Reply`; controllers send hints to an
agent's own queue.
"""

from evenkeel.core.certificates import CertificateKind
from evenkeel.core.ids import AgentId, LoadBalancerId, ProjectId, SessionId, ShardId
from evenkeel.core.model import ListenerStatistics
from evenkeel.core.service import ServiceDefinition
from evenkeel.core.statuses import HaType, OperatingStatus, RescheduleMode
from evenkeel.core.values import Wire

MESSAGE_VERSION = 1
"""Stays as it is when messages or fields with defaults are added. See ``docs/reference/messages.md`` before raising
it: a process of the version before must understand what this one sends."""

SESSION_LOST = "session_lost"
"""The ``Refused`` code that ends a session: the agent owns nothing any more."""

IMPLAUSIBLE_EPOCH = "implausible_epoch"
"""The ``Refused`` code of a call with an epoch that can be nobody's: see :mod:`evenkeel.core.epochs`."""
EPOCHS_USED_UP = "epochs_used_up"
"""The ``Refused`` code where there is no higher epoch any more."""


OVERTAKEN = "overtaken"
"""The ``Refused`` code of a report that came after a newer one of its session was taken. Nothing of it counts: whoever
waits for the answer says it anew, and whoever got none has done so."""

CERTIFICATES_PER_CALL = 20

LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
"""Of an answer that travels in parts, all together: what a caller is ready to hold."""


class Message(Wire):
    """Base of all messages."""


# -- agent -> controllers: calls, answered by a Reply ----------


class Register(Message, tag="register"):
    """Open a session: "this process now is the agent of (environment, group, host)"."""

    agent_id: AgentId
    session_id: SessionId
    environment: str
    group_number: int
    host: str
    device_driver: str
    ha_type: HaType
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    endpoints: tuple[str, ...] = ()
    """The group's devices, so that agents of one group that point at different devices are found out."""
    identities: dict[str, str] = {}
    """:attr:`DeviceState.identity` by endpoint, so that no two groups drive one device."""
    exclusive: bool = True
    """No other device group of the environment may have one of these devices."""
    capacity: dict[str, "CapacityFigure"] = {}
    """As in :class:`ReportState`, so that a new group is never without its limits."""
    seen: "Seen | None" = None
    """As in :class:`Keepalive`, of the process's sessions before."""
    names_session: bool = False
    """The process names its session in every call and report: what comes in its name without is not from it."""
    sealing_key: bytes = b""
    """The public key, made with the process, that private keys are sealed for: see :class:`GetCertificates`. Empty: the
    process asks for none."""


class Keepalive(Message, tag="keepalive"):
    """Renew the session. Costs one row, whatever the agent owns."""

    agent_id: AgentId
    session_id: SessionId
    seen: "Seen | None" = None


class Seen(Wire):
    """The newest of what the database has confirmed to a process: a database that does not know it lost commits."""

    history: str
    """:attr:`SessionState.history` in which it was confirmed."""
    keepalives: int = 0
    """:attr:`SessionState.keepalives`, the highest."""
    confirmed: "Applied | None" = None
    """An outcome whose report was taken lately."""
    confirmed_in: "ShardEpoch | None" = None
    """The shard of ``confirmed``, at the epoch at which the agent served it then, if it did not remove the load
    balancer since. None: it may be gone."""
    left: ShardId | None = None
    """The shard that the agent was told of no more lately. Shards are never removed: one that is not there was lost."""


class ReportState(Message, tag="report_state"):
    """The full state report, every ``report_interval``."""

    agent_id: AgentId
    session_id: SessionId
    configurations: dict[str, str] = {}
    """Plain settings for people to read; never secrets."""
    devices: tuple["DeviceState", ...] = ()
    queue_depth: int = 0
    """Load balancers waiting in this agent to be reconciled."""
    capacity_score: float = 0.0
    capacity: dict[str, "CapacityFigure"] = {}
    """By metric of the agent's ``capacity_policy``, as measured on the devices."""
    capacity_measured_seconds_ago: float = 0.0
    """Age of ``capacity`` when the report was made."""
    capacity_unknown: bool = False
    """There is a policy, and nothing could be measured yet: what is known of the group stays."""
    serving: tuple["ShardEpoch", ...] = ()
    """What the agent believes to own, at most some hundreds: for people who compare views."""


class CapacityFigure(Wire):
    """How much of something is used, and how much of it there is by the operator's ``capacity_policy``."""

    value: float
    limit: float


class DeviceState(Wire):
    """What an agent sees of one device."""

    name: str
    reachable: bool
    version: str = ""
    failover_state: str = ""
    problem: str = ""
    """What is missing or wrong, for people; empty when all is well."""
    identity: str = ""
    """What tells this device from every other one, whatever its address: a serial number, the id of an installation.
    Empty: it cannot tell."""
    incarnation: str = ""
    """Changes whenever the device may hold something else than it was told last: it restarted, was restored or lost
    its state. Empty: it cannot tell."""


class GetAssignments(Message, tag="get_assignments"):
    """Ask for the shards this session owns and what is to be done in them."""

    agent_id: AgentId
    session_id: SessionId
    served: tuple["FormerShard", ...] = ()
    """In a new history: what this process served before and is not told of any more. Those that the database does not
    know are made again, so that what they left on the devices is removed."""
    takes_parts: bool = False
    """The caller puts an answer together that comes as :class:`ReplyPart` messages."""


class GetServices(Message, tag="get_services"):
    """Ask for service definitions of a shard: those named, or all after ``after_id`` in id order, at most
    ``limit``."""

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    load_balancer_ids: tuple[LoadBalancerId, ...] | None = None
    after_id: str = ""
    limit: int = 100
    takes_parts: bool = False
    """As in :class:`GetAssignments`. Without it, a definition that does not fit a message is not sent: one that no
    device takes and that says so stands in for it."""


class WantedCertificate(Wire):
    """What a reference of a load balancer named when its definition was made."""

    load_balancer_id: LoadBalancerId
    reference: str
    kind: CertificateKind
    sha256: str


class GetCertificates(Message, tag="get_certificates"):
    """Ask for what devices of a shard lack, at most :data:`CERTIFICATES_PER_CALL`. Only what the shard's load balancers
    refer to is given, and only sealed for the key that the session was registered with."""

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    wanted: tuple[WantedCertificate, ...]
    takes_parts: bool = False
    """As in :class:`GetAssignments`."""


class ReleaseShards(Message, tag="release_shards"):
    """Give shards back: nothing of this agent is under way in them any more."""

    agent_id: AgentId
    session_id: SessionId
    shards: tuple["ShardEpoch", ...]


class ShardEpoch(Wire):
    """One shard at one epoch."""

    shard_id: ShardId
    epoch: int


class FormerShard(Wire):
    """A shard as it was served in the history before."""

    project_id: ProjectId
    epoch: int


class RaiseEpoch(Message, tag="raise_epoch"):
    """The device's guard is newer than our epoch although the database says we own the shard (it was restored
    from a backup): ask for an epoch above ``seen_epoch``."""

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    seen_epoch: int


class EndSession(Message, tag="end_session"):
    """The agent stops; all its shards are free."""

    agent_id: AgentId
    session_id: SessionId


# -- agent -> controllers: reports (answered too, so that the agent knows they were committed) --------------------


class Applied(Wire):
    """The outcome for one load balancer. ``error`` empty: the device holds ``revision``."""

    load_balancer_id: LoadBalancerId
    revision: int
    change_id: str = ""
    """Of the definition that this is the outcome of."""
    error: str = ""
    waiting: bool = False
    """Not tried yet because of ``error`` (say, no device answers): what is PENDING stays so, with the reason on it."""


class Repaired(Wire):
    """What a pass found on a device otherwise than it was left, and put right: see :class:`core.device.Repair`."""

    load_balancer_id: LoadBalancerId
    device: str
    found: tuple[str, ...]


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
    """False: what the device confirms is not ONLINE for that."""
    repaired: tuple[Repaired, ...] = ()


class ObservedStatus(Wire):
    """The operating status of one object as seen on the device. ``kind`` is loadbalancer, listener, pool or
    member."""

    kind: str
    id: str
    status: OperatingStatus
    reason: str = ""
    """Of a load balancer: why it is not ONLINE, for people; names the device that is missing."""


class ObservedStatistics(Wire):
    """Totals of one listener, summed over the group's devices."""

    listener_id: str
    statistics: ListenerStatistics


class ReportStatus(Message, tag="report_status"):
    """What the owner of a group's common shard saw on the devices; only what changed since its last report."""

    agent_id: AgentId
    shard_id: ShardId
    epoch: int
    session_id: SessionId = SessionId("")
    statuses: tuple[ObservedStatus, ...] = ()
    statistics: tuple[ObservedStatistics, ...] = ()
    absent: tuple[LoadBalancerId, ...] = ()
    """Load balancers that were expected on the devices, and that none held at two looks."""
    present: tuple[LoadBalancerId, ...] = ()
    """Load balancers that were absent, and are there again."""
    changed: tuple[LoadBalancerId, ...] = ()
    """Load balancers that are held otherwise than at the look before, whoever changed that."""
    lacking: dict[LoadBalancerId, str] = {}
    """By load balancer: devices in reach that did not hold all of it at two looks, while others did."""
    renewed: tuple[str, ...] = ()
    """Devices that may hold anything: their incarnation or identity is another one, or they were out of reach and
    cannot tell."""
    renewed_before: tuple[str, ...] = ()
    """Devices that were told of as ``renewed`` a moment ago: no news, but whoever missed that is to look now."""
    expected_after: str | None = None
    """Answer with the load balancers that are expected on the devices, those after this id."""
    number: int = 0
    """Grows by one with each report of the session: none counts after a newer one. 0: it has no order."""


# -- controllers -> agent ----------


class WorkHint(Message, tag="work_hint"):
    """Something below these load balancers changed. Lost hints are found by the agent's next sync."""

    shard_id: ShardId
    """Empty: of all shards that the agent serves, together with ``complete``."""
    load_balancer_ids: tuple[LoadBalancerId, ...]
    look_again: bool = False
    """Nothing was changed by a tenant: the devices may hold these otherwise than the agent left them. Of a group's
    common shard: statuses are to be seen and reported anew."""
    complete: bool = False
    """With ``look_again``: everything in the shard."""


class AssignmentsHint(Message, tag="assignments_hint"):
    """The set of shards you own has changed: ask for it."""


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
    """A slice of an answer that does not fit one message. Sent to callers that said that they take parts; those above
    the bus never see it."""

    number: int
    """The first is 0."""
    count: int
    digest: str
    """SHA-256 of the whole, in hexadecimal digits: parts with another one are of another answer."""
    data: bytes


class SessionState(Reply, tag="session_state"):
    """The session stands for another ``ttl_seconds``, counted from before the call was sent."""

    ttl_seconds: float
    assignments_revision: int
    """Grows whenever the set of shards this agent owns changes."""
    history: str = ""
    """Which history of the database this is. Another one than before: it lost commits, and nothing is certain that was
    told or confirmed before. Empty: the controller does not know of histories."""
    keepalives: int = 0
    """Grows with every keepalive of this agent."""
    unknown_in: "ShardEpoch | None" = None
    """The shard of an outcome that was confirmed to the agent, and whose load balancer the database does not know. It
    was removed a moment ago, or its making was lost: then only a complete pass takes it from the devices."""
    takes_keepalives: bool = False
    """Keepalives may be sent to :func:`keepalive_queue`."""


class Assignment(Wire):
    """One shard the agent owns."""

    shard_id: ShardId
    project_id: ProjectId
    """Empty for the device group's common shard."""
    epoch: int
    handover: bool = False
    """Finish what is under way and release it."""
    work: tuple[LoadBalancerId, ...] = ()
    """Load balancers whose newest revision is not confirmed, at most some hundreds; more follow."""


class Assignments(Reply, tag="assignments"):
    """All shards the session owns."""

    revision: int
    shards: tuple[Assignment, ...]
    history: str = ""
    """As in :class:`SessionState`."""
    served_ignored: bool = False
    """The shards in :attr:`GetAssignments.served` were not looked at: by the database's clock, its history is not new.
    They are to be named again later, because that clock may have been set."""


class ServiceDefinitions(Reply, tag="services"):
    """Service definitions in id order. ``missing``: asked for by id, and not in this shard any more."""

    services: tuple[ServiceDefinition, ...]
    missing: tuple[LoadBalancerId, ...] = ()
    more: bool = False
    """There are more after the last one."""


class Certificates(Reply, tag="certificates"):
    """What was asked for, each in a sealed box that only the asking process can open."""

    sealed: dict[str, bytes] = {}
    """By :attr:`WantedCertificate.sha256`."""
    problems: dict[str, str] = {}
    """By :attr:`WantedCertificate.sha256`: why there is none, for people, naming the reference."""


class ReportReceipt(Reply, tag="report_receipt"):
    """The report was taken. ``stale``: its epoch was old, so it was ignored."""

    stale: bool = False
    expected: tuple[LoadBalancerId, ...] | None = None
    """Asked for by ``expected_after``: what is to be on the devices of the group, in id order. None: not said."""
    absent: tuple[LoadBalancerId, ...] = ()
    """Those of ``expected`` that are shown as absent now."""
    more: bool = False
    """There are more after the last one of ``expected``."""
    reached_count: int | None = None
    """How often the devices of the group came back into reach. Another one than before: what was shown of them
    meanwhile is to be said anew. None: not said."""


Call = (
    Register
    | Keepalive
    | ReportState
    | GetAssignments
    | GetServices
    | GetCertificates
    | ReleaseShards
    | RaiseEpoch
    | EndSession
    | ReportApplied
    | ReportStatus
)
Hint = WorkHint | AssignmentsHint
AnyReply = Done | Refused | ReplyPart | SessionState | Assignments | ServiceDefinitions | Certificates | ReportReceipt
AnyMessage = Call | Hint | AnyReply


_CALLBACK = "evenkeel-process-on-controller_"
_KEEPALIVE = "evenkeel-keepalive-on-controller_"


def callback_queue(environment: str) -> str:
    """The one queue of an environment that all controllers consume together."""
    return f"{_CALLBACK}{environment}"


def keepalive_queue(environment: str) -> str:
    """As :func:`callback_queue`, for keepalives alone: they are not to wait for reports."""
    return f"{_KEEPALIVE}{environment}"


def is_callback_queue(queue: str) -> bool:
    """Does it take calls?"""
    return queue.startswith((_CALLBACK, _KEEPALIVE))


def presence_name(session_id: SessionId) -> str:
    """What an agent's process announces on the bus while it lives: see :meth:`evenkeel.core.ports.Bus.announce`."""
    return f"evenkeel-presence_{session_id}"


def agent_queue(environment: str, group_number: int, host: str) -> str:
    """The queue of one agent."""
    return f"evenkeel-process-on-agent_{environment}.{group_number}.{host}"
