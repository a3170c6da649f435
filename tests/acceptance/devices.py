"""The devices of a running cluster, seen and changed by somebody with the admin's password."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import aiohttp

from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.bigip import DEVICE_USER
from evenkeel.demo.devices import EmulatedDevice

KINDS = (
    "ltm/virtual",
    "ltm/virtual-address",
    "ltm/pool",
    "ltm/node",
    "ltm/monitor/http",
    "ltm/profile/http",
    "ltm/data-group/internal",
)
VOLATILE = {"generation", "selfLink", "lastModifiedTime", "creationTime", "vsIndex"}


async def call(cluster: Cluster, device: EmulatedDevice, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request of iControl REST: status and document."""
    password = await asyncio.to_thread(Path(cluster.directory / "etc" / "icontrol-password").read_text)
    login = base64.b64encode(f"{DEVICE_USER}:{password.strip()}".encode()).decode()
    async with (
        aiohttp.ClientSession() as http,
        http.request(
            method,
            f"{device.url}/mgmt/tm/{path}",
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": "application/json", "Authorization": f"Basic {login}"},
            ssl=False,
        ) as answer,
    ):
        content = await answer.read()
        return answer.status, json.loads(content) if content else {}


async def change(cluster: Cluster, device: EmulatedDevice, method: str, path: str, body: Any = None) -> None:
    """A change by hand, which the device accepts."""
    status, answer = await call(cluster, device, method, path, body)
    assert status == 200, f"{method} {path}: {status} {answer}"


async def content(cluster: Cluster, device: EmulatedDevice, partition: str) -> dict[str, Any]:
    """Every attribute of everything in a partition, but those that change by themselves or with every write."""
    found = {}
    for kind in KINDS:
        status, answer = await call(cluster, device, "GET", f"{kind}?expandSubcollections=true")
        assert status == 200, answer
        for item in answer.get("items", ()):
            if item["partition"] == partition:
                found[f"{kind} {item['name']}"] = _steady(item)
    for name, guard in found.items():
        if name.startswith("ltm/data-group"):
            guard.pop("records", None)
    return found


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _steady(inner) for name, inner in value.items() if name not in VOLATILE and inner != []}
    if isinstance(value, list):
        return [_steady(inner) for inner in value]
    return value


def segment(partition: str, name: str) -> str:
    return f"~{partition}~{name}"
