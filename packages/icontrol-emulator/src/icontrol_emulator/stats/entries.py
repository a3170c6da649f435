"""Names and values in statistics: states as texts, counters as numbers.

`bitsIn` and `bitsOut` are in bits. Entries without a counter are shown as 0, so that clients find them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import split_path
from icontrol_emulator.config.rules.pool import MEMBERS, is_disabled, is_forced_down, member_endpoint
from icontrol_emulator.config.rules.virtual import ADDRESS, destination
from icontrol_emulator.dataplane.balance import member_path
from icontrol_emulator.dataplane.counters import Counters
from icontrol_emulator.dataplane.plane import DataPlane

Entries = dict[str, dict[str, Any]]


class View(NamedTuple):
    """The source of statistics."""

    plane: DataPlane
    engine: Engine


class Status(NamedTuple):
    available: str
    enabled: str
    reason: str

    def entries(self) -> dict[str, object]:
        return {
            "status.availabilityState": self.available,
            "status.enabledState": self.enabled,
            "status.statusReason": self.reason,
        }


def built(values: dict[str, object]) -> Entries:
    """Values as statistics show them: numbers as values, texts as descriptions."""
    return {
        name: {"value": value} if isinstance(value, int | float) else {"description": str(value)}
        for name, value in sorted(values.items())
    }


def _traffic(prefix: str, counters: Counters) -> dict[str, object]:
    return {
        f"{prefix}.bitsIn": counters.bytes_in * 8,
        f"{prefix}.bitsOut": counters.bytes_out * 8,
        f"{prefix}.curConns": counters.current,
        f"{prefix}.maxConns": counters.maximum,
        f"{prefix}.pktsIn": counters.packets_in,
        f"{prefix}.pktsOut": counters.packets_out,
        f"{prefix}.totConns": counters.total,
    }


def as_seen_from_pool(counters: Counters) -> Counters:
    """A member's counters: bytes that the device sends to the member are `bitsIn` of the member."""
    return Counters(
        bytes_in=counters.bytes_out, bytes_out=counters.bytes_in, packets_in=counters.packets_out,
        packets_out=counters.packets_in, current=counters.current, maximum=counters.maximum, total=counters.total,
        requests=counters.requests,
    )  # fmt: skip


def _zeros(names: str) -> dict[str, object]:
    return dict.fromkeys(names.split(), 0)


_QUEUE = "ageEdm ageEma ageHead ageMax depth serviced"
_VIRTUAL_ZEROS = _zeros(
    "clientside.evictedConns clientside.slowKilled csMaxConnDur csMeanConnDur csMinConnDur ephemeral.bitsIn "
    "ephemeral.bitsOut ephemeral.curConns ephemeral.evictedConns ephemeral.maxConns ephemeral.pktsIn ephemeral.pktsOut "
    "ephemeral.slowKilled ephemeral.totConns fiveMinAvgUsageRatio fiveSecAvgUsageRatio oneMinAvgUsageRatio "
    "syncookie.accepts syncookie.hwAccepts syncookie.hwSyncookies syncookie.hwsyncookieInstance syncookie.rejects "
    "syncookie.swsyncookieInstance syncookie.syncacheCurr syncookie.syncacheOver syncookie.syncookies"
)
_POOL_ZEROS = _zeros(" ".join(f"{kind}.{name}" for kind in ("connq", "connqAll") for name in _QUEUE.split()))
_CLIENT_SSL_ZEROS = _zeros(
    "common.activeHandshakeRejected common.badRecords common.curCompatConns common.currentActiveHandshakes "
    "common.decryptedBytesIn common.decryptedBytesOut common.encryptedBytesIn common.encryptedBytesOut "
    "common.fatalAlerts common.fullyHwAcceleratedConns common.handshakeFailures common.insecureHandshakeAccepts "
    "common.insecureHandshakeRejects common.maxCompatConns common.midstreamRenegotiations "
    "common.partiallyHwAcceleratedConns common.prematureDisconnects common.recordsIn common.recordsOut "
    "common.renegotiationsRejected common.secureHandshakes common.sniRejects common.totCompatConns"
)


# -- states


