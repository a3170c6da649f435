"""Removals for good are counted from their first second: ports that nothing uses, events, forgotten deletions."""

from sqlalchemy import delete, insert

from evenkeel.core.kit.countdowns import RemovalCountdowns
from evenkeel.core.networking.network import PortClaim
from evenkeel.store.engine.clock import db_now
from evenkeel.store.operators.countdowns import CLAIM_IN_PROGRESS_SECONDS, read_countdowns
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import UNKNOWN_HISTORY
from evenkeel.store.scheduling.cleanup import REMOVED_KEPT_SECONDS
from evenkeel.store.sql_store import SqlStore

KEPT = 10


async def counted(store: SqlStore) -> RemovalCountdowns:
    return await store.database.read(lambda connection: read_countdowns(connection, KEPT))


async def claimed(store: SqlStore, name: str, *, made_seconds_ago: float, due_seconds: float) -> None:
    row = {
        "load_balancer_id": name,
        "device_owner": "Octavia",
        "device_id": f"lb-{name}",
        "made_at": db_now() - made_seconds_ago,
        "due_at": db_now() + due_seconds,
        "attempts": 0,
    }
    await store.database.write(lambda connection: connection.execute(insert(schema.vip_claim).values(**row)))


async def test_new_database_counts_down_nothing(store: SqlStore) -> None:
    found = await counted(store)
    assert (found.ports, found.forgotten, found.ports_deleted_in_seconds) == (0, 0, None)


async def test_port_counts_once_its_request_must_be_over(store: SqlStore) -> None:
    claim = PortClaim(claim_id="new", device_owner="Octavia", device_id="lb-new")
    await store.claims.store_claim(claim, grace_seconds=100.0)
    assert (await counted(store)).ports == 0
    await claimed(store, "old", made_seconds_ago=CLAIM_IN_PROGRESS_SECONDS + 1, due_seconds=50.0)
    found = await counted(store)
    assert (found.ports, found.port_device_id) == (1, "lb-old")
    assert found.ports_deleted_in_seconds is not None and 0.0 < found.ports_deleted_in_seconds <= 50.0
    await claimed(store, "due", made_seconds_ago=60.0, due_seconds=-5.0)
    found = await counted(store)
    assert (found.ports, found.port_device_id, found.ports_deleted_in_seconds) == (2, "lb-due", 0.0)


async def test_port_is_not_deleted_while_a_history_is_unknown(store: SqlStore) -> None:
    await claimed(store, "old", made_seconds_ago=60.0, due_seconds=50.0)
    row = {"id": "another's", "kind": UNKNOWN_HISTORY, "noted_at": 1.0}
    await store.database.write(lambda connection: connection.execute(insert(schema.other_history).values(**row)))
    found = await counted(store)
    assert (found.ports, found.ports_deleted_in_seconds) == (1, None)


async def test_events_count_up_to_those_that_are_kept(store: SqlStore) -> None:
    await store.database.write(lambda connection: connection.execute(delete(schema.event)))
    rows = [{"at": db_now() - 100.0 + number, "kind": "k", "text": "t"} for number in range(KEPT + 3)]
    for row in rows:
        await store.database.write(lambda connection, row=row: connection.execute(insert(schema.event).values(**row)))  # type: ignore[misc]
    found = await counted(store)
    assert (found.events, found.events_kept) == (KEPT, KEPT)
    assert 80.0 < found.oldest_event_seconds < 1000.0


async def test_deletion_counts_within_a_day_of_being_forgotten(store: SqlStore) -> None:
    for name, left in (("soon", 3600.0), ("later", 2 * 86_400.0)):
        row = {"id": name, "removed_at": db_now() - (REMOVED_KEPT_SECONDS - left)}
        await store.database.write(
            lambda connection, row=row: connection.execute(insert(schema.removed_load_balancer).values(**row))  # type: ignore[misc]
        )
    found = await counted(store)
    assert found.forgotten == 1
    assert found.forgotten_in_seconds is not None and 3000.0 < found.forgotten_in_seconds <= 3600.0
