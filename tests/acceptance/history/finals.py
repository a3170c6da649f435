"""Does a device hold what the API says, and nothing else? Pure.

The mapping is that of ``docs/reference/bigip.md``, written down once more on purpose: what the product's own
renderer gets wrong must not be wrong here as well.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Api = Mapping[str, Any]


def registers_of(api: Api) -> dict[str, Any]:
    """What every object holds, by its client's path (see :mod:`registers`)."""
    roots = {row["id"]: row["name"] for row in api["loadbalancers"]}
    found: dict[str, Any] = {f"{row['name']}/": {"description": row["description"]} for row in api["loadbalancers"]}
    for row in api["listeners"]:
        key = f"{roots[row['loadbalancers'][0]['id']]}/{row['name']}"
        found[key] = {"description": row["description"], "connection_limit": row["connection_limit"]}
    for row in api["pools"]:
        key = f"{roots[row['loadbalancers'][0]['id']]}/{row['name']}"
        found[key] = {"description": row["description"], "lb_algorithm": row["lb_algorithm"]}
        for member in row["members"]:
            place = f"{key}/{member['address']}:{member['protocol_port']}"
            found[place] = {"name": member["name"], "weight": member["weight"]}
    return found


def unsettled(api: Api) -> list[str]:
    """Objects that are not ACTIVE."""
    rows = [*api["loadbalancers"], *api["listeners"], *api["pools"]]
    rows += [member for pool in api["pools"] for member in pool["members"]]
    return [
        f"{row['id']} ({row['name']}) is {row['provisioning_status']}"
        for row in rows
        if row["provisioning_status"] != "ACTIVE"
    ]


def wanted_on_devices(api: Api, environment: str) -> dict[str, Any]:
    """Full path -> attributes of all objects that are to be in the environment's partitions, and of its nodes."""
    found: dict[str, Any] = {}
    for row in api["loadbalancers"]:
        found[_path(environment, row, row["id"])] = {"address": row["vip_address"]}
    for row in api["listeners"]:
        pool = row["default_pool_id"]
        found[_path(environment, row, row["id"])] = {
            "port": row["protocol_port"],
            "limit": max(0, row["connection_limit"]),
            "pool": _path(environment, row, pool) if pool else "",
        }
    for row in api["pools"]:
        found[_path(environment, row, row["id"])] = {
            "mode": _mode(row),
            "members": {f"{one['address']}:{one['protocol_port']}": _member(one) for one in row["members"]},
        }
        for member in row["members"]:
            found[f"/Common/{environment}_{member['address']}"] = {"node": member["address"]}
        if row["healthmonitor_id"]:
            found[_path(environment, row, row["healthmonitor_id"])] = {"monitor": True}
    return found


def _path(environment: str, row: Mapping[str, Any], object_id: str) -> str:
    return f"/{environment}_{row['project_id']}/{environment}_{object_id}"


def _mode(pool: Mapping[str, Any]) -> str:
    weighted = len({member["weight"] for member in pool["members"]} - {0}) > 1
    if pool["lb_algorithm"] == "ROUND_ROBIN":
        return "ratio-member" if weighted else "round-robin"
    return "ratio-least-connections-member" if weighted else "least-connections-member"


def _member(member: Mapping[str, Any]) -> str:
    return "drained" if member["weight"] == 0 else f"ratio {member['weight']}"


def differences(wanted: Mapping[str, Any], held: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(what is missing or different, what is too much)."""
    wrong = [
        f"{path}: {held.get(path)} instead of {value}" for path, value in wanted.items() if held.get(path) != value
    ]
    return wrong, sorted(held.keys() - wanted.keys())


def backwards(observed: Iterable[Mapping[str, Any]]) -> list[str]:
    """Load balancers whose revision or applied revision went down, or whose applied is above the revision."""
    last: dict[str, tuple[int, int]] = {}
    found = []
    for event in observed:
        now = (event["revision"], event["applied"])
        before = last.get(event["load_balancer"], (0, 0))
        if now[0] < before[0] or now[1] < before[1]:
            found.append(f"{event['load_balancer']}: (revision, applied) {now} after {before} (t={event['t']})")
        if now[1] > now[0]:
            found.append(f"{event['load_balancer']}: applied {now[1]} above revision {now[0]} (t={event['t']})")
        last[event["load_balancer"]] = now
    return found
