"""The lease of the process that writes a provider's load balancers."""

import asyncio

from sqlalchemy import update

from evenkeel.core.control.mirrors import WriterLease
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.conftest import WITH_GALERA, databases

backend = databases(*WITH_GALERA)


async def expire(store: SqlStore, *, seconds: float = 1.0) -> None:
    """Let the leases end so many seconds ago."""
    statement = update(schema.mirror_lease).values(expires_at=db_now() - seconds)
    await store.database.write(lambda connection: connection.execute(statement))


async def test_a_held_lease_is_refused_to_others_until_it_expires(store: SqlStore, other_store: SqlStore) -> None:
    assert await store.mirrors.take_writer_lease("gold", "a", 30) == WriterLease(holder="a", is_held=True)
    assert await other_store.mirrors.take_writer_lease("gold", "b", 30) == WriterLease(holder="a", is_held=False)
    assert await store.mirrors.take_writer_lease("gold", "a", 30) == WriterLease(holder="a", is_held=True)
    await expire(store)
    assert await other_store.mirrors.take_writer_lease("gold", "b", 30) == WriterLease(holder="b", is_held=True)
    assert await store.mirrors.take_writer_lease("gold", "a", 30) == WriterLease(holder="b", is_held=False)


async def test_a_lease_that_was_given_back_is_free_at_once(store: SqlStore) -> None:
    await store.mirrors.take_writer_lease("gold", "a", 30)
    assert await store.mirrors.take_writer_lease("gold", "a", 0) == WriterLease(holder="", is_held=False)
    assert await store.mirrors.take_writer_lease("gold", "b", 30) == WriterLease(holder="b", is_held=True)
    assert await store.mirrors.take_writer_lease("gold", "a", 0) == WriterLease(holder="b", is_held=False)


async def test_each_provider_has_its_own_lease(store: SqlStore) -> None:
    assert (await store.mirrors.take_writer_lease("gold", "a", 30)).is_held
    assert (await store.mirrors.take_writer_lease("dmz", "b", 30)).is_held


async def test_a_lease_from_before_the_clock_was_set_back_is_not_waited_for(store: SqlStore) -> None:
    await store.mirrors.take_writer_lease("gold", "a", 30)
    await expire(store, seconds=-100_000.0)
    assert (await store.mirrors.take_writer_lease("gold", "b", 30)).is_held


async def test_of_many_that_take_a_free_lease_at_once_one_has_it(store: SqlStore, other_store: SqlStore) -> None:
    for _ in ("new", "expired"):
        stores = [store, other_store] * 5
        taken = await asyncio.gather(
            *(each.mirrors.take_writer_lease("gold", f"h{at}", 30) for at, each in enumerate(stores))
        )
        assert sum(each.is_held for each in taken) == 1
        (winner,) = {each.holder for each in taken if each.is_held}
        assert (await store.mirrors.take_writer_lease("gold", "late", 30)).holder == winner
        await expire(store)
