"""Held load balancers: stored and shown, on no device before their release, and gone when they are held again."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.core.status.provisioning import HELD_REASON
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client
from tests.api.operators.mirror.conftest import LB, LISTENER, MEMBER, POOL, member, pool, whole
from tests.api.subnet import SUBNET
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

BASE = "/evenkeel/v1"
IMPORT = f"{BASE}/imports/loadbalancers/{LB}"
OBJECTS = (f"/listeners/{LISTENER}", f"/pools/{POOL}", f"/pools/{POOL}/members/{MEMBER}")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


@pytest.fixture
async def api(world: World) -> AsyncIterator[Client]:
    await world.start()
    app = create_app(
        store=world.store,
        network=BuiltinNetwork(world.store.operators),
        driver=world.controllers["c0"].driver,
        default_provider=ENVIRONMENT,
    )
    async with Client.of(app) as client:
        await world.store.operators.add_subnet(SUBNET)
        yield client


async def given(api: Client, **changes: Any) -> dict[str, Any]:
    subnet = (await api.get(f"{BASE}/subnets"))["subnets"][0]
    body = whole(provider=ENVIRONMENT, vip_subnet_id=subnet["id"], vip_address="10.10.7.5", name="web", **changes)
    del body["vip_network_id"], body["vip_port_id"]
    return body


async def put(api: Client, body: dict[str, Any], *, apply: bool = True) -> Any:
    asked = {"apply": apply, "held": True, "loadbalancer": body}
    return (await api.put(IMPORT, asked, 200))["import"]


async def release(api: Client, held: bool = False) -> None:
    answer = await api.put(f"{IMPORT}/held", {"held": held}, 200)
    assert answer == {"import": {"id": LB, "held": held}}


async def settled(api: Client, *, held: bool = True) -> dict[str, Any]:
    """The load balancer, once its devices have confirmed that it is held, or that they have it."""
    found: list[dict[str, Any]] = []

    async def is_so() -> bool:
        told = await hosting(api)
        found[:] = [told]
        return (told["held"], told["provisioning_status"]) == (held, "ACTIVE")

    await eventually(is_so)
    return found[0]


async def statuses(api: Client) -> set[tuple[str, str]]:
    shown = [next(iter((await api.get(path)).values())) for path in OBJECTS]
    return {(each["provisioning_status"], each["operating_status"]) for each in shown}


async def hosting(api: Client) -> dict[str, Any]:
    shown: dict[str, Any] = (await api.get(f"{BASE}/loadbalancers/{LB}/agent"))["hosting"]
    return shown


async def test_a_held_load_balancer_is_shown_and_on_no_device_until_it_is_released(world: World, api: Client) -> None:
    assert (await put(api, await given(api)))["outcome"] == "imported"
    await settled(api)
    assert world.on_device("p1") == {}
    assert await statuses(api) == {("ACTIVE", "OFFLINE")}
    told = await hosting(api)
    assert (told["held"], told["status_reason"], told["applied_revision"]) == (True, HELD_REASON, 0)
    tree = (await api.get(f"/loadbalancers/{LB}/status"))["statuses"]["loadbalancer"]
    assert tree["operating_status"] == "OFFLINE"

    await release(api)
    await settled(api, held=False)
    assert world.on_device("p1") == {LB: "web"}
    assert {provisioning for provisioning, _ in await statuses(api)} == {"ACTIVE"}
    told = await hosting(api)
    assert (told["held"], told["status_reason"]) == (False, "")


async def test_a_load_balancer_held_again_leaves_the_device_and_can_be_released_again(
    world: World, api: Client
) -> None:
    await put(api, await given(api))
    for _ in range(2):
        await release(api)
        await settled(api, held=False)
        await release(api, held=True)
        await settled(api)
        assert world.on_device("p1") == {}
        assert await statuses(api) == {("ACTIVE", "OFFLINE")}
    revision = (await hosting(api))["revision"]
    await release(api, held=True)
    assert (await hosting(api))["revision"] == revision


async def test_only_another_import_changes_a_held_load_balancer(world: World, api: Client) -> None:
    body = await given(api)
    await put(api, body)
    await settled(api)
    for path, change in (
        (f"/loadbalancers/{LB}", {"loadbalancer": {"name": "theirs"}}),
        (f"/listeners/{LISTENER}", {"listener": {"name": "theirs"}}),
        (f"/pools/{POOL}/members/{MEMBER}", {"member": {"weight": 3}}),
    ):
        assert "is held: it is not switched over yet" in str(await api.put(path, change, 409))
    await api.delete(f"/loadbalancers/{LB}?cascade=true", 409)
    newer = body | {"name": "newer", "pools": [pool(members=[member(weight=7)])]}
    planned = await put(api, newer, apply=False)
    assert planned["outcome"] == "outdated" and "name" in planned["differences"]
    assert (await put(api, newer))["outcome"] == "updated"
    assert (await put(api, newer))["outcome"] == "present"
    assert (await settled(api))["name"] == "newer"
    assert world.on_device("p1") == {}
    await release(api)
    await settled(api, held=False)
    assert world.on_device("p1") == {LB: "newer"}
    # it is the tenant's now
    assert (await put(api, body))["outcome"] == "differs"
    await api.put(f"/loadbalancers/{LB}", {"loadbalancer": {"name": "theirs"}}, 200)
    assert "is not held" in str(await api.delete(IMPORT, 409))


async def test_a_discarded_load_balancer_can_be_imported_again(api: Client) -> None:
    body = await given(api)
    await put(api, body)
    await settled(api)
    await api.delete(IMPORT, 204)

    async def is_gone() -> bool:
        return LB not in {each["id"] for each in (await api.get("/loadbalancers"))["loadbalancers"]}

    await eventually(is_gone)
    await put(api, body)
    assert (await settled(api))["held"]
