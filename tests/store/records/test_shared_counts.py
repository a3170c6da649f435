"""One process counts for all. The count here is of questions: how often the database was asked."""

import asyncio
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, select, update

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema, shared_counts
from evenkeel.store.records.shared_counts import KEPT_SECONDS_MAX, SharedCount, kept_seconds
from evenkeel.store.sql_store import SqlStore
from tests.store.conftest import statements_of
from tests.waiting import eventually

_table = schema.shared_count
LONG = 600.0


class Questions:
    """How often was counted, by all processes."""

    def __init__(self) -> None:
        self.number = 0

    def count(self, connection: Connection) -> int:
        connection.execute(select(1))
        self.number += 1
        return self.number


@pytest.fixture
def asked() -> Questions:
    return Questions()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_counts, "POLL_SECONDS", 0.01)


def of(store: SqlStore, asked: Questions, kept: Callable[[int], float] = lambda _: LONG) -> SharedCount[int]:
    return SharedCount(store.database, "questions", int, asked.count, kept)


async def change(store: SqlStore, **values: object) -> None:
    await store.database.write(lambda connection: connection.execute(update(_table).values(**values)))


async def rows(store: SqlStore) -> int:
    return len(await store.database.read(lambda connection: connection.execute(select(_table)).all()))


def test_the_more_there_are_the_longer_the_count_is_kept() -> None:
    assert kept_seconds(1_999) == 0.0
    assert kept_seconds(20_000) == 1.0
    assert kept_seconds(1_000_000) == kept_seconds(100_000) == KEPT_SECONDS_MAX


async def test_few_are_counted_for_each_question_and_nothing_is_written(store: SqlStore, asked: Questions) -> None:
    few = of(store, asked, lambda _: 0.0)
    assert [await few.get(), await few.get()] == [(1, 0.0), (2, 0.0)]
    assert await rows(store) == 0


async def test_one_counts_for_all_and_states_how_long_ago(
    store: SqlStore, other_store: SqlStore, asked: Questions
) -> None:
    assert await of(store, asked).get() == (1, 0.0)
    await change(store, counted_at=db_now() - 100.0)
    with statements_of(other_store.database) as seen:
        content, age_seconds = await of(other_store, asked).get()
    assert content == 1 and 100.0 <= age_seconds < LONG
    assert len(seen) == 1


async def test_of_many_that_find_it_old_one_counts_again(
    store: SqlStore, other_store: SqlStore, asked: Questions
) -> None:
    await of(store, asked).get()
    await change(store, kept_seconds=50.0, counted_at=db_now() - 50.0)
    found = await asyncio.gather(*(of(each, asked).get() for each in (store, other_store) * 4))
    assert asked.number == 2
    assert {each.content for each in found} <= {1, 2}


async def test_count_that_is_too_old_is_not_returned(store: SqlStore, other_store: SqlStore, asked: Questions) -> None:
    await of(store, asked).get()
    await change(store, counted_at=db_now() - 2 * LONG, claimed_until=db_now() + 5.0)
    waiting = asyncio.create_task(of(other_store, asked).get())
    await asyncio.wait({waiting}, timeout=0.1)
    assert not waiting.done() and asked.number == 1
    await change(store, content="7", counted_at=db_now(), claimed_until=0.0)
    await eventually(waiting.done)
    assert waiting.result().content == 7  # settled: a result that is there does not change


async def test_whoever_waits_for_too_long_gets_an_error(
    store: SqlStore, asked: Questions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_counts, "WAIT_SECONDS", 0.0)
    await of(store, asked).get()
    await change(store, counted_at=db_now() - 2 * LONG, claimed_until=db_now() + 5.0)
    with pytest.raises(StoreUnavailable, match="questions"):
        await of(store, asked).get()


@pytest.mark.parametrize("claimed_until", [-1.0, 3600.0], ids=["it died", "the clock was set back"])
async def test_a_claim_that_nobody_holds_any_more_is_taken(
    store: SqlStore, asked: Questions, claimed_until: float
) -> None:
    await of(store, asked).get()
    await change(store, counted_at=db_now() - 2 * LONG, claimed_until=db_now() + claimed_until)
    assert await of(store, asked).get() == (2, 0.0)
    assert (await of(store, asked).get()).content == 2


async def test_after_the_databases_clock_was_set_back_it_is_counted_again(store: SqlStore, asked: Questions) -> None:
    await of(store, asked).get()
    await change(store, counted_at=db_now() + 3600.0)
    assert await of(store, asked).get() == (2, 0.0)
    assert (await of(store, asked).get()).content == 2


async def test_stored_shared_count_is_deleted_when_few_rows_remain_to_count(store: SqlStore, asked: Questions) -> None:
    await of(store, asked).get()
    await change(store, counted_at=db_now() - 2 * LONG)
    assert await of(store, asked, lambda _: 0.0).get() == (2, 0.0)
    assert await rows(store) == 0


async def test_age_of_a_count_begins_before_counting(store: SqlStore, asked: Questions) -> None:
    before = await store.database.read(lambda connection: connection.scalar(select(db_now())))
    await of(store, asked).get()
    counted_at = await store.database.read(lambda connection: connection.scalar(select(_table.c.counted_at)))
    assert counted_at is not None and counted_at >= before - 1.0


async def test_unreadable_content_is_counted_again(store: SqlStore, asked: Questions) -> None:
    await of(store, asked).get()
    for content in ('{"a": 1}', "?"):
        await change(store, content=content)
        assert (await of(store, asked).get()).age_seconds == 0.0
    assert asked.number == 3
    assert (await of(store, asked).get()).content == 3
