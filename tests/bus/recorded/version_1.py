"""What a process of message version 1 knows of messages: the structs, and how it reads and writes envelopes.

A frozen copy of version 1 as first recorded, kept apart from today's code so that today's code can be held against it.
Never change it.
"""

from enum import StrEnum
from typing import Literal

import msgspec

VERSION = 1


class SetAside(Exception):
    """Version 1 sets the message aside."""


class OperatingStatus(StrEnum):
    ONLINE = "ONLINE"
    OFFLINE = "OFFLINE"
    DEGRADED = "DEGRADED"
    ERROR = "ERROR"
    DRAINING = "DRAINING"
    NO_MONITOR = "NO_MONITOR"


class HaType(StrEnum):
    STANDALONE = "standalone"
    PAIR = "pair"
    SCALEN = "scalen"


class RescheduleMode(StrEnum):
    CONTROL = "control"
    RELOCATE = "relocate"
    NEVER = "never"


ListenerProtocol = Literal["HTTP", "TCP", "HTTPS"]
PoolProtocol = Literal["HTTP", "TCP", "HTTPS"]
LbAlgorithm = Literal["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"]
HealthMonitorType = Literal["HTTP", "TCP", "PING"]
PersistenceType = Literal["SOURCE_IP", "HTTP_COOKIE"]


class Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Unknown fields are ignored."""


class Vip(Wire):
    address: str
    subnet_id: str
    network_id: str
    port_id: str


class SessionPersistence(Wire):
    type: PersistenceType
    cookie_name: str | None = None


class ListenerStatistics(Wire):
    bytes_in: int = 0
    bytes_out: int = 0
    active_connections: int = 0
    total_connections: int = 0
    request_errors: int = 0


class ServiceMember(Wire):
    id: str
    address: str
    protocol_port: int
    weight: int = 1
    backup: bool = False
    admin_state_up: bool = True
    monitor_address: str | None = None
    monitor_port: int | None = None
    name: str = ""


class ServiceMonitor(Wire):
    id: str
    type: HealthMonitorType
    delay: int
    timeout: int
    max_retries: int
    max_retries_down: int = 3
    http_method: str | None = None
    url_path: str | None = None
    expected_codes: str | None = None
    http_version: float | None = None
    domain_name: str | None = None
    admin_state_up: bool = True
    name: str = ""


class ServicePool(Wire):
    id: str
    protocol: PoolProtocol
    lb_algorithm: LbAlgorithm
    admin_state_up: bool = True
    session_persistence: SessionPersistence | None = None
    members: tuple[ServiceMember, ...] = ()
    monitor: ServiceMonitor | None = None
    name: str = ""


class ServiceListener(Wire):
    id: str
    protocol: ListenerProtocol
    protocol_port: int
    admin_state_up: bool = True
    connection_limit: int = -1
    default_pool_id: str | None = None
    insert_headers: dict[str, str] = {}
    timeout_client_data: int = 50_000
    timeout_member_connect: int = 5_000
    timeout_member_data: int = 50_000
    timeout_tcp_inspect: int = 0
    name: str = ""
    description: str = ""


class ServiceDefinition(Wire):
    load_balancer_id: str
    project_id: str
    revision: int
    vip: Vip
    name: str = ""
    admin_state_up: bool = True
    deleted: bool = False
    listeners: tuple[ServiceListener, ...] = ()
    pools: tuple[ServicePool, ...] = ()


class Message(Wire):
    pass


class Register(Message, tag="register"):
    agent_id: str
    session_id: str
    environment: str
    group_number: int
    host: str
    device_driver: str
    ha_type: HaType
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    endpoints: tuple[str, ...] = ()


class Keepalive(Message, tag="keepalive"):
    agent_id: str
    session_id: str


class ReportState(Message, tag="report_state"):
    agent_id: str
    session_id: str
    configurations: dict[str, str] = {}
    devices: tuple["DeviceState", ...] = ()
    queue_depth: int = 0
    capacity_score: float = 0.0
    serving: tuple["ShardEpoch", ...] = ()


class DeviceState(Wire):
    name: str
    reachable: bool
    version: str = ""
    failover_state: str = ""
    problem: str = ""


class GetAssignments(Message, tag="get_assignments"):
    agent_id: str
    session_id: str


class GetServices(Message, tag="get_services"):
    agent_id: str
    session_id: str
    shard_id: str
    epoch: int
    load_balancer_ids: tuple[str, ...] | None = None
    after_id: str = ""
    limit: int = 100


class ReleaseShards(Message, tag="release_shards"):
    agent_id: str
    session_id: str
    shards: tuple["ShardEpoch", ...]


class ShardEpoch(Wire):
    shard_id: str
    epoch: int


class RaiseEpoch(Message, tag="raise_epoch"):
    agent_id: str
    session_id: str
    shard_id: str
    epoch: int
    seen_epoch: int


class EndSession(Message, tag="end_session"):
    agent_id: str
    session_id: str


class Applied(Wire):
    load_balancer_id: str
    revision: int
    error: str = ""


class ReportApplied(Message, tag="report_applied"):
    agent_id: str
    shard_id: str
    epoch: int
    outcomes: tuple[Applied, ...]


class ObservedStatus(Wire):
    kind: str
    id: str
    status: OperatingStatus


class ObservedStatistics(Wire):
    listener_id: str
    statistics: ListenerStatistics


class ReportStatus(Message, tag="report_status"):
    agent_id: str
    shard_id: str
    epoch: int
    statuses: tuple[ObservedStatus, ...] = ()
    statistics: tuple[ObservedStatistics, ...] = ()


class WorkHint(Message, tag="work_hint"):
    shard_id: str
    load_balancer_ids: tuple[str, ...]


class AssignmentsHint(Message, tag="assignments_hint"):
    pass


class Reply(Message):
    pass


class Done(Reply, tag="done"):
    pass


class Refused(Reply, tag="refused"):
    code: str
    reason: str
    retry_after_seconds: float | None = None


class SessionState(Reply, tag="session_state"):
    ttl_seconds: float
    assignments_revision: int


class Assignment(Wire):
    shard_id: str
    project_id: str
    epoch: int
    handover: bool = False
    work: tuple[str, ...] = ()


class Assignments(Reply, tag="assignments"):
    revision: int
    shards: tuple[Assignment, ...]


class Services(Reply, tag="services"):
    services: tuple[ServiceDefinition, ...]
    missing: tuple[str, ...] = ()
    more: bool = False


class ReportReceipt(Reply, tag="report_receipt"):
    stale: bool = False


Call = (
    Register
    | Keepalive
    | ReportState
    | GetAssignments
    | GetServices
    | ReleaseShards
    | RaiseEpoch
    | EndSession
    | ReportApplied
    | ReportStatus
)
Hint = WorkHint | AssignmentsHint
AnyReply = Done | Refused | SessionState | Assignments | Services | ReportReceipt
AnyMessage = Call | Hint | AnyReply


class Envelope(Wire, kw_only=True, omit_defaults=False):
    version: int = VERSION
    id: str
    reply_to: str = ""
    body: AnyMessage


class _Header(Wire):
    version: int


_encoder = msgspec.json.Encoder()
_envelopes = msgspec.json.Decoder(Envelope)
_headers = msgspec.json.Decoder(_Header)


def encode(envelope: Envelope) -> bytes:
    """As version 1 wrote it."""
    return _encoder.encode(envelope)


def decode(raw: bytes) -> Envelope:
    """As version 1 read it. Raises :class:`SetAside`."""
    try:
        version = _headers.decode(raw).version
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SetAside("not an envelope") from error
    if version > VERSION:
        raise SetAside(f"version {version} is newer than {VERSION}, which this process speaks")
    try:
        return _envelopes.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SetAside("unknown type or malformed body") from error
