"""One message of every type and shape of version 1, with rich content: what the recordings in ``v1`` hold.

Only fields that version 1 had; a field that was added since has its default here. Never change what is here: the
recordings were made from it by the code of that time, and a later version gets a module of its own.
"""

from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServiceMember, ServiceMonitor, ServicePool
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.model import ListenerStatistics, SessionPersistence, Vip
from evenkeel.core.resources.statuses import HaType, OperatingStatus, RescheduleMode
from evenkeel.core.status.device_state import DeviceState
from evenkeel.core.status.outcomes import Applied, ObservedStatistics, ObservedStatus

AGENT = "6f1a2d0e-52cb-4a8b-93a6-0d0e65b1c001"
SESSION = "0b6a7c52-6a57-4f0a-8c7e-5b6ad5c5a002"
SHARD = "c5b0a3f4-1d0e-4b5f-a1a4-31b1f4ce7003"
COMMON = "9f8e7d6c-1111-4222-8333-944445555004"
FIRST = "11111111-aaaa-4bbb-8ccc-000000000001"
SECOND = "22222222-aaaa-4bbb-8ccc-000000000002"
MEMBER = "33333333-aaaa-4bbb-8ccc-000000000003"
LISTENER = "44444444-aaaa-4bbb-8ccc-000000000004"
POOL = "55555555-aaaa-4bbb-8ccc-000000000005"
PROJECT = "d3f1c2a4b5e60718293a4b5c6d7e8f90"

CALLS: dict[str, m.Call] = {
    "register": m.Register(
        agent_id=AGENT,
        session_id=SESSION,
        environment="prod",
        group_number=2,
        host="agent-1.example.org",
        device_driver="bigip",
        ha_type=HaType.PAIR,
        reschedule=RescheduleMode.RELOCATE,
        endpoints=("192.0.2.10:443", "[2001:db8::10]:443"),
    ),
    "register-plain": m.Register(
        agent_id=AGENT,
        session_id=SESSION,
        environment="prod",
        group_number=1,
        host="h",
        device_driver="noop",
        ha_type=HaType.STANDALONE,
    ),
    "keepalive": m.Keepalive(agent_id=AGENT, session_id=SESSION),
    "report_state": m.ReportState(
        agent_id=AGENT,
        session_id=SESSION,
        configurations={"icontrol_hostname": "192.0.2.10", "note": 'Zürich "north" \\ 2'},
        devices=(
            DeviceState(name="bigip-1", reachable=True, version="17.1.1", failover_state="active"),
            DeviceState(name="bigip-2", reachable=False, problem="no answer within 10 s"),
        ),
        queue_depth=17,
        capacity_score=0.625,
        serving=(ShardEpoch(shard_id=SHARD, epoch=7), ShardEpoch(shard_id=COMMON, epoch=1)),
    ),
    "report_state-plain": m.ReportState(agent_id=AGENT, session_id=SESSION),
    "get_assignments": m.GetAssignments(agent_id=AGENT, session_id=SESSION),
    "get_services": m.GetServices(
        agent_id=AGENT, session_id=SESSION, shard_id=SHARD, epoch=7, load_balancer_ids=(FIRST, SECOND), limit=50
    ),
    "get_services-all": m.GetServices(agent_id=AGENT, session_id=SESSION, shard_id=SHARD, epoch=7, after_id=FIRST),
    "release_shards": m.ReleaseShards(
        agent_id=AGENT, session_id=SESSION, shards=(ShardEpoch(shard_id=SHARD, epoch=7),)
    ),
    "raise_epoch": m.RaiseEpoch(agent_id=AGENT, session_id=SESSION, shard_id=SHARD, epoch=7, seen_epoch=2**40),
    "end_session": m.EndSession(agent_id=AGENT, session_id=SESSION),
    "report_applied": m.ReportApplied(
        agent_id=AGENT,
        shard_id=SHARD,
        epoch=7,
        outcomes=(
            Applied(load_balancer_id=FIRST, revision=12),
            Applied(load_balancer_id=SECOND, revision=3, error="01070333:3: the address is taken"),
        ),
    ),
    "report_status": m.ReportStatus(
        agent_id=AGENT,
        shard_id=COMMON,
        epoch=1,
        statuses=(
            ObservedStatus(kind="loadbalancer", id=FIRST, status=OperatingStatus.DEGRADED),
            ObservedStatus(kind="member", id=MEMBER, status=OperatingStatus.NO_MONITOR),
        ),
        statistics=(
            ObservedStatistics(
                listener_id=LISTENER,
                statistics=ListenerStatistics(
                    bytes_in=2**50, bytes_out=1, active_connections=2, total_connections=3, request_errors=4
                ),
            ),
        ),
    ),
}

