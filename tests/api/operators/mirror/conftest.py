"""An Octavia that puts load balancers, and a device that confirms them."""

import copy
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client
from tests.api.operators.conftest import BASE
from tests.store.builders import confirm

MIRROR = f"{BASE}/mirror"


def uid(number: int) -> str:
    """An id like those of Octavia."""
    return f"{number:08x}-0000-4000-8000-000000000000"


LB, LISTENER, POOL, MEMBER, OTHER_MEMBER, MONITOR, POLICY, RULE = map(uid, range(1, 9))


def member(id_: str = MEMBER, last: int = 1, **attributes: Any) -> dict[str, Any]:
    return {"id": id_, "address": f"10.20.0.{last}", "protocol_port": 8080, **attributes}


def pool(**attributes: Any) -> dict[str, Any]:
    return {
        "id": POOL,
        "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN",
        "members": [member(), member(OTHER_MEMBER, 2)],
        "healthmonitor": {"id": MONITOR, "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2},
        **attributes,
    }


def listener(**attributes: Any) -> dict[str, Any]:
    rule = {"id": RULE, "type": "PATH", "compare_type": "STARTS_WITH", "value": "/api"}
    policy = {"id": POLICY, "action": "REDIRECT_TO_POOL", "redirect_pool_id": POOL, "position": 1, "rules": [rule]}
    return {
        "id": LISTENER,
        "protocol": "HTTP",
        "protocol_port": 80,
        "default_pool_id": POOL,
        "l7policies": [policy],
        **attributes,
    }


def whole(**attributes: Any) -> dict[str, Any]:
    """A load balancer with one object of each kind, and a second member."""
    return {
        "project_id": "p1",
        "provider": "dev",
        "vip_address": "203.0.113.5",
        "vip_subnet_id": "octavia-subnet",
        "vip_network_id": "octavia-network",
        "vip_port_id": "octavia-port",
        "listeners": [listener()],
        "pools": [pool()],
        **attributes,
    }


class Octavia:
    """Puts load balancers, each time with a newer snapshot."""

    def __init__(self, api: Client, store: SqlStore, provider: str = "dev") -> None:
        self.api = api
        self.provider = provider
        self.store = store
        self.now = itertools.count(1_000)

    async def put(
        self, body: dict[str, Any], *, id_: str = LB, status: int = 200, snapshot: float | None = None, **more: Any
    ) -> Any:
        """What the answer holds: the load balancer, or the error."""
        at = next(self.now) if snapshot is None else snapshot
        content = {"snapshot": at, "digest": "d", "loadbalancer": copy.deepcopy(body), **more}
        answer = await self.api.put(f"{MIRROR}/loadbalancers/{id_}", content, status)
        return answer["loadbalancer"] if status == 200 else answer

    async def delete(self, *, id_: str = LB, status: int = 204, snapshot: float | None = None) -> Any:
        at = next(self.now) if snapshot is None else snapshot
        return await self.api.delete(f"{MIRROR}/loadbalancers/{id_}?provider={self.provider}&snapshot={at}", status)

    async def status(self, id_: str = LB) -> Any:
        """The statuses of the load balancer; None if there is none."""
        found = (await self.api.post(f"{MIRROR}/statuses", {"ids": [id_]}, 200))["loadbalancers"]
        return found[0] if found else None

    async def applied(self, id_: str = LB) -> None:
        await confirm(self.store, id_)


@pytest.fixture
def octavia(api: Client, store: SqlStore) -> Octavia:
    """The only user of the mirror."""
    return Octavia(api, store)


@pytest.fixture
async def placed(join: Callable[..., Awaitable[str]], store: SqlStore, octavia: Octavia) -> Octavia:
    """With a whole load balancer that an agent serves."""
    await join("a-1")
    await octavia.put(whole())
    assert await store.scheduling.place_load_balancer(LB, "dev", "p1", 1, "a-1") is not None
    await octavia.applied()
    return octavia
