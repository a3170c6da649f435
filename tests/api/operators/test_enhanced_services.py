"""What operators see of agents' enhanced services."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.ports import Store
from evenkeel.core.protocol.messages import ReportState
from evenkeel.core.resources.enhanced_services import EnhancedService
from tests.api.client import Client
from tests.api.operators.conftest import BASE, Join

WEB = EnhancedService(name="web", file="a.json", tags={"lbaas_irule": ("/Common/r",), "lbaas_fastl4": ()})
UNREAD = EnhancedService(name="", file="b.json", problem="b.json: not JSON")


async def report(store: Store, agent_id: str, *services: EnhancedService) -> None:
    said: Any = {"agent_id": agent_id, "session_id": f"session-of-{agent_id}"}
    await store.ownership.record_state(ReportState(**said, enhanced_services=services))


async def listed(api: Client, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.get(f"{BASE}/enhanced_services{query}"))["enhanced_services"]
    return found


@pytest.fixture
async def agents(store: Store, join: Join) -> Store:
    for agent_id in ("a-1", "a-2"):
        await join(agent_id)
    return store


async def test_agents_that_have_the_same_agree(api: Client, agents: Store) -> None:
    for agent_id in ("a-1", "a-2"):
        await report(agents, agent_id, WEB)
    (one,) = await listed(api)
    assert (one["environment"], one["name"], one["usable"], one["agreed"]) == ("dev", "web", True, True)
    assert [agent["host"] for agent in one["agents"]] == ["host-of-a-1", "host-of-a-2"]
    assert one["agents"][0]["tags"] == {"lbaas_irule": ["/Common/r"], "lbaas_fastl4": []}
    shown = await api.get(f"{BASE}/environments/dev/enhanced_services/web")
    assert shown == {"enhanced_service": one}


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (EnhancedService(name="web", file="a.json"), ""),
        (replace(WEB, secret_digest="0123"), ""),
        (EnhancedService(name="web", file="a.json", problem="no such tag"), "no such tag"),
        (EnhancedService(name="other"), "not in its files"),
    ],
)
async def test_agents_that_differ_are_shown(api: Client, agents: Store, second: Any, problem: str) -> None:
    await report(agents, "a-1", WEB)
    await report(agents, "a-2", second)
    (one,) = await listed(api, "?environment=dev&name=web")
    assert (one["usable"], one["agreed"]) == (True, False)
    assert [agent["problem"] for agent in one["agents"]] == ["", problem]


async def test_files_that_could_not_be_read_have_no_name(api: Client, agents: Store) -> None:
    await report(agents, "a-1", WEB, UNREAD)
    await report(agents, "a-2", WEB)
    unread, web = await listed(api)
    assert (unread["name"], unread["usable"], unread["agents"][0]["problem"]) == ("", False, "b.json: not JSON")
    assert web["agreed"]


async def test_unknown_enhanced_service_is_not_found(api: Client, agents: Store) -> None:
    assert await listed(api) == []
    for name in ("web", "a%20b", "x" * 80):
        await api.get(f"{BASE}/environments/dev/enhanced_services/{name}", 404)
