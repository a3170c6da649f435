"""Pools, members and persistence. Pure.

Weight 0 disables a member (``user-disabled``: existing connections and persistent clients stay), admin down forces it
offline (``user-down``), so the device shows the difference. A pool that is admin down is detached from its listeners
and its members are forced offline. Backup members get a lower priority group and are used when no other member is
available.
"""

import re
from typing import Any

from evenkeel.core.model import L7_PROTOCOLS
from evenkeel.core.service import ServiceDefinition, ServiceListener, ServiceMember, ServicePool
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, address_of, endpoint
from evenkeel.devices.bigip.objects import MEMBER, POOL, Key, WantedObject
from evenkeel.devices.bigip.render.monitor import monitor_name, monitor_object
from evenkeel.devices.errors import Unrenderable

COOKIE = "ltm/persistence/cookie"
_COOKIE_NAME = re.compile(r"[A-Za-z0-9!#$&'*+.^_`|~-]{1,255}")
PRIMARY_GROUP, BACKUP_GROUP = 10, 5

_METHODS = {
    ("ROUND_ROBIN", False): "round-robin",
    ("ROUND_ROBIN", True): "ratio-member",
    ("LEAST_CONNECTIONS", False): "least-connections-member",
    ("LEAST_CONNECTIONS", True): "ratio-least-connections-member",
    # Source persistence decides the member of a known client; this algorithm distributes only new ones. The weighted
    # form is per member, because weights are set on members, not on nodes.
    ("SOURCE_IP", False): "least-connections-node",
    ("SOURCE_IP", True): "ratio-least-connections-member",
}


def pool_object(service: ServiceDefinition, pool: ServicePool, names: BigIpNames) -> WantedObject:
    """The pool with its members."""
    partition = names.partition(service.project_id)
    monitored = pool.monitor is not None and pool.monitor.admin_state_up
    weighted = any(member.weight > 1 for member in pool.members)
    backups = any(member.backup for member in pool.members)
    _refuse_twins(pool)
    return WantedObject(
        key=Key(type=POOL, name=names.of(pool.id)),
        owner=service.load_balancer_id,
        attributes={
            "loadBalancingMode": _METHODS[pool.lb_algorithm, weighted],
            "minActiveMembers": 1 if backups else 0,
            "monitor": f"/{partition}/{monitor_name(pool, pool.monitor, names)}" if pool.monitor and monitored else "",
            "description": names.mark("pool", service.load_balancer_id, pool.id),
        },
        members=tuple(_member(service, pool, member, backups, names) for member in pool.members),
    )


def _refuse_twins(pool: ServicePool) -> None:
    seen: set[tuple[str, int]] = set()
    for member in pool.members:
        place = (_member_address(member), member.protocol_port)
        if place in seen:
            raise Unrenderable(f"pool {pool.id}: two members at {endpoint(*place)}")
        seen.add(place)


def _member_address(member: ServiceMember) -> str:
    try:
        return address_of(member.address)
    except ValueError as error:
        raise Unrenderable(f"member {member.id}: address {member.address!r} is no IP address") from error


def _member(
    service: ServiceDefinition, pool: ServicePool, member: ServiceMember, backups: bool, names: BigIpNames
) -> WantedObject:
    for field, value in (("monitor_address", member.monitor_address), ("monitor_port", member.monitor_port)):
        if value is not None:
            raise Unrenderable(f"member {member.id}: {field} {value} is not possible on a BIG-IP")
    address = _member_address(member)
    up = pool.admin_state_up and member.admin_state_up
    return WantedObject(
        key=Key(type=MEMBER, name=endpoint(address, member.protocol_port), pool=names.of(pool.id)),
        owner=service.load_balancer_id,
        attributes={
            "address": address,
            "ratio": max(1, member.weight),
            "priorityGroup": 0 if not backups else BACKUP_GROUP if member.backup else PRIMARY_GROUP,
            "session": "user-enabled" if up and member.weight > 0 else "user-disabled",
            "state": "user-up" if up else "user-down",
            "description": names.mark("member", service.load_balancer_id, member.id),
        },
        immutables=frozenset({"address"}),
    )


def monitor_objects(service: ServiceDefinition, pool: ServicePool, names: BigIpNames) -> list[WantedObject]:
    """The pool's monitor; none if it is admin down."""
    if pool.monitor is None or not pool.monitor.admin_state_up:
        return []
    return [monitor_object(service, pool, pool.monitor, names)]


def persistence_objects(service: ServiceDefinition, pool: ServicePool, names: BigIpNames) -> list[WantedObject]:
    """A cookie persistence profile for a pool that sets a cookie name."""
    wanted = pool.session_persistence
    if wanted is None or wanted.type != "HTTP_COOKIE" or not wanted.cookie_name:
        return []
    if not _COOKIE_NAME.fullmatch(wanted.cookie_name):
        raise Unrenderable(f"pool {pool.id}: cookie_name {wanted.cookie_name!r} is no name of a cookie")
    return [
        WantedObject(
            key=Key(type=COOKIE, name=names.helper("cookie", pool.id)),
            owner=service.load_balancer_id,
            attributes={
                "defaultsFrom": "/Common/cookie",
                "cookieName": wanted.cookie_name,
                "description": names.mark("cookie", service.load_balancer_id, pool.id),
            },
            immutables=frozenset({"defaultsFrom"}),
        )
    ]


def persistence_of(
    listener: ServiceListener, pool: ServicePool, partition: str, names: BigIpNames
) -> list[dict[str, Any]]:
    """The persistence profile of the listener's virtual server."""
    wanted = pool.session_persistence
    if wanted is None:
        return [_named("source_addr", COMMON)] if pool.lb_algorithm == "SOURCE_IP" else []
    if wanted.type == "SOURCE_IP":
        return [_named("source_addr", COMMON)]
    if listener.protocol not in L7_PROTOCOLS:
        raise Unrenderable(
            f"pool {pool.id}: session_persistence HTTP_COOKIE needs an HTTP listener; {listener.id} is "
            f"{listener.protocol}"
        )
    return [_named(names.helper("cookie", pool.id), partition) if wanted.cookie_name else _named("cookie", COMMON)]


def _named(name: str, partition: str) -> dict[str, Any]:
    return {"name": name, "partition": partition, "tmDefault": "yes"}
