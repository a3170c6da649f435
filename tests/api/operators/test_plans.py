"""What the next pass would change: asked of the agent, answered through the database."""

from typing import Any

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.devices.plans import ORPHAN, AttributeChange, DevicePlan, PlannedOperation
from evenkeel.core.ports import Store
from evenkeel.core.protocol.messages import Register, ReportPlan
from evenkeel.core.resources.statuses import HaType
from tests.api.client import Client, Sink

BASE = "/evenkeel/v1/loadbalancers"
STEP = PlannedOperation(
    verb="modify", type="ltm/pool", name="/dev_p1/x", attributes=(AttributeChange(name="a", present="1", wanted="2"),)
)


async def placed(api: Client, store: Store) -> str:
    """A load balancer that agent a-1 serves."""
    call = Register(
        agent_id="a-1",
        session_id="s-1",
        environment="dev",
        group_number=1,
        host="host-1",
        device_driver="noop",
        ha_type=HaType.STANDALONE,
    )
    await store.ownership.register(call, ttl_seconds=3600.0)
    created = await api.load_balancer(project_id="p1")
    assert await store.scheduling.place_load_balancer(created["id"], "dev", "p1", 1, "a-1") is not None
    return str(created["id"])


def answering(store: Store, **answer: Any) -> Any:
    """What the agent does with a question."""

    async def report(owner: ShardOwner, load_balancer_id: str, inquiry_id: str) -> None:
        assert (owner.environment, owner.group_number, owner.host) == ("dev", 1, "host-1")
        await store.reports.record_plan(
            ReportPlan(
                agent_id="a-1",
                session_id="s-1",
                shard_id=owner.shard_id,
                epoch=1,
                inquiry_id=inquiry_id,
                **answer,
            )
        )

    return report


async def test_the_agents_answer_is_shown(api: Client, store: Store, sink: Sink) -> None:
    lb = await placed(api, store)
    devices = (DevicePlan(device="bigip-1", operations=(STEP,), more=2), DevicePlan(device="b", problem="away"))
    sink.on_question = answering(store, devices=devices)
    shown = (await api.post(f"{BASE}/{lb}/plan", None, status=200))["plan"]
    assert (shown["load_balancer_id"], shown["agent_id"], shown["host"]) == (lb, "a-1", "host-1")
    first, second = shown["devices"]
    assert first["operations"] == [
        {
            "verb": "modify",
            "type": "ltm/pool",
            "name": "/dev_p1/x",
            "note": "",
            "attributes": [{"name": "a", "present": "1", "wanted": "2"}],
        }
    ]
    assert (first["more"], first["problem"]) == (2, "")
    assert second == {"device": "b", "operations": [], "more": 0, "left": [], "problem": "away"}


async def test_plan_without_an_agent_that_can_answer_is_refused_with_the_reason(
    api: Client, store: Store, sink: Sink
) -> None:
    unplaced = (await api.load_balancer(project_id="p2"))["id"]
    assert "No agent" in (await api.post(f"{BASE}/{unplaced}/plan", None, status=409))["faultstring"]
    lb = await placed(api, store)
    assert "within reach" in (await api.post(f"{BASE}/{lb}/plan", None, status=503))["faultstring"]
    sink.on_question = answering(store, problem="the devices did not answer")
    told = (await api.post(f"{BASE}/{lb}/plan", None, status=503))["faultstring"]
    assert "agent host-1: the devices did not answer" in told
    await store.ownership.end_session("a-1", "s-1")
    assert "No agent" in (await api.post(f"{BASE}/{lb}/plan", None, status=409))["faultstring"]
    nobody = "4cdf1d5c-5d5b-4f0e-9a57-0e0b5a9d7c11"
    await api.post(f"{BASE}/{nobody}/plan", None, status=404)


async def test_plan_without_an_answer_times_out(api: Client, store: Store, sink: Sink, monkeypatch: Any) -> None:
    monkeypatch.setattr("evenkeel.api.operators.plans.POLLS_MAX", 2)
    lb = await placed(api, store)

    async def silence(owner: ShardOwner, load_balancer_id: str, inquiry_id: str) -> None: ...

    sink.on_question = silence
    assert "did not answer" in (await api.post(f"{BASE}/{lb}/plan", None, status=503))["faultstring"]


async def test_a_partition_is_adopted_by_the_agent_only_on_request(api: Client, store: Store, sink: Sink) -> None:
    await placed(api, store)
    (shard,) = [one for one in await store.operators.shards() if one.project_id]
    (common,) = [one for one in await store.operators.shards() if not one.project_id]
    sink.on_question = answering(store, devices=(DevicePlan(device="a", left=("ltm/policy /dev_p1/x",)),))
    for body in ({}, {"apply": True}):
        answer = await api.post(f"/evenkeel/v1/shards/{shard.id}/adoption", {"adoption": body}, status=200)
        assert answer["adoption"]["devices"][0]["left"] == ["ltm/policy /dev_p1/x"]
        assert answer["adoption"]["load_balancer_id"] == ""
    assert sink.adopted == [False, True]
    await api.post(f"/evenkeel/v1/shards/{common.id}/adoption", {"adoption": {}}, status=409)
    await api.post("/evenkeel/v1/shards/nobody/adoption", {"adoption": {}}, status=404)


async def test_partition_is_given_back_with_an_event_of_its_own(api: Client, store: Store, sink: Sink) -> None:
    await placed(api, store)
    (shard,) = [one for one in await store.operators.shards() if one.project_id]
    sink.on_question = answering(store, devices=(DevicePlan(device="a", operations=(STEP,)),))
    for body in ({"give_back": True}, {"give_back": True, "apply": True}):
        answer = await api.post(f"/evenkeel/v1/shards/{shard.id}/adoption", {"adoption": body}, status=200)
        assert answer["adoption"]["devices"][0]["operations"]
    assert (sink.adopted, sink.given_back) == ([False, True], [True, True])
    both = {"adoption": {"give_back": True, "keep_irules": True}}
    refused = await api.post(f"/evenkeel/v1/shards/{shard.id}/adoption", both, status=400)
    assert "keep_irules: not together with give_back" in refused["faultstring"]
    events = (await api.get("/evenkeel/v1/events?newest=true&limit=2"))["events"]
    assert {event["kind"] for event in events} == {"partition_given_back", "return_requested"}
    assert all("partition of project p1" in event["text"] for event in events)


async def test_orphans_are_what_devices_hold_and_the_database_does_not_have(
    api: Client, store: Store, sink: Sink
) -> None:
    known = await placed(api, store)
    (shard,) = [one for one in await store.operators.shards() if one.project_id]
    (common,) = [one for one in await store.operators.shards() if not one.project_id]
    steps = tuple(
        PlannedOperation(verb="delete", type=ORPHAN, name=name, note="65") for name in (known, "gone", "nul\0")
    )
    sink.on_question = answering(store, devices=(DevicePlan(device="a, b", operations=steps, more=1),))
    found = await api.post(f"/evenkeel/v1/shards/{common.id}/orphans", None, status=200)
    assert found == {
        "orphans": [
            {"load_balancer_id": name, "devices": "a, b", "seconds": 65, "removed_in_seconds": None}
            for name in ("gone", "nul\0")
        ],
        "partitions": [],
        "more": 1,
    }
    await api.post(f"/evenkeel/v1/shards/{shard.id}/orphans", None, status=409)
