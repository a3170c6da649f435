"""Two controllers at two nodes of a Galera cluster, where locks hold on one node only."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, text, update
from sqlalchemy.util import await_only

from evenkeel.core.control.environments import Environment
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.store.engine.database import open_database
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore, open_store
from tests.services.mariadb import Galera, SharedGalera
from tests.store.builders import bare, create
from tests.store.ownership_world import TTL_SECONDS, World, alive, assign_one, started
from tests.waiting import eventually

pytestmark = pytest.mark.services

ROUNDS = 40


@pytest.fixture
async def stores(galera: SharedGalera, galera_template: tuple[str, ...]) -> AsyncIterator[tuple[SqlStore, SqlStore]]:
    """One store at each node, no rows but one environment."""
    first, second = (open_store(url) for url in galera_template)
    async with started(galera_template[0]):
        await first.operators.add_environment(Environment(name="prod", device_driver="noop"))
        yield first, second
    await first.close()
    await second.close()


@pytest.fixture
async def world(galera_template: tuple[str, ...]) -> AsyncIterator[World]:
    async with started(*galera_template) as opened:
        yield opened


async def test_writes_of_one_row_at_two_nodes_are_all_done(
    stores: tuple[SqlStore, SqlStore], galera: SharedGalera
) -> None:
    table = schema.environment
    before = conflicts(galera)

    both = asyncio.Barrier(2)
    tries = 0

    def add(connection: Connection) -> None:
        nonlocal tries
        connection.execute(update(table).values(breaker_agents=table.c.breaker_agents + 1))
        tries += 1
        if tries <= 2:  # at first neither is committed before the other one has written
            await_only(both.wait())

    start = await stores[0].database.read(lambda connection: connection.scalar(select(table.c.breaker_agents)))
    for _ in range(ROUNDS):
        await asyncio.gather(*(store.database.write(add) for store in stores))
    end = await stores[1].database.read(lambda connection: connection.scalar(select(table.c.breaker_agents)))

    assert start is not None
    assert end == start + 2 * ROUNDS
    await eventually(lambda: conflicts(galera) > before)  # or this test has shown nothing


def conflicts(galera: SharedGalera) -> int:
    """Transactions that lost against one of the other node."""
    names = "('wsrep_local_cert_failures', 'wsrep_local_bf_aborts')"
    answers = [node.sql(f"SHOW STATUS WHERE Variable_name IN {names}").split() for node in galera.nodes]
    return sum(int(word) for answer in answers for word in answer if word.isdigit())


async def test_commit_of_one_node_is_read_at_another_node(stores: tuple[SqlStore, SqlStore]) -> None:
    for number in range(ROUNDS):
        here, there = stores if number % 2 else stores[::-1]
        root = (await create(here, bare())).load_balancer
        assert (await there.tenants.get(LoadBalancer, root.id, project_id=None)).id == root.id
        change = await there.tenants.update_load_balancer(root.id, {"name": "changed"}, project_id=None)
        assert change.revision == 2
        assert (await here.tenants.get(LoadBalancer, root.id, project_id=None)).name == "changed"


async def test_a_keepalive_and_a_takeover_at_two_nodes_are_one_after_the_other(world: World) -> None:
    """Both write the agent's row. So the keepalive came first and the takeover found the agent live; or the takeover
    came first, and the keepalive tells the agent that its shards have changed."""
    await world.agent("a1")
    await world.agent("a2")
    await world.tenant()
    other = world.another_controller()
    for number in range(ROUNDS):
        owner, taker = ("a1", "a2") if number % 2 else ("a2", "a1")
        shard = await own(world, owner)
        await world.expire(owner)
        before = await world.assignments_revision(owner)

        state, result = await asyncio.gather(
            world.store.ownership.renew_session(alive(owner), ttl_seconds=TTL_SECONDS),
            assign_one(other, shard.id, shard.epoch, taker),
        )

        assert (result is not None) == (state.assignments_revision > before)


async def own(world: World, agent_id: str) -> Any:
    """The tenant's shard, given to the agent."""
    shard = await world.shard_of("p1")
    await world.change(schema.shard, shard.id, acting_agent_id=agent_id, handover_to=None)
    return await world.shard_of("p1")


START = """
import asyncio, sys
from evenkeel.store.sql_store import open_store
from tests.store.patience import patient

async def main():
    store = open_store(sys.argv[1])
    await store.start()
    assert await store.operators.environments() == ()
    await store.close()

with patient():
    asyncio.run(main())
"""
ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1200)
async def test_two_controllers_may_bring_the_tables_up_to_date_at_two_nodes_at_once(galera: SharedGalera) -> None:
    """In processes of their own: Alembic's state is the process's."""
    for _ in range(3):
        urls = galera.create_database()
        starting = [await asyncio.create_subprocess_exec(sys.executable, "-c", START, url, cwd=ROOT) for url in urls]
        assert [await each.wait() for each in starting] == [0, 0]
        database = open_database(urls[0])
        version = text("SELECT count(*) FROM alembic_version")
        assert await database.query(lambda connection, it=version: connection.scalar(it)) == 1
        await database.close()


async def test_a_node_that_left_the_cluster_serves_nothing_and_then_again(own_galera: Galera) -> None:
    url = own_galera.create_database()[1]
    database = open_database(url)
    await database.query(lambda connection: connection.scalar(text("SELECT 1")))
    await asyncio.to_thread(own_galera.nodes[1].restart)
    assert await database.query(lambda connection: connection.scalar(text("SELECT 1"))) == 1
    await database.close()
