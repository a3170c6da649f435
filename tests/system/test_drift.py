"""What devices lose or what is changed on them by hand: seen by one agent, repaired by the owner, told once."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from evenkeel.agent.common_shard import CommonShardWorker
from evenkeel.store.reports.findings import ABSENT_REASON
from tests.system.world import World
from tests.waiting import eventually

TENANTS = ("a", "b", "c", "d")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    made.controller_settings = msgspec.structs.replace(made.controller_settings, orphan_grace_seconds=0.1)
    await made.start()
    yield made
    await made.close()


async def serving(world: World) -> dict[str, str]:
    """A load balancer of each tenant, by tenant; more than one agent serves."""
    made = {tenant: await world.create(tenant) for tenant in TENANTS}
    for load_balancer_id in made.values():
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    assert len({await world.acting(lb) for lb in made.values()}) == 2  # settled: whoever made it ACTIVE acts
    await eventually(lambda: looked_at(world) >= set(made.values()))
    return made


def looked_at(world: World) -> set[str]:
    """What was on the devices at the last look of the agent that looks for all."""
    for agent in world.agents.values():
        for worker, _ in agent._ownership._workers.values() if agent._ownership else ():
            if isinstance(worker, CommonShardWorker):
                return set(worker._inventory._held or ())
    return set()


async def kinds(world: World) -> list[str]:
    return [event.kind for event in await world.store.operators.events(limit=1000)]


def everywhere(world: World, made: dict[str, str]) -> bool:
    return all(world.on_device(tenant) == {lb: ""} for tenant, lb in made.items())


async def test_a_device_that_lost_everything_is_filled_again_and_reports_it_until_then(world: World) -> None:
    made = await serving(world)
    for view in world.views.values():
        view.frozen = True
    world.memory.partitions.clear()
    await eventually(lambda: all_absent(world, made))
    for view in world.views.values():
        view.frozen = False
    await eventually(lambda: everywhere(world, made))
    await eventually(lambda: none_absent(world, made))
    told = await kinds(world)
    assert (told.count("load_balancer_absent"), told.count("load_balancer_present")) == (4, 4)


async def all_absent(world: World, made: dict[str, str]) -> bool:
    roots = [await world.root(lb) for lb in made.values()]
    return all((root.operating_status, root.operating_reason) == ("ERROR", ABSENT_REASON) for root in roots)


async def none_absent(world: World, made: dict[str, str]) -> bool:
    return not any([(await world.root(lb)).operating_reason for lb in made.values()])


async def test_manual_change_is_repaired_whichever_agent_owns_it(world: World) -> None:
    made = await serving(world)
    for tenant, load_balancer_id in made.items():
        holds = world.memory.partitions[tenant].holds
        holds[load_balancer_id] = msgspec.structs.replace(holds[load_balancer_id], name="by hand")
    await eventually(lambda: everywhere(world, made))
    assert "load_balancer_absent" not in await kinds(world)  # settled: it may never happen


async def test_a_device_that_was_restored_is_put_right_also_where_nothing_seems_to_be_missing(world: World) -> None:
    made = await serving(world)
    partition = world.memory.partitions["a"]
    service = partition.holds[made["a"]]
    partition.holds["orphan"] = msgspec.structs.replace(
        service, load_balancer_id="orphan", vip=msgspec.structs.replace(service.vip, address="192.0.2.251")
    )
    world.memory.incarnation = "restored"
    await eventually(lambda: everywhere(world, made))

    async def told() -> bool:
        return "device_renewed" in await kinds(world)

    await eventually(told)  # each agent finds it by itself, also before the observer tells of it


async def test_created_changed_and_deleted_load_balancers_are_never_reported_absent(world: World) -> None:
    for number in range(5):
        made = await serving(world)
        for load_balancer_id in made.values():
            await world.rename(load_balancer_id, f"n{number}")
        for load_balancer_id in made.values():
            change = await world.store.tenants.delete_load_balancer(load_balancer_id, cascade=True, project_id=None)
            await world.controllers["c0"].driver.change_accepted(change)
        await eventually(lambda: not any(map(world.on_device, TENANTS)))
    assert "load_balancer_absent" not in await kinds(world)  # settled: it may never happen
