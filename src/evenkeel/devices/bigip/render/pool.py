"""Pools and members. Pure.

Weight 0 disables a member (``user-disabled``: existing connections and persistent clients stay), admin down forces it
offline (``user-down``), so the device shows the difference. A pool that is admin down is detached from its listeners
and its members are forced offline. Backup members get a lower priority group and are used when no other member is
available.
"""

from evenkeel.config.esd.parts import MemberConnectionLimit
from evenkeel.core.devices.service import ServiceDefinition, ServiceMember, ServicePool
from evenkeel.devices.bigip.naming import BigIpNames, canonical_address, endpoint
from evenkeel.devices.bigip.objects import MEMBER, POOL, Key, WantedObject
from evenkeel.devices.bigip.render.monitor import MEMBER_DESTINATION, active_monitor, monitor_destination, monitor_name
from evenkeel.devices.bigip.render.persistence import has_different_weights
from evenkeel.devices.errors import Unrenderable

PRIMARY_GROUP, BACKUP_GROUP = 10, 5

_BALANCING_MODES = {
    ("ROUND_ROBIN", False): "round-robin",
    ("ROUND_ROBIN", True): "ratio-member",
    ("LEAST_CONNECTIONS", False): "least-connections-member",
    ("LEAST_CONNECTIONS", True): "ratio-least-connections-member",
    # The member is chosen by the client (see persistence.py); these algorithms distribute clients without a member.
    # The weighted form is per member, because weights are set on members, not on nodes.
    ("SOURCE_IP", False): "least-connections-node",
    ("SOURCE_IP", True): "ratio-least-connections-member",
    ("SOURCE_IP_PORT", False): "round-robin",
    ("SOURCE_IP_PORT", True): "ratio-member",
}


def pool_object(
    service: ServiceDefinition, pool: ServicePool, names: BigIpNames, limit: MemberConnectionLimit | None = None
) -> WantedObject:
    """Build the pool with its members. ``limit``: connection limit for each member, from an enhanced service;
    None: no limit.

    Raises :class:`Unrenderable` for a text that is no IP address, or two members at one address and port.
    """
    backups = any(member.backup for member in pool.members)
    _refuse_duplicate_members(pool)
    return WantedObject(
        key=Key(type=POOL, name=names.object_name(pool.id)),
        owner=service.load_balancer_id,
        attributes={
            "loadBalancingMode": _BALANCING_MODES[pool.lb_algorithm, has_different_weights(pool)],
            "minActiveMembers": 1 if backups else 0,
            # always there, so that they end with the service
            "queueOnConnectionLimit": "disabled" if limit is None else "enabled",
            "queueDepthLimit": 0 if limit is None else limit.queue,
            "queueTimeLimit": 0 if limit is None else 1000 * limit.wait,
            "monitor": _monitor_path(service, pool, MEMBER_DESTINATION, names),
            "description": names.marked_description("pool", service.load_balancer_id, pool.id),
        },
        members=tuple(_member_object(service, pool, member, backups, names, limit) for member in pool.members),
    )


def _refuse_duplicate_members(pool: ServicePool) -> None:
    # A device names members by address and port, so two such members would be one object.
    seen: set[tuple[str, int]] = set()
    for member in pool.members:
        place = (_member_address(member), member.protocol_port)
        if place in seen:
            raise Unrenderable(f"pool {pool.id}: two members at {endpoint(*place)}")
        seen.add(place)


def _member_address(member: ServiceMember) -> str:
    try:
        return canonical_address(member.address)
    except ValueError as error:
        raise Unrenderable(f"member {member.id}: address {member.address!r} is no IP address") from error


def _member_object(
    service: ServiceDefinition,
    pool: ServicePool,
    member: ServiceMember,
    backups: bool,
    names: BigIpNames,
    limit: MemberConnectionLimit | None,
) -> WantedObject:
    address = _member_address(member)
    up = pool.admin_state_up and member.admin_state_up
    return WantedObject(
        key=Key(type=MEMBER, name=endpoint(address, member.protocol_port), pool=names.object_name(pool.id)),
        owner=service.load_balancer_id,
        attributes={
            "address": address,
            # A device has no ratio of 0; weight 0 is expressed by `session`.
            "ratio": max(1, member.weight),
            "connectionLimit": 0 if limit is None else limit.connections,
            "priorityGroup": 0 if not backups else BACKUP_GROUP if member.backup else PRIMARY_GROUP,
            "session": "user-enabled" if up and member.weight > 0 else "user-disabled",
            "state": "user-up" if up else "user-down",
            "monitor": _member_monitor_path(service, pool, member, names),
            "description": names.marked_description("member", service.load_balancer_id, member.id),
        },
        immutables=frozenset({"address"}),
    )


def _member_monitor_path(
    service: ServiceDefinition, pool: ServicePool, member: ServiceMember, names: BigIpNames
) -> str:
    place = monitor_destination(member)
    return (_monitor_path(service, pool, place, names) if place != MEMBER_DESTINATION else "") or "default"


def _monitor_path(service: ServiceDefinition, pool: ServicePool, place: str, names: BigIpNames) -> str:
    monitor = active_monitor(pool)
    if monitor is None:
        return ""
    return f"/{names.partition_name(service.project_id)}/{monitor_name(pool, monitor, place, names)}"
