"""Pools with their members and nodes, and monitors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_as3.translate.names import COMMON, Place, Wanted, described, endpoint, on_off, shortest

_STATES = {
    "enable": ("user-up", "user-enabled"), "disable": ("user-up", "user-disabled"),
    "offline": ("user-down", "user-disabled"),
}  # fmt: skip
_KINDS = {"icmp": "gateway-icmp"}


def monitor_rule(place: Place, item: Mapping[str, Any]) -> str:
    """The monitor rule of a pool or member; empty without monitors."""
    paths = [_monitor(place, each) for each in item.get("monitors", [])]
    fewest = item.get("minimumMonitors", 1)
    if not paths:
        return ""
    # AS3 names a single monitor without a number, and needs one of several unless told otherwise
    return paths[0] if len(paths) == 1 else f"min {fewest} of {{ {' '.join(paths)} }}"


def _monitor(place: Place, value: Any) -> str:
    if isinstance(value, str):
        word = "gateway_icmp" if value == "icmp" else value.replace("-", "_")
        return f"/Common/{word}"
    return place.refer("monitors", value, "Monitor")


def pool(place: Place) -> Iterator[Wanted]:
    item = place.item
    members: dict[str, dict[str, Any]] = {}
    nodes: dict[str, Wanted] = {}
    for each in item.get("members", []):
        if not each.get("enable", True):
            continue
        for address in each["serverAddresses"]:
            node = _node(place, each, address)
            nodes[node.path] = node
            name = endpoint(node.path, each["servicePort"])
            members[name] = {"name": name, **_member(place, each)}
    yield from nodes.values()
    body = {
        "loadBalancingMode": item.get("loadBalancingMode", "round-robin"),
        "minActiveMembers": item.get("minimumMembersActive", 1), "reselectTries": item.get("reselectTries", 0),
        "serviceDownAction": item.get("serviceDownAction", "none"), "slowRampTime": item.get("slowRampTime", 10),
        "members": list(members.values()), **described(item),
    }  # fmt: skip
    rule = monitor_rule(place, item)
    yield Wanted("ltm/pool", place.path, {**body, "monitor": rule} if rule else body)


def _node(place: Place, member: Mapping[str, Any], address: str) -> Wanted:
    shared = bool(member.get("shareNodes", False))
    if "%" not in address and member.get("routeDomain"):
        address = f"{address}%{member['routeDomain']}"
    address = shortest(address)
    folder = f"/{COMMON}" if shared else place.top
    # tenants share it, and so does the operator: none of them owns it
    return Wanted("ltm/node", f"{folder}/{address}", {"address": address}, kept=shared)


def _member(place: Place, member: Mapping[str, Any]) -> dict[str, Any]:
    state, session = _STATES[member.get("adminState", "enable")]
    return {
        "state": state, "session": session, "ratio": member.get("ratio", 1),
        "priorityGroup": member.get("priorityGroup", 0), "connectionLimit": member.get("connectionLimit", 0),
        "monitor": monitor_rule(place, member) or "default", **described(member),
    }  # fmt: skip


def monitor(place: Place) -> Iterator[Wanted]:
    item = place.item
    kind = item["monitorType"]
    host = shortest(item["targetAddress"]) if "targetAddress" in item else "*"
    body: dict[str, Any] = {
        "destination": endpoint(host, item.get("targetPort") or "*"),
        "interval": item.get("interval", 5), "timeout": item.get("timeout", 16),
        "timeUntilUp": item.get("timeUntilUp", 0), "upInterval": item.get("upInterval", 0), **described(item),
    }  # fmt: skip
    names = {"send": "send", "receive": "recv", "receiveDown": "recvDisable", "queryName": "qname"}
    body |= {name: item[own] for own, name in names.items() if item.get(own)}
    body |= {name: on_off(item[name]) for name in ("reverse", "transparent") if item.get(name)}
    yield Wanted(f"ltm/monitor/{_KINDS.get(kind, kind)}", place.path, body)
