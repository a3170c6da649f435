"""A tenant who keeps writing while things break, and remembers what was acknowledged."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import aiohttp

from evenkeel.cli.client import ClientError
from evenkeel.demo.cluster import Cluster
from tests.waiting import eventually

LBAAS = "/v2.0/lbaas"
REQUEST_SECONDS = 60.0
PATIENCE_SECONDS = 180.0
LIMIT_SECONDS = 180.0


def session() -> aiohttp.ClientSession:
    """For tenants."""
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS))


class Tenant:
    """One project's load balancer with one pool. ``acknowledged`` holds members whose create was answered 2xx."""

    def __init__(self, http: aiohttp.ClientSession, endpoints: Sequence[str], project_id: str) -> None:
        self._http = http
        self._endpoints = itertools.cycle(endpoints)
        self.project_id = project_id
        self.load_balancer_id = ""
        self.pool_id = ""
        self.acknowledged: set[tuple[str, int]] = set()
        self.removed: set[tuple[str, int]] = set()
        self.refused: list[str] = []

    async def once(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One try on the next controller. (0, …): no answer, the outcome is unknown."""
        url = next(self._endpoints) + path
        try:
            async with self._http.request(method, url, json=body) as answer:
                content = await answer.read()
                return answer.status, (await answer.json() if content else None)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return 0, repr(error)

    async def surely(self, method: str, path: str, body: Any = None) -> Any:
        """Try until it is answered 2xx."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while True:
            status, answer = await self.once(method, path, body)
            if 200 <= status < 300:
                return answer
            assert status in (0, 503), f"{method} {path}: {status} {answer}"
            assert asyncio.get_running_loop().time() < deadline, f"{method} {path}: no answer, last {answer}"
            await asyncio.sleep(0.1)

    async def create(self, subnet_id: str) -> None:
        """A load balancer with a listener, a pool, a monitor and one member, in one request."""
        body = {
            "loadbalancer": {
                "name": f"of {self.project_id}",
                "project_id": self.project_id,
                "vip_subnet_id": subnet_id,
                "listeners": [
                    {
                        "protocol": "HTTP",
                        "protocol_port": 8080,
                        "default_pool": {
                            "name": "web",
                            "protocol": "HTTP",
                            "lb_algorithm": "ROUND_ROBIN",
                            "healthmonitor": {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3},
                            "members": [{"address": "127.0.0.1", "protocol_port": 9}],
                        },
                    }
                ],
            }
        }
        made = (await self.surely("POST", f"{LBAAS}/loadbalancers", body))["loadbalancer"]
        self.load_balancer_id, self.pool_id = made["id"], made["pools"][0]["id"]
        self.acknowledged.add(("127.0.0.1", 9))

    async def add_member(self, number: int) -> None:
        """One try to add a member; remembered if acknowledged."""
        member = (f"198.18.{number // 250}.{number % 250 + 1}", 8080)
        body = {"member": {"address": member[0], "protocol_port": member[1]}}
        status, answer = await self.once("POST", f"{LBAAS}/pools/{self.pool_id}/members", body)
        if status == 201:
            self.acknowledged.add(member)
        elif status not in (0, 503):
            self.refused.append(f"{status} {answer}")

    async def remove_member(self) -> None:
        """One try to remove some acknowledged member; forgotten if acknowledged, in doubt if not answered."""
        status, answer = await self.once("GET", f"{LBAAS}/pools/{self.pool_id}/members?limit=1000")
        if status != 200:
            return
        for row in answer["members"]:
            member = (row["address"], row["protocol_port"])
            if member in self.acknowledged and row["provisioning_status"] != "PENDING_DELETE":
                self.acknowledged.discard(member)
                status, _ = await self.once("DELETE", f"{LBAAS}/pools/{self.pool_id}/members/{row['id']}")
                if status == 204:
                    self.removed.add(member)
                return

    async def members(self) -> set[tuple[str, int]]:
        """What the API says is there."""
        rows = (await self.surely("GET", f"{LBAAS}/pools/{self.pool_id}/members"))["members"]
        return {(row["address"], row["protocol_port"]) for row in rows}

    async def unsettled(self) -> list[str]:
        """Objects of the load balancer that are not ACTIVE."""
        status, answer = await self.once("GET", f"{LBAAS}/loadbalancers/{self.load_balancer_id}/status")
        if status != 200:
            return [f"{status} {answer}"]
        found: list[str] = []
        _collect(answer["statuses"], found)
        return found


def _collect(node: Any, found: list[str]) -> None:
    if isinstance(node, dict):
        status = node.get("provisioning_status")
        if status not in (None, "ACTIVE"):
            found.append(f"{node.get('id')} {status}")
        for value in node.values():
            _collect(value, found)
    elif isinstance(node, list):
        for value in node:
            _collect(value, found)


async def acting(cluster: Cluster, tenant: Tenant) -> str:
    """The host of the live agent that serves the tenant; empty if none does now."""
    try:
        hosting = (await cluster.get_json(f"/loadbalancers/{tenant.load_balancer_id}/agent"))["hosting"]
    except ClientError:
        return ""
    found: Any = hosting["acting"]
    return str(found["host"]) if found and found["alive"] else ""


async def settled(*tenants: Tenant) -> None:
    """Wait until everything of these tenants is ACTIVE."""
    for tenant in tenants:

        async def all_active(tenant: Tenant = tenant) -> bool:
            return not await tenant.unsettled()

        await eventually(all_active, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
