"""The same faults for tenants of LBaaS v1, whose load balancers come to a VIP and lose it again.

Every run has :data:`BUDGET` seeds, the release tier the others."""

import asyncio

import pytest

from tests.sim.kept_runs import clean_runs
from tests.sim.pool_clients import PoolClient
from tests.sim.run import POOLS, run_world
from tests.sim.story import Plain
from tests.sim.world import World

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

BUDGET = 10
SEEDS = 40
CHUNK = 10


@pytest.mark.parametrize("first", range(1, BUDGET + 1, CHUNK))
def test_addresses_come_and_go_and_nobody_holds_anothers(first: int) -> None:
    check_addresses(first)


@pytest.mark.parametrize("first", range(BUDGET + 1, SEEDS + 1, CHUNK))
def test_more_addresses_come_and_go_and_nobody_holds_anothers(first: int) -> None:
    check_addresses(first)


def check_addresses(first: int) -> None:
    """One chunk of seeds is clean, and addresses were given up and refused in it."""
    results = clean_runs(POOLS, range(first, first + CHUNK))
    assert sum(result.counts["vips deleted"] for result in results) > 3
    assert sum(result.counts["refused vip_exists"] for result in results) > 0
    assert sum(result.counts["refused address_taken"] for result in results) > 0


def test_a_load_balancer_that_was_never_placed_is_marked_deleted_before_it_goes_with_its_pool() -> None:
    world = World("unplaced", Plain())
    client = PoolClient(world, "project-1", world.stream("client"), "192.0.2.1")

    async def create_and_delete() -> None:
        world.server.add_environment(world.environment, world.scenario.driver)
        for life in world.controllers:  # and no agent
            world.start(life)
        await asyncio.sleep(2.0)
        await client._create()
        await client._delete_pool()

    result = run_world(world, create_and_delete)

    assert world.watch.gone == {client.root.id}
    assert not result.violations, "\n".join(result.violations)
