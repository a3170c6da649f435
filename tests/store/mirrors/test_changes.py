"""Which load balancers have new statuses, on all databases: times are written and compared by each in its own way."""

import pytest
from msgspec.structs import replace
from sqlalchemy import Table, update

from evenkeel.core.control.mirrors import IDS_MAX, MirroredSourceState
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.store.engine.clock import db_now
from evenkeel.store.mirrors.changes import CURSOR_AGE_MAX_SECONDS, CURSOR_OVERLAP_SECONDS
from evenkeel.store.records import schema
from evenkeel.store.reports.applied import CHILD_TABLES
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import create, tree
from tests.store.conftest import BACKENDS, databases
from tests.store.mirrors.test_mirror_writes import PLAN, VIP

backend = databases(*BACKENDS)


async def mirrored(store: SqlStore, snapshot: float = 1.0) -> LoadBalancerTree:
    """A mirrored load balancer whose rows changed long ago."""
    vip = replace(VIP, network_id=f"n{snapshot}")
    what = tree(vip=vip)
    await store.mirrors.put_mirrored_load_balancer(
        what,
        replace(PLAN, network_id=vip.network_id),
        MirroredSourceState(provider="prod", snapshot=snapshot, digest=""),
    )
    for table in (*CHILD_TABLES, schema.load_balancer):
        await touch(store, table, ago_seconds=CURSOR_OVERLAP_SECONDS * 3)
    return what


async def touch(store: SqlStore, table: Table, *, ago_seconds: float = 0.0, only: str | None = None) -> None:
    """Change rows of the table so many seconds ago."""
    statement = update(table).values(updated_at=db_now() - ago_seconds)
    if only is not None:
        statement = statement.where(table.c.id == only)
    await store.database.write(lambda connection: connection.execute(statement))


@pytest.mark.parametrize("kind", ["load_balancer", "listener", "pool", "member"])
async def test_a_load_balancer_is_named_when_it_or_an_object_below_it_changed(store: SqlStore, kind: str) -> None:
    one, _other = await mirrored(store, 1.0), await mirrored(store, 2.0)
    cursor = (await store.mirrors.changes_since("prod", "")).cursor
    assert (await store.mirrors.changes_since("prod", cursor)).ids == ()
    rows = {"load_balancer": one.load_balancer, "listener": one.listeners[0], "pool": one.pools[0]}
    changed = one.members[0] if kind == "member" else rows[kind]
    await touch(store, schema.metadata.tables[kind], only=changed.id)
    found = await store.mirrors.changes_since("prod", cursor)
    assert (found.ids, found.all) == ((one.load_balancer.id,), False)
    assert (await store.mirrors.changes_since("other", cursor)).ids == ()


async def test_a_change_committed_late_is_named_by_a_later_answer(store: SqlStore) -> None:
    what = await mirrored(store)
    cursor = (await store.mirrors.changes_since("prod", "")).cursor
    await touch(store, schema.load_balancer, ago_seconds=CURSOR_OVERLAP_SECONDS / 2)
    assert (await store.mirrors.changes_since("prod", cursor)).ids == (what.load_balancer.id,)


async def test_load_balancers_that_are_no_mirrors_are_not_named(store: SqlStore) -> None:
    cursor = (await store.mirrors.changes_since("prod", "")).cursor
    await create(store)
    await touch(store, schema.load_balancer)
    assert (await store.mirrors.changes_since("prod", cursor)).ids == ()


@pytest.mark.parametrize("shift_seconds", [-CURSOR_AGE_MAX_SECONDS - 60.0, 3600.0])
async def test_a_cursor_that_is_too_old_or_ahead_of_the_clock_names_all(store: SqlStore, shift_seconds: float) -> None:
    cursor = float((await store.mirrors.changes_since("prod", "")).cursor) + shift_seconds
    assert (await store.mirrors.changes_since("prod", f"{cursor:.6f}")).all


@pytest.mark.parametrize("cursor", ["", "x", "1e9", "-1.000000", "nan", "1.0", "9" * 400 + ".000000", "٣.000000"])
async def test_a_text_that_is_no_cursor_names_all(store: SqlStore, cursor: str) -> None:
    found = await store.mirrors.changes_since("prod", cursor)
    assert found.all and found.ids == ()


async def test_more_changes_than_one_request_may_name_are_all(store: SqlStore) -> None:
    what = await mirrored(store)
    cursor = (await store.mirrors.changes_since("prod", "")).cursor

    def copies(connection: object) -> None:
        row = connection.execute(schema.load_balancer.select()).mappings().one()  # type: ignore[attr-defined]
        rows = [
            {**row, "id": f"{number:036}", "vip_address": str(number), "updated_at": row["updated_at"] + 3600.0}
            for number in range(IDS_MAX + 1)
        ]
        connection.execute(schema.load_balancer.insert(), rows)  # type: ignore[attr-defined]

    await store.database.write(copies)
    found = await store.mirrors.changes_since("prod", cursor)
    assert found.all and found.ids == ()
    assert what.load_balancer.id not in found.ids
