"""An Octavia's load balancers on a device: put, applied, changed, deleted, as the mirror's statuses show it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client
from tests.api.operators.mirror.conftest import (
    LB,
    LISTENER,
    MEMBER,
    MIRROR,
    OTHER_MEMBER,
    POOL,
    Octavia,
    listener,
    member,
    pool,
    whole,
)
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

KINDS = ("listeners", "pools", "members", "healthmonitors", "l7policies", "l7rules")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


@pytest.fixture
async def octavia(world: World) -> AsyncIterator[Octavia]:
    await world.start()
    app = create_app(
        store=world.store,
        network=BuiltinNetwork(world.store.operators),
        driver=world.controllers["c0"].driver,
        default_provider=ENVIRONMENT,
    )
    async with Client.of(app) as api:
        yield Octavia(api, world.store, ENVIRONMENT)


def body(**attributes: Any) -> dict[str, Any]:
    return whole(provider=ENVIRONMENT, **attributes)


async def settled(octavia: Octavia, revision: int) -> Any:
    """The statuses at that revision, once the device has confirmed it."""
    found: list[Any] = []

    async def confirmed() -> bool:
        status = await octavia.status()
        found[:] = [status]
        return bool(status["provisioning_status"] == "ACTIVE" and status["applied_revision"] == revision)

    await eventually(confirmed)
    return found[0]


def ids(status: Any, kind: str) -> set[str]:
    return {row["id"] for row in status[kind]}


async def test_a_mirrored_load_balancer_is_applied_and_what_is_deleted_leaves_the_statuses(
    world: World, octavia: Octavia
) -> None:
    answer = await octavia.put(body(name="web"))
    status = await settled(octavia, answer["revision"])
    assert world.on_device("p1") == {LB: "web"}
    assert {row["provisioning_status"] for kind in KINDS for row in status[kind]} == {"ACTIVE"}
    assert status["snapshot"] == 1_000.0

    bare = listener(default_pool_id=POOL, l7policies=[])
    answer = await octavia.put(body(listeners=[bare], pools=[pool(members=[member()], healthmonitor=None)]))
    status = await settled(octavia, answer["revision"])
    assert {kind: ids(status, kind) for kind in KINDS} == {
        "listeners": {LISTENER},
        "pools": {POOL},
        "members": {MEMBER},
        "healthmonitors": set(),
        "l7policies": set(),
        "l7rules": set(),
    }
    answer = await octavia.put(body(listeners=[bare], pools=[pool(healthmonitor=None)]))
    assert ids(await settled(octavia, answer["revision"]), "members") == {MEMBER, OTHER_MEMBER}


async def test_a_deleted_load_balancer_leaves_the_device_and_may_come_back(world: World, octavia: Octavia) -> None:
    await settled(octavia, (await octavia.put(body()))["revision"])
    await octavia.delete()

    async def gone() -> bool:
        return await octavia.status() is None

    await eventually(gone)
    assert world.on_device("p1") == {}  # settled: the agent reports it removed after the device has removed it
    answer = await octavia.put(body(name="again"))
    await settled(octavia, answer["revision"])
    assert world.on_device("p1") == {LB: "again"}


async def test_a_failover_of_octavia_is_applied_again(octavia: Octavia) -> None:
    await settled(octavia, (await octavia.put(body(), change="create"))["revision"])
    answer = await octavia.put(body(), change="failover")
    assert answer["revision"] == 2
    assert (await settled(octavia, 2))["status_reason"] == ""


async def test_changes_name_a_load_balancer_that_became_active(octavia: Octavia) -> None:
    cursor = (await octavia.api.get(f"{MIRROR}/changes?provider={ENVIRONMENT}"))["cursor"]
    await settled(octavia, (await octavia.put(body()))["revision"])
    found = await octavia.api.get(f"{MIRROR}/changes?provider={ENVIRONMENT}&since={cursor}")
    assert found["ids"] == [LB]


async def test_a_refusal_of_the_device_is_shown_with_its_reason_until_it_takes_the_tree(
    world: World, octavia: Octavia
) -> None:
    for view in world.views.values():
        view.refuses = "no room"
    answer = await octavia.put(body())

    async def refused() -> bool:
        return bool((await octavia.status())["provisioning_status"] == "ERROR")

    await eventually(refused)
    status = await octavia.status()
    assert "no room" in status["status_reason"]
    assert status["applied_revision"] == 0
    for view in world.views.values():
        view.refuses = ""
    await settled(octavia, answer["revision"])