def member_status(view: View, member: Obj) -> Status:
    state = view.plane.status.monitor_state(member)
    enabled = "disabled" if is_disabled(member) or is_forced_down(member) else "enabled"
    node = view.engine.store.get(_node_key(member))
    if enabled == "enabled" and node is not None and (is_disabled(node) or is_forced_down(node)):
        enabled = "disabled-by-parent"
    if is_forced_down(member):
        return Status("offline", enabled, "Forced down")
    if state == "up":
        return Status("available", enabled, "Pool member is available")
    if state == "down":
        return Status("offline", enabled, view.plane.status.reason(member) or "Pool member has been marked down")
    if state == "disabled":
        return Status("available", "disabled", "Pool member is available, monitor disabled")
    if state == "checking":
        # as scottdware/go-bigip issue 120 quotes it
        return Status("unknown", enabled, "Pool member service checking is enabled, but result is not available yet")
    if state == "unchecked":
        return Status("unknown", enabled, f"{view.plane.status.rule_of(member)}: not probed by this emulator")
    return Status("unknown", enabled, "Pool member does not have service checking enabled")


def _node_key(member: Obj) -> Key:
    folder = split_path(member.key.path).folder
    return Key("ltm/node", "", f"{folder}/{member_endpoint(member).host}")


def pool_status(view: View, pool: Obj) -> Status:
    members = view.engine.store.children(MEMBERS, pool.key.path)
    states = [member_status(view, member) for member in members]
    if not states:
        return Status("unknown", "enabled", _UNCHECKED)
    open_ones = [state for state in states if state.enabled == "enabled"]
    if any(state.available == "available" for state in open_ones):
        return Status("available", "enabled", "The pool is available")
    if any(state.available == "unknown" for state in open_ones):
        return Status("unknown", "enabled", _UNCHECKED)
    if any(state.available == "available" for state in states):
        return Status("available", "disabled", "The children pool member(s) might be disabled")
    return Status("offline", "enabled", "The children pool member(s) are down")


_UNCHECKED = (
    "The children pool member(s) either don't have service checking enabled, or service check results are not "
    "available yet"
)


def virtual_status(view: View, virtual: Obj) -> Status:
    enabled = "disabled" if virtual.props.get("disabled") else "enabled"
    failure = view.plane.failure(virtual)
    if failure:
        return Status("offline", enabled, f"The virtual server cannot listen: {failure}")
    pool = view.engine.store.get(Key("ltm/pool", "", str(virtual.props.get("pool", ""))))
    if pool is None:
        return Status("unknown", enabled, _UNCHECKED)
    below = pool_status(view, pool)
    if below.available == "available" and below.enabled == "enabled":
        return Status("available", enabled, "The virtual server is available")
    return Status(below.available, enabled, below.reason)


def node_status(view: View, node: Obj) -> Status:
    enabled = "disabled" if is_disabled(node) or is_forced_down(node) else "enabled"
    state = view.plane.status.node_state(node)
    if is_forced_down(node):
        return Status("offline", enabled, "Forced down")
    if state == "up":
        return Status("available", enabled, "Node address is available")
    if state == "down":
        return Status("offline", enabled, "Node address has been marked down")
    if state == "disabled":
        return Status("available", "disabled", "Node address is available, monitor disabled")
    if state == "unchecked":
        return Status("unknown", enabled, f"{node.props.get('monitor')}: not probed by this emulator")
    return Status("unknown", enabled, "Node address does not have service checking enabled")


# -- entries


def virtual_entries(view: View, virtual: Obj) -> Entries:
    counters = view.plane.counters.peek("virtual", virtual.key.path)
    props = view.engine.props(virtual)
    place = destination(virtual)
    values: dict[str, object] = {
        **_VIRTUAL_ZEROS, **_traffic("clientside", counters), **virtual_status(view, virtual).entries(),
        "cmpEnableMode": "all-cpus", "cmpEnabled": "enabled" if props.get("cmpEnabled") == "yes" else "disabled",
        "destination": f"{place.host}:{place.port}" if place else "any", "syncookieStatus": "not-activated",
        "tmName": virtual.key.path, "totRequests": counters.requests,
    }  # fmt: skip
    return built(values)


