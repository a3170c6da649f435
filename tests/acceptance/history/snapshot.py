"""What API and devices hold, read from outside."""

import asyncio
from typing import Any

from evenkeel.demo.devices import EmulatedDevice, Emulator
from tests.acceptance.history.http import LBAAS, Api

PAGE = 500
KINDS = ("ltm/virtual-address", "ltm/virtual", "ltm/pool", "ltm/node", "ltm/monitor/http", "ltm/monitor/tcp")


async def read_api(api: Api) -> dict[str, Any]:
    """All load balancers, listeners, and pools with their members in ``members``."""
    found: dict[str, Any] = {}
    for kind in ("loadbalancers", "listeners", "pools"):
        found[kind] = await _pages(api, kind)
    for pool in found["pools"]:
        answer = await api.surely(f"{LBAAS}/pools/{pool['id']}/members")
        pool["members"] = answer.get("members", [])
    return found


async def _pages(api: Api, kind: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while True:
        marker = {"marker": rows[-1]["id"]} if rows else {}
        page = (await api.surely(f"{LBAAS}/{kind}", limit=PAGE, paged=False, **marker))[kind]
        rows += page
        if len(page) < PAGE:
            return rows


async def unsettled_roots(api: Api) -> int | None:
    """How many load balancers are not ACTIVE; None if nobody can tell now."""
    count = 0
    for status in ("PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ERROR"):
        answer = await api.read(f"{LBAAS}/loadbalancers", provisioning_status=status, fields="id")
        if answer is None:
            return None
        count += len(answer["loadbalancers"])
    return count


async def read_devices(emulator: Emulator, environment: str) -> dict[str, dict[str, Any]]:
    """Device -> full path -> attributes, of what is in the environment's partitions, and of its nodes in /Common, as
    :mod:`finals` has it.
    """
    return {
        device.name: await asyncio.to_thread(_read_device, emulator, device, f"/{environment}_")
        for device in emulator.devices
    }


def _read_device(emulator: Emulator, device: EmulatedDevice, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in KINDS:
        query = "?expandSubcollections=true" if kind == "ltm/pool" else ""
        for item in emulator.read(device, f"/mgmt/tm/{kind}{query}").get("items", []):
            if item["fullPath"].startswith((prefix, f"/Common{prefix}")):
                found[item["fullPath"]] = _attributes(kind, item)
    return found


def _attributes(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    if kind == "ltm/virtual-address":
        return {"address": item["address"]}
    if kind == "ltm/virtual":
        port = int(item["destination"].rpartition(":")[2])
        return {"port": port, "limit": item["connectionLimit"], "pool": item.get("pool", "")}
    if kind == "ltm/pool":
        members = item.get("membersReference", {}).get("items", [])
        return {"mode": item["loadBalancingMode"], "members": {_place(one): _member(one) for one in members}}
    return {"node": item["address"]} if kind == "ltm/node" else {"monitor": True}


def _place(member: dict[str, Any]) -> str:
    return f"{member['address']}:{member['name'].rpartition(':')[2]}"


def _member(item: dict[str, Any]) -> str:
    return "drained" if item["session"] == "user-disabled" else f"ratio {item['ratio']}"
