"""Moves of load balancers to another device group are planned, refused by name, begun and ended."""

from typing import Any

import pytest

from evenkeel.api.app import Application, create_app
from evenkeel.core.control.overview import ControllerHeartbeat
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.ports import Store
from evenkeel.devices.haproxy.capabilities import CAPABILITIES as HAPROXY
from evenkeel.devices.noop.capabilities import CAPABILITIES as NOOP
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.api.operators.conftest import BASE, Join, everything

OTHER = {"group_number": 2, "endpoints": ("10.0.0.2",)}


@pytest.fixture
def app(store: Store, sink: Sink) -> Application:
    """Environments of three drivers; one of them cannot hold a load balancer that others serve."""
    return create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        capabilities={"noop": NOOP, "haproxy": HAPROXY, "other": Capabilities()},
    )


async def plan(api: Client, status: int = 200, **wanted: Any) -> dict[str, Any]:
    answer = await api.post(f"{BASE}/moves", {"move": wanted}, status)
    return answer["move"] if status == 200 else answer


async def test_plan_shows_the_steps_and_changes_nothing(api: Client, pair: dict[str, Any], join: Join) -> None:
    await join("m-1", **OTHER)
    before = await everything(api)
    found = await plan(api, project_id="p1", to_group=2)
    assert (found["target"], found["begun"], found["problems"]) == ("dev/2", False, [])
    (one,) = found["loadbalancers"]
    assert (one["load_balancer_id"], one["source"], one["problems"]) == (pair["id"], "dev/1", [])
    assert one["steps"][1] == f"dev/1 stops answering for {pair['vip_address']}, then dev/2 answers"
    assert await everything(api) == before
    assert (await api.get(f"{BASE}/moves"))["moves"] == []


async def test_begun_move_is_listed_and_goes_back(api: Client, pair: dict[str, Any], join: Join, sink: Sink) -> None:
    await join("m-1", **OTHER)
    assert (await plan(api, load_balancer_id=pair["id"], to_group=2, apply=True))["begun"]
    (row,) = (await api.get(f"{BASE}/moves?load_balancer_id={pair['id']}"))["moves"]
    assert (row["step"], row["source"], row["target"]) == ("preparing", "dev/1", "dev/2")
    assert sink.changes[-1].owner is not None
    assert sink.changes[-1].owner.host == "host-of-m-1"
    hosting = (await api.get(f"{BASE}/loadbalancers/{pair['id']}/agent"))["hosting"]
    assert hosting["moving"] == "preparing, from device group dev/1 to dev/2"
    again = await plan(api, load_balancer_id=pair["id"], to_group=2)
    assert again["loadbalancers"][0]["problems"] == ["it is being moved already"]
    refused = await api.put(f"{BASE}/moves/{pair['id']}/finish", None, 409)
    assert "can be finished only while it is stopping or draining or cleaning" in str(refused)
    back = (await api.put(f"{BASE}/moves/{pair['id']}/back", None))["move"]
    assert (back["step"], back["back"], back["reason"]) == ("cleaning", True, "an operator wanted it back")


@pytest.mark.parametrize(
    ("wanted", "status", "text"),
    [
        ({}, 400, "either load_balancer_id or project_id"),
        ({"project_id": "p1"}, 400, "to_group: the number of a device group is needed"),
        ({"project_id": "p1", "to_group": 9}, 400, "no agent of device group dev/9"),
        ({"project_id": "p1", "to_group": 1}, 409, "nothing to move"),
        ({"project_id": "nobody", "to_group": 2}, 409, "nothing to move"),
        ({"project_id": "p1", "to_environment": "elsewhere", "to_group": 1}, 400, "moves within an environment"),
        ({"load_balancer_id": "unknown", "to_group": 2}, 404, "unknown"),
        ({"project_id": "p1", "to_group": -1}, 400, "to_group"),
    ],
)
async def test_move_that_does_not_fit_is_refused_by_name(
    api: Client, pair: dict[str, Any], join: Join, wanted: dict[str, Any], status: int, text: str
) -> None:
    await join("m-1", **OTHER)
    before = await everything(api)
    assert text in str(await plan(api, status, **wanted))
    assert await everything(api) == before


async def environment(api: Client, join: Join, name: str, driver: str) -> None:
    await api.post(f"{BASE}/environments", {"environment": {"name": name, "device_driver": driver}}, 201)
    await join(f"of-{name}", environment=name, device_driver=driver, endpoints=(f"device-of-{name}",))


async def test_to_another_environment_problems_are_named_and_nothing_is_begun(
    api: Client, store: Store, join: Join
) -> None:
    await join("a-1")
    await environment(api, join, "proxies", "haproxy")
    await environment(api, join, "strange", "other")
    lb = (await api.load_balancer(project_id="p1"))["id"]
    assert await store.scheduling.place_load_balancer(lb, "dev", "p1", 1, "a-1") is not None
    await api.listener(lb, connection_limit=0)
    found = await plan(api, load_balancer_id=lb, to_environment="proxies")
    assert "connection_limit 0" in str(found["loadbalancers"][0]["problems"])
    assert "connection_limit 0" in str(await plan(api, 409, load_balancer_id=lb, to_environment="proxies", apply=True))
    found = await plan(api, load_balancer_id=lb, to_environment="strange")
    assert found["problems"] == ["devices of driver other cannot hold a load balancer that others serve"]
    assert (await api.get(f"{BASE}/moves"))["moves"] == []


async def test_devices_that_others_route_to_wait_for_the_operator(api: Client, store: Store, join: Join) -> None:
    await environment(api, join, "proxies", "haproxy")
    await join("other", environment="proxies", device_driver="haproxy", **OTHER)
    lb = (await api.load_balancer(project_id="p1", provider="proxies"))["id"]
    assert await store.scheduling.place_load_balancer(lb, "proxies", "p1", 1, "of-proxies") is not None
    (one,) = (await plan(api, load_balancer_id=lb, to_group=2))["loadbalancers"]
    assert one["by_operator"]
    assert one["steps"][-2].startswith("you route ")


async def test_moves_are_refused_while_controllers_of_two_versions_run(
    api: Client, store: Store, pair: dict[str, Any], join: Join
) -> None:
    await join("m-1", **OTHER)
    for version in ("0.1.0", "0.2.0"):
        await store.scheduling.record_heartbeat(
            ControllerHeartbeat(id=f"of-{version}", host=version, url="http://c", version=version)
        )
    found = await plan(api, load_balancer_id=pair["id"], to_group=2)
    assert found["problems"] == ["controllers run versions 0.1.0 and 0.2.0: upgrade all of them first"]


async def test_device_group_without_a_live_agent_is_refused(
    api: Client, store: Store, pair: dict[str, Any], join: Join
) -> None:
    await join("m-1", **OTHER)
    await store.ownership.end_session("m-1", "session-of-m-1")
    found = await plan(api, load_balancer_id=pair["id"], to_group=2)
    assert found["problems"] == ["no agent of device group dev/2 is up"]
    assert "no agent" in str(await plan(api, 409, load_balancer_id=pair["id"], to_group=2, apply=True))