HINTS: dict[str, m.Hint] = {
    "work_hint": m.WorkHint(shard_id=SHARD, load_balancer_ids=(FIRST, SECOND)),
    "assignments_hint": m.AssignmentsHint(),
}

SERVICE = ServiceDefinition(
    load_balancer_id=FIRST,
    project_id=PROJECT,
    revision=12,
    vip=Vip(address="2001:db8::80", subnet_id="s-1", network_id="n-1", port_id="p-1"),
    name="shop — Grüße",
    admin_state_up=False,
    listeners=(
        ServiceListener(
            id=LISTENER,
            protocol="HTTP",
            protocol_port=80,
            admin_state_up=False,
            connection_limit=1000,
            default_pool_id=POOL,
            insert_headers={"X-Forwarded-For": "true"},
            timeout_client_data=60_000,
            timeout_member_connect=1,
            timeout_member_data=2,
            timeout_tcp_inspect=3,
            name="web",
            description="for all",
        ),
        ServiceListener(id="l-2", protocol="TCP", protocol_port=65_535),
        ServiceListener(id="l-3", protocol="HTTPS", protocol_port=443),
    ),
    pools=(
        ServicePool(
            id=POOL,
            protocol="HTTP",
            lb_algorithm="LEAST_CONNECTIONS",
            admin_state_up=False,
            session_persistence=SessionPersistence(type="HTTP_COOKIE", cookie_name="sid"),
            members=(
                ServiceMember(
                    id=MEMBER,
                    address="198.51.100.7",
                    protocol_port=8080,
                    weight=0,
                    backup=True,
                    admin_state_up=False,
                    monitor_address="198.51.100.8",
                    monitor_port=9090,
                    name="m",
                ),
                ServiceMember(id="m-2", address="2001:db8::7", protocol_port=8080),
            ),
            monitor=ServiceMonitor(
                id="hm-1",
                type="HTTP",
                delay=5,
                timeout=4,
                max_retries=3,
                max_retries_down=2,
                http_method="HEAD",
                url_path="/up?a=1&b=%20",
                expected_codes="200-204,301",
                http_version=1.1,
                domain_name="shop.example.org",
                admin_state_up=False,
                name="up",
            ),
            name="servers",
        ),
        ServicePool(id="p-2", protocol="TCP", lb_algorithm="SOURCE_IP"),
        ServicePool(
            id="p-3",
            protocol="HTTPS",
            lb_algorithm="ROUND_ROBIN",
            session_persistence=SessionPersistence(type="SOURCE_IP"),
            monitor=ServiceMonitor(id="hm-3", type="PING", delay=1, timeout=1, max_retries=1),
        ),
    ),
)
DELETED = ServiceDefinition(
    load_balancer_id=SECOND,
    project_id=PROJECT,
    revision=4,
    vip=Vip(address="192.0.2.1", subnet_id="s", network_id="n", port_id="p"),
    deleted=True,
)

REPLIES: dict[str, m.AnyReply] = {
    "done": m.Done(),
    "refused": m.Refused(code="duplicate", reason="a live session stands", retry_after_seconds=3.5),
    "refused-lost": m.Refused(code=m.SESSION_LOST, reason="the session has ended"),
    "session_state": m.SessionState(ttl_seconds=5.0, assignments_revision=9),
    "assignments": m.Assignments(
        revision=9,
        shards=(
            m.Assignment(shard_id=SHARD, project_id=PROJECT, epoch=7, work=(FIRST, SECOND)),
            m.Assignment(shard_id="s-2", project_id="p", epoch=1, handover=True),
            m.Assignment(shard_id=COMMON, project_id="", epoch=1),
        ),
    ),
    "services": m.ServiceDefinitions(services=(SERVICE, DELETED), missing=("gone",), more=True),
    "report_receipt": m.ReportReceipt(),
    "report_receipt-stale": m.ReportReceipt(stale=True),
}

EXAMPLES: dict[str, m.AnyMessage] = {**CALLS, **HINTS, **REPLIES}
