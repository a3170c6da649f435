"""Controllers, the topology and the history of a load balancer by HTTP."""

from typing import Any

import pytest

from evenkeel.core.control.overview import ControllerHeartbeat
from evenkeel.core.ports import Store
from evenkeel.core.protocol.messages import ReportApplied, ReportState
from evenkeel.core.status.device_state import DeviceState
from evenkeel.core.status.outcomes import Applied
from tests.api.client import Client
from tests.api.operators.conftest import BASE


async def test_topology_shows_agents_devices_and_shards(api: Client, store: Store, pair: dict[str, Any]) -> None:
    for agent_id, reachable in (("a-1", True), ("a-2", False)):
        device = DeviceState(name="10.0.0.1", reachable=reachable, version="17.1", failover_state="active")
        state = ReportState(
            agent_id=agent_id, session_id=f"session-of-{agent_id}", devices=(device,), queue_depth=0, serving=()
        )
        await store.ownership.record_state(state)
    (group,) = (await api.get(f"{BASE}/topology"))["topology"]["groups"]
    shards = (await api.get(f"{BASE}/shards"))["shards"]
    common, shard = sorted(shards, key=lambda row: str(row["project_id"]))
    assert (common["project_id"], shard["project_id"]) == ("", "p1")
    assert [row["host"] for row in group["agents"]] == ["host-of-a-1", "host-of-a-2"]
    assert group["lines"] == [{"agent_id": "a-1", "shards": 1, "newest_epoch": shard["epoch"]}]
    assert group["shards"] == [common, shard]
    (device,) = group["devices"]
    assert (device["reachable"], device["reached_by"], device["missed_by"]) == (
        True,
        ["host-of-a-1"],
        ["host-of-a-2"],
    )
    await api.post(f"{BASE}/environments", {"environment": {"name": "other", "device_driver": "noop"}})
    assert (await api.get(f"{BASE}/topology?environment=other"))["topology"]["groups"] == []


@pytest.mark.parametrize("path", ["agents", "shards", "topology", "enhanced_services"])
async def test_a_filter_by_an_environment_that_does_not_exist_names_those_that_do(api: Client, path: str) -> None:
    refused = await api.get(f"{BASE}/{path}?environment=dve", status=400)
    assert "Value: 'dve'. Allowed: dev." in refused["description"]


async def test_a_filter_by_a_status_that_does_not_exist_names_those_that_do(api: Client, pair: dict[str, Any]) -> None:
    """Octavia's own API finds nothing."""
    path = f"{BASE}/agents/a-1/loadbalancers?operating_status=BROKEN"
    assert "Allowed: ONLINE, OFFLINE" in (await api.get(path, status=400))["description"]


async def test_the_history_of_a_load_balancer(api: Client, store: Store, pair: dict[str, Any]) -> None:
    path = f"{BASE}/loadbalancers/{pair['id']}/history"
    (row,) = (await api.get(path))["history"]
    assert row["revision"] == 1
    assert row["request_id"].startswith("req-")
    assert (row["applied_at"], row["seconds"], row["host"]) == (None, None, "")
    shard = next(row for row in (await api.get(f"{BASE}/shards"))["shards"] if row["project_id"])
    outcome = Applied(load_balancer_id=pair["id"], revision=1)
    await store.reports.record_applied(
        ReportApplied(
            agent_id="a-1", session_id="session-of-a-1", shard_id=shard["id"], epoch=shard["epoch"], outcomes=(outcome,)
        )
    )
    (row,) = (await api.get(path))["history"]
    assert (row["host"], row["epoch"], row["problem"]) == ("host-of-a-1", shard["epoch"], "")
    assert row["seconds"] >= 0


async def test_controllers(api: Client, store: Store) -> None:
    await store.scheduling.record_heartbeat(
        ControllerHeartbeat(id="c-1", host="h", url="http://h:9876", version="1", message_broker="refused")
    )
    (row,) = (await api.get(f"{BASE}/controllers"))["controllers"]
    assert (row["host"], row["alive"], row["message_broker"]) == ("h", True, "refused")
