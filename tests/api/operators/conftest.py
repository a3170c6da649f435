"""A device group with a live agent, and ways to see that nothing changed."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from evenkeel.core.ports import Store
from evenkeel.core.protocol.messages import Register
from evenkeel.core.resources.statuses import HaType
from tests.api.client import Client

BASE = "/evenkeel/v1"

Join = Callable[..., Awaitable[str]]


@pytest.fixture
def join(store: Store) -> Join:
    """Register an agent; its id."""

    async def register(agent_id: str, **changes: Any) -> str:
        usual: dict[str, Any] = {
            "agent_id": agent_id,
            "session_id": f"session-of-{agent_id}",
            "environment": "dev",
            "group_number": 1,
            "host": f"host-of-{agent_id}",
            "device_driver": "noop",
            "ha_type": HaType.STANDALONE,
            "endpoints": ("10.0.0.1",),
        }
        await store.ownership.register(Register(**usual | changes), ttl_seconds=3600.0)
        return agent_id

    return register


@pytest.fixture
async def pair(api: Client, store: Store, join: Join) -> dict[str, Any]:
    """Agents a-1, home to a load balancer, and a-2; the load balancer."""
    await join("a-1")
    await join("a-2")
    created = await api.load_balancer(project_id="p1")
    assert await store.scheduling.place_load_balancer(created["id"], "dev", "p1", 1, "a-1") is not None
    return created


async def everything(api: Client) -> dict[str, Any]:
    """What operators see of the whole, but for sessions' times."""
    agents = (await api.get(f"{BASE}/agents"))["agents"]
    return {
        "agents": [{key: value for key, value in row.items() if not key.endswith("_at")} for row in agents],
        "shards": (await api.get(f"{BASE}/shards"))["shards"],
        "environments": (await api.get(f"{BASE}/environments"))["environments"],
        "events": (await api.get(f"{BASE}/events"))["events"],
    }


async def kinds(api: Client, after: int = 0) -> list[str]:
    """Kinds of the events after that one."""
    return [event["kind"] for event in (await api.get(f"{BASE}/events?after={after}"))["events"]]


async def last_event(api: Client) -> int:
    """The id of the newest event."""
    (event,) = (await api.get(f"{BASE}/events?newest=true&limit=1"))["events"]
    return int(event["id"])
