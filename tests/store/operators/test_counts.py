"""Counts of all load balancers, and how long they are kept where there are many."""

import json

import pytest
from sqlalchemy import Connection, text, update

from evenkeel.store.engine.clock import db_now
from evenkeel.store.operators import counts
from evenkeel.store.records import schema, shared_counts
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import AGENT, add_shard, bare, confirm, create, placed
from tests.store.conftest import statements_of


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three are many."""
    monkeypatch.setattr(shared_counts, "FAST_COUNT_MAX", 1)
    monkeypatch.setattr(shared_counts, "COUNTED_PER_KEPT_SECOND", 1e-3)


async def test_counted_by_status_and_home_with_those_without_one(store: SqlStore) -> None:
    await create(store, bare())
    await placed(store)
    await add_shard(store, "elsewhere", project_id="other", home_agent_id="b1")
    for project in (None, None, "other"):
        made = await create(store, bare() if project is None else bare(project_id=project))
        await confirm(store, made.load_balancer.id)
    found = await store.database.read(counts.read_counts)
    assert dict(found.by_status) == {"PENDING_CREATE": 1, "ACTIVE": 3}
    assert dict(found.by_home) == {AGENT: 2, "b1": 1}


async def test_counted_by_operating_status_with_zeros(store: SqlStore) -> None:
    await placed(store)
    for status in ("ONLINE", "DEGRADED", "DEGRADED", "NO_MONITOR"):
        made = await create(store, bare())
        there = schema.load_balancer.c.id == made.load_balancer.id
        changed = update(schema.load_balancer).where(there).values(operating_status=status)
        await store.database.write(lambda connection, changed=changed: connection.execute(changed))
    found = (await store.operators.load_balancer_summary()).by_operating_status
    assert found == {"ONLINE": 1, "OFFLINE": 0, "DEGRADED": 2, "ERROR": 0, "NO_MONITOR": 1, "DRAINING": 0}


async def test_a_count_of_another_version_without_operating_statuses_is_counted_again(
    store: SqlStore, many: None
) -> None:
    await placed(store)
    for _ in range(3):
        await create(store, bare())
    await store.operators.load_balancer_summary()
    older = {"by_status": {"ACTIVE": 9}, "by_home": {}, "oldest_pending_seconds": 0.0, "stuck": []}
    kept = update(schema.shared_count).values(content=json.dumps(older), kept_seconds=600.0)
    await store.database.write(lambda connection: connection.execute(kept))
    assert (await store.operators.load_balancer_summary()).by_operating_status["OFFLINE"] == 3


async def test_of_an_empty_system_all_are_zero(store: SqlStore) -> None:
    found = await store.operators.load_balancer_summary()
    assert set(found.by_status.values()) == {0}
    assert (found.waiting, found.oldest_pending_seconds, found.age_seconds) == (0, 0.0, 0.0)


async def test_of_many_all_processes_get_one_count_and_its_age(
    store: SqlStore, other_store: SqlStore, many: None
) -> None:
    await placed(store)
    for _ in range(3):
        await create(store, bare())
    assert (await store.operators.load_balancer_summary()).age_seconds == 0.0
    await create(store, bare())
    back = update(schema.shared_count).values(counted_at=db_now() - 4.0, kept_seconds=600.0)
    await store.database.write(lambda connection: connection.execute(back))
    for each in (store, other_store):
        with statements_of(each.database) as seen:
            found = await each.operators.load_balancer_summary()
            (agent,) = await each.operators.agents()
            await each.operators.ownership()
        assert found.by_status["PENDING_CREATE"] == agent.load_balancers == 3
        assert found.age_seconds >= 4.0
        assert not [statement for statement in seen if "FROM load_balancer" in statement]
    # a decision is not made from what was kept
    assert (await store.operators.agent(agent.id)).load_balancers == 4


async def test_all_are_counted_by_an_index(store: SqlStore) -> None:
    if store.database.sync_engines()[0].dialect.name != "postgresql":
        pytest.skip("its plans say whether rows are read")

    def plan(connection: Connection) -> str:
        for way in ("seqscan", "bitmapscan", "sort"):  # those of a small table
            connection.execute(text(f"SET LOCAL enable_{way} = off"))
        counted = counts._BY_HOME_AND_STATUS.compile(dialect=connection.dialect)
        return "\n".join(connection.execute(text(f"EXPLAIN {counted}")).scalars())

    assert "Index Only Scan using ix_load_balancer_shard_work" in await store.database.write(plan)