def pool_entries(view: View, pool: Obj) -> Entries:
    counters = as_seen_from_pool(view.plane.counters.peek("pool", pool.key.path))
    members = view.engine.store.children(MEMBERS, pool.key.path)
    usable = [member for member in members if view.plane.status.open_to_new(member)]
    up = sum(view.plane.status.monitor_state(member) == "up" for member in usable)
    values: dict[str, object] = {
        **_POOL_ZEROS, **_traffic("serverside", counters), **pool_status(view, pool).entries(),
        "activeMemberCnt": len(usable), "availableMemberCnt": up, "memberCnt": len(members), "curSessions": 0,
        "minActiveMembers": pool.props.get("minActiveMembers", 0), "monitorRule": pool.props.get("monitor", "none"),
        "tmName": pool.key.path, "totRequests": counters.requests,
    }  # fmt: skip
    return built(values)


def member_entries(view: View, member: Obj) -> Entries:
    counters = as_seen_from_pool(view.plane.counters.peek("member", member_path(member)))
    rule = view.plane.status.rule_of(member)
    source = " (pool monitor)" if member.props.get("monitor") in (None, "default") else ""
    state = view.plane.status.monitor_state(member)
    values: dict[str, object] = {
        **{name: 0 for name in _POOL_ZEROS if name.startswith("connq.")}, **_traffic("serverside", counters),
        **member_status(view, member).entries(), "addr": member.props.get("address", ""), "curSessions": 0,
        "monitorRule": f"{rule}{source}" if rule else "none", "monitorStatus": state or "unchecked",
        "nodeName": _node_key(member).path, "poolName": member.key.parent, "port": member_endpoint(member).port,
        "sessionStatus": "disabled" if is_disabled(member) else "enabled", "totRequests": counters.requests,
    }  # fmt: skip
    return built(values)


def node_entries(view: View, node: Obj) -> Entries:
    counters = as_seen_from_pool(view.plane.counters.peek("node", node.key.path))
    state = view.plane.status.node_state(node)
    values: dict[str, object] = {
        **_traffic("serverside", counters), **node_status(view, node).entries(), "addr": node.props.get("address", ""),
        "curSessions": 0, "monitorRule": node.props.get("monitor", "none"), "monitorStatus": state or "unchecked",
        "sessionStatus": "disabled" if is_disabled(node) else "enabled", "tmName": node.key.path,
        "totRequests": counters.requests,
    }  # fmt: skip
    return built(values)


def address_entries(view: View, address: Obj) -> Entries:
    users = [view.engine.store.get(key) for key in view.engine.store.users(Target(ADDRESS, address.key.path))]
    states = [virtual_status(view, user) for user in users if user is not None]
    words = {state.available for state in states}
    word = "available" if "available" in words else "offline" if words == {"offline"} else "unknown"
    total = Counters()
    for user in users:
        if user is not None:
            total.add(view.plane.counters.peek("virtual", user.key.path))
    enabled = "enabled" if view.engine.props(address).get("enabled") == "yes" else "disabled"
    reasons = {"available": "The virtual address is available", "offline": "The children virtual servers are down"}
    status = Status(word, enabled, reasons.get(word, "The children virtual servers are not checked"))
    values: dict[str, object] = {
        **_traffic("clientside", total), **status.entries(), "addr": address.props.get("address", ""),
        "tmName": address.key.path, "totRequests": total.requests,
    }  # fmt: skip
    return built(values)


def client_ssl_entries(view: View, profile: Obj) -> Entries:
    counters = view.plane.counters.peek("client-ssl", profile.key.path)
    values: dict[str, object] = {
        **_CLIENT_SSL_ZEROS, "common.curConns": counters.current, "common.curNativeConns": counters.current,
        "common.maxConns": counters.maximum, "common.maxNativeConns": counters.maximum,
        "common.nonHwAcceleratedConns": counters.total, "common.totNativeConns": counters.total,
        "tmName": profile.key.path, "typeId": "ltm profile client-ssl", "vsName": "N/A",
    }  # fmt: skip
    return built(values)


BUILDERS: dict[str, Callable[[View, Obj], Entries]] = {
    "ltm/virtual": virtual_entries,
    "ltm/pool": pool_entries,
    MEMBERS: member_entries,
    "ltm/node": node_entries,
    ADDRESS: address_entries,
    "ltm/profile/client-ssl": client_ssl_entries,
}
