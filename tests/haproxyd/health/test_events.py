"""The ring of events and those who wait for it."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd.health.events import ANSWER_EVENTS_MAX, EVENTS_MAX, TEXT_CHARS_MAX, EventRing
from evenkeel.haproxyd.ports import PartitionEvent


def news(server: str = "s", **more) -> PartitionEvent:
    return PartitionEvent(partition="p", backend="b", server=server, **more)


async def test_waiting_reader_is_woken_by_the_next_event() -> None:
    ring = EventRing()
    waiting = asyncio.create_task(ring.events_after(ring.newest, 60.0))
    await asyncio.sleep(0)
    ring.add(news("s1", up=False))
    events = await asyncio.wait_for(waiting, 30)
    assert [(event.server, event.up) for event in events.events] == [("s1", False)]
    assert events.newest == events.events[0].number == ring.newest
    assert not events.missed


async def test_the_newest_event_of_each_partition_is_known_by_its_number() -> None:
    ring = EventRing()
    assert ring.newest_event_number_of_partition("p") == 0
    ring.add(news())
    first = ring.newest
    ring.add(PartitionEvent(partition="q"))
    assert (ring.newest_event_number_of_partition("p"), ring.newest_event_number_of_partition("q")) == (
        first,
        ring.newest,
    )


async def test_nothing_happened_is_an_empty_answer() -> None:
    ring = EventRing()
    events = await ring.events_after(ring.newest, 0.01)
    assert events.events == ()
    assert (events.newest, events.missed) == (ring.newest, False)


async def test_dropped_events_are_reported_as_missed() -> None:
    ring = EventRing()
    start = ring.newest
    for _ in range(EVENTS_MAX):
        ring.add(news())
    assert not (await ring.events_after(start, 0)).missed
    ring.add(news())
    assert (await ring.events_after(start, 0)).missed


async def test_numbers_of_an_earlier_daemon_are_reported_as_missed_at_once() -> None:
    earlier, later = EventRing(now=lambda: 100.0), EventRing(now=lambda: 105.0)
    for _ in range(20):
        earlier.add(news())
    assert (await later.events_after(earlier.newest, 60)).missed
    back = EventRing(now=lambda: 90.0)
    assert (await back.events_after(earlier.newest, 60)).missed, "also when the clock went back"


async def test_long_texts_are_cut() -> None:
    ring = EventRing()
    ring.add(news(text="x" * 10_000))
    assert len((await ring.events_after(0, 0)).events[0].text) == TEXT_CHARS_MAX


@given(st.lists(st.integers(0, 2 * ANSWER_EVENTS_MAX), max_size=6))
async def test_whoever_goes_on_from_newest_sees_each_event_once(bursts: list[int]) -> None:
    ring = EventRing(now=lambda: 1.0)
    position, seen, made = ring.newest, [], 0
    for burst in bursts:
        for _ in range(burst):
            ring.add(news(str(made)))
            made += 1
        events = await ring.events_after(position, 0)
        assert not events.missed
        seen.extend(event.server for event in events.events)
        position = events.newest
        while (events := await ring.events_after(position, 0)).events:
            seen.extend(event.server for event in events.events)
            position = events.newest
    assert seen == [str(number) for number in range(made)]


async def test_lost_events_wake_readers_and_are_reported_as_missed_to_them_only() -> None:
    ring = EventRing()
    ring.add(news())
    before = ring.newest
    waiting = asyncio.create_task(ring.events_after(before, 60.0))
    await asyncio.sleep(0)
    ring.record_lost_events()
    events = await asyncio.wait_for(waiting, 30)
    assert (events.events, events.missed, events.newest) == ((), True, ring.newest)
    assert ring.newest > before
    assert not (await ring.events_after(ring.newest, 0)).missed


async def test_any_partition_may_have_the_events_that_were_lost() -> None:
    ring = EventRing()
    ring.add(news())
    ring.record_lost_events()
    assert (
        ring.newest_event_number_of_partition("p") == ring.newest_event_number_of_partition("never seen") == ring.newest
    )
    ring.add(news())
    assert (
        ring.newest_event_number_of_partition("p") == ring.newest > ring.newest_event_number_of_partition("never seen")
    )
