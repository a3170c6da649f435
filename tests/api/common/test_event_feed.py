"""The reader of events: in which order ids are seen, what a listener that comes back gets, and what is bounded."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from evenkeel.api.common import event_feed as module
from evenkeel.api.common.event_feed import (
    BUFFER_MAX,
    GAP_SECONDS,
    LISTENERS_MAX,
    EventFeed,
    EventListener,
    TooManyListeners,
)
from evenkeel.core.control.events import Event
from tests.waiting import eventually


class Database:
    """Events by id, as their transactions commit. ``now``: of the feed's clock."""

    def __init__(self) -> None:
        self.events: dict[int, Event] = {}
        self.now = 0.0
        self.reads = 0

    def commit(self, *ids: int) -> None:
        for id_ in ids:
            self.events[id_] = Event(id=id_, at=0.0, kind="test", text=f"event {id_}")

    async def read(
        self, *, after: int, limit: int, newest: bool = False, object_id: str | None = None
    ) -> tuple[Event, ...]:
        self.reads += 1
        found = [self.events[id_] for id_ in sorted(self.events) if id_ > after]
        return tuple(found[-limit:] if newest else found[:limit])


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
async def feed(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EventFeed]:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    opened = EventFeed(database.read, now_seconds=lambda: database.now)
    yield opened
    opened.close()


class Client:
    """A listener, with what it got: numbers of events, and the last id of the stream."""

    def __init__(self, listener: EventListener) -> None:
        self.listener = listener
        self.got: list[int] = []
        self.last = 0

    def read(self, frames: bytes) -> None:
        for each in frames.decode().split("\n\n"):
            for line in each.splitlines():
                if line.startswith("id: "):
                    self.last = int(line[4:])
                if line.startswith("data: "):
                    self.got.append(msgspec.json.decode(line[6:])["id"])

    async def until(self, count: int) -> list[int]:
        async def enough() -> bool:
            self.read(await self.listener.take_frames(0.02))
            return len(self.got) >= count

        await eventually(enough)
        return self.got


async def joined(feed: EventFeed, after: int | None) -> Client:
    client = Client(await feed.add_listener())
    if after is not None:
        async for frames in feed.missed_frames(after):
            client.read(frames)
    return client


async def test_an_event_whose_transaction_commits_late_is_not_missed(feed: EventFeed, database: Database) -> None:
    database.commit(1, 2)
    client = await joined(feed, None)
    database.commit(4)
    assert await client.until(1) == [4]
    assert client.last == 2  # a client that comes back now must get 3, too
    database.commit(3)
    assert await client.until(2) == [4, 3]
    database.commit(5)
    await client.until(3)
    assert client.last == 5


async def test_the_id_of_a_transaction_that_was_rolled_back_is_waited_for_only_for_a_while(
    feed: EventFeed, database: Database
) -> None:
    database.commit(1)
    client = await joined(feed, None)
    database.commit(3)
    await client.until(1)
    assert feed.settled_id == 1
    database.now += GAP_SECONDS + 1
    await eventually(lambda: _is(feed.settled_id == 3))


async def _is(value: bool) -> bool:
    return value


@pytest.mark.parametrize("missed", [3, 2500])
async def test_returning_listener_gets_missed_events_once(feed: EventFeed, database: Database, missed: int) -> None:
    database.commit(1)
    here = await joined(feed, None)
    database.commit(*range(2, missed + 2))
    await here.until(missed)
    back = await joined(feed, 1)
    assert await back.until(missed) == list(range(2, missed + 2))
    database.commit(missed + 2)
    assert (await back.until(missed + 1))[-1] == missed + 2


async def test_after_a_restart_of_the_process_nothing_is_missed(database: Database, feed: EventFeed) -> None:
    database.commit(*range(1, 400))
    client = await joined(feed, 150)
    assert await client.until(249) == list(range(151, 400))


async def test_an_event_that_commits_while_older_ones_are_read_is_not_missed(
    feed: EventFeed, database: Database
) -> None:
    late, last = 1990, 2500
    await _passed(feed, database, *range(1, late), *range(late + 1, last + 1))
    client = Client(await feed.add_listener())
    missed = feed.missed_frames(0)
    for _ in range(2):
        client.read(await anext(missed))
    assert client.got[-1] > late
    database.commit(late)
    database.now += GAP_SECONDS + 1
    await eventually(lambda: _is(feed.settled_id == last))
    async for frames in missed:
        client.read(frames)
    assert client.got[-1] == last
    assert client.last < late  # a client that leaves now must get it, too
    assert sorted(await client.until(last)) == list(range(1, last + 1))


async def test_the_feed_reads_on_while_its_only_listener_is_sent_older_events(
    feed: EventFeed, database: Database
) -> None:
    await _passed(feed, database, *range(1, 2500))
    client = Client(await feed.add_listener())
    missed = feed.missed_frames(0)
    client.read(await anext(missed))
    reads = database.reads
    for more in range(1, 4):
        database.now += module.IDLE_SECONDS + 1
        await eventually(lambda more=more: _is(database.reads >= reads + 2 * more))
    database.commit(2500)
    async for frames in missed:
        client.read(frames)
    assert (await client.until(2500))[-1] == 2500


async def _passed(feed: EventFeed, database: Database, *ids: int) -> None:
    """These events, so many that the first are not kept; nobody listens any more."""
    client = await joined(feed, None)
    database.commit(*ids)
    await client.until(len(ids))
    feed.remove_listener(client.listener)


async def test_one_read_serves_all_listeners(feed: EventFeed, database: Database) -> None:
    clients = [await joined(feed, None) for _ in range(50)]
    before = database.reads
    database.commit(1)
    await eventually(lambda: _is(feed.settled_id == 1))
    # settled: an upper limit
    assert database.reads - before <= 2  # the one that found it, and one that had begun
    for client in clients:
        assert await client.until(1) == [1]


async def test_a_listener_that_does_not_read_is_dropped_and_the_others_are_not(
    feed: EventFeed, database: Database
) -> None:
    slow = await joined(feed, None)
    quick = await joined(feed, None)
    for begin in range(1, BUFFER_MAX + 2, 500):
        database.commit(*range(begin, begin + 500))
        await quick.until(begin + 499)
    await eventually(lambda: _is(slow.listener.ended))
    assert not quick.listener.ended  # settled: it may never end


async def test_there_is_a_most_of_listeners(feed: EventFeed) -> None:
    await feed.start()
    listeners = [await feed.add_listener() for _ in range(LISTENERS_MAX)]
    with pytest.raises(TooManyListeners, match=str(LISTENERS_MAX)):
        await feed.add_listener()
    with pytest.raises(TooManyListeners, match=str(LISTENERS_MAX)):
        await feed.start()
    feed.remove_listener(listeners[0])
    await feed.start()


async def test_nothing_is_read_when_nobody_listens(feed: EventFeed, database: Database) -> None:
    client = await joined(feed, None)
    feed.remove_listener(client.listener)

    async def rests() -> bool:
        database.now += module.IDLE_SECONDS + 1
        before = database.reads
        await asyncio.sleep(0.05)
        return database.reads == before

    await eventually(rests)
    database.commit(1)
    again = await joined(feed, 0)  # and it begins anew
    assert await again.until(1) == [1]


async def test_at_the_end_of_the_process_listeners_are_reported(feed: EventFeed) -> None:
    client = await joined(feed, None)
    feed.close()
    await client.listener.take_frames(1.0)
    assert client.listener.ended
