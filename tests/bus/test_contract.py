"""What every transport promises. The same tests run on all of them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.bus.codec import MAX_MESSAGE_BYTES, encode
from evenkeel.bus.deliveries import TaskPool
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import BusUnavailable, CallTimeout, MessageTooLarge
from evenkeel.core.ports import Subscription
from evenkeel.core.protocol.messages import (
    AnyMessage,
    AnyReply,
    ApplyHint,
    Assignment,
    Assignments,
    Done,
    GetAssignments,
    Keepalive,
    Refused,
)
from tests.bus.children import child
from tests.bus.transports import CALL, HINT, Transport, hint
from tests.waiting import eventually


class Recorder:
    """A handler that remembers what it got."""

    def __init__(self, reply: AnyReply | None = None) -> None:
        self.got: list[AnyMessage] = []
        self._reply = reply

    async def __call__(self, message: AnyMessage) -> AnyReply | None:
        self.got.append(message)
        await asyncio.sleep(0)
        return self._reply

    def numbers(self) -> Counter[int]:
        """How often each numbered hint came."""
        return Counter(int(message.shard_id) for message in self.got if isinstance(message, ApplyHint))


async def test_competing_consumers_work_on_each_message_once(transport: Transport) -> None:
    sender, first, second = await transport.bus(), await transport.bus(), await transport.bus()
    recorders = Recorder(), Recorder()
    await first.consume(transport.queue, recorders[0], concurrency=2)
    await second.consume(transport.queue, recorders[1], concurrency=2)
    await asyncio.gather(*(sender.send(transport.queue, hint(number)) for number in range(60)))
    await eventually(lambda: sum(len(recorder.got) for recorder in recorders) >= 60)
    assert recorders[0].numbers() + recorders[1].numbers() == Counter(range(60))  # settled: none may come twice


async def test_messages_sent_before_anybody_consumes_are_delivered(transport: Transport) -> None:
    sender, consumer = await transport.bus(), await transport.bus()
    await sender.send(transport.queue, hint(1))
    await sender.send(transport.queue, hint(2))
    recorder = Recorder()
    await consumer.consume(transport.queue, recorder, concurrency=1)
    await eventually(lambda: recorder.numbers() == Counter([1, 2]))


async def test_no_more_than_the_given_number_are_worked_on_at_once(transport: Transport) -> None:
    bus = await transport.bus()
    running, most, finished, release = 0, 0, 0, asyncio.Event()

    async def work(message: AnyMessage) -> None:
        nonlocal running, most, finished
        running += 1
        most = max(most, running)
        await release.wait()
        await asyncio.sleep(0.02)
        running -= 1
        finished += 1

    await bus.consume(transport.queue, work, concurrency=3)
    for number in range(12):
        await bus.send(transport.queue, hint(number))
    await eventually(lambda: running == 3)
    release.set()
    await eventually(lambda: finished == 12)
    assert most == 3  # settled: an upper limit, which was seen reached before the end


async def test_a_message_whose_handler_fails_comes_again(transport: Transport) -> None:
    bus = await transport.bus()
    attempts = 0

    async def fail_twice(message: AnyMessage) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            raise ConnectionError("not now")

    await bus.consume(transport.queue, fail_twice, concurrency=1)
    await bus.send(transport.queue, HINT)
    await eventually(lambda: attempts == 3)
    assert await transport.dead() == []  # settled: nothing may ever be dead


async def test_a_message_whose_handler_always_fails_is_set_aside_and_others_go_on(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.bus.deliveries.RETRY", Backoff(initial_seconds=0.05, max_seconds=0.05))
    bus = await transport.bus()
    attempts: Counter[str] = Counter()

    async def fail_on_zero(message: AnyMessage) -> None:
        assert isinstance(message, ApplyHint)
        attempts[message.shard_id] += 1
        if message.shard_id == "0":
            raise ValueError("never")

    await bus.consume(transport.queue, fail_on_zero, concurrency=2)
    await bus.send(transport.queue, hint(0))
    await bus.send(transport.queue, hint(1))
    await eventually(lambda: attempts["1"] == 1)
    await eventually(transport.dead)
    assert attempts["0"] == 10  # settled: it is dead after its last attempt


async def test_a_call_gets_its_own_reply(transport: Transport) -> None:
    caller, server = await transport.bus(), await transport.bus()

    async def answer(message: AnyMessage) -> AnyReply:
        return Refused(code="test", reason=getattr(message, "agent_id", ""))

    await server.consume(transport.queue, answer, concurrency=4)

    async def ask(number: int) -> AnyReply:
        return await caller.call(transport.queue, _call(number), timeout_seconds=60)

    replies = await asyncio.gather(*(ask(number) for number in range(20)))
    assert replies == [Refused(code="test", reason=str(number)) for number in range(20)]


async def test_a_call_made_before_anybody_consumes_is_answered(transport: Transport) -> None:
    caller, server = await transport.bus(), await transport.bus()
    call = asyncio.create_task(caller.call(transport.queue, CALL, timeout_seconds=60))
    await asyncio.sleep(0.05)
    await server.consume(transport.queue, Recorder(Done()), concurrency=1)
    assert await call == Done()


async def test_a_call_that_nobody_answers_times_out_and_is_not_delivered_later(transport: Transport) -> None:
    caller, bus = await transport.bus(), await transport.bus()
    with pytest.raises(CallTimeout):
        await caller.call(transport.queue, CALL, timeout_seconds=0.3)
    await caller.close()
    await bus.send(transport.queue, HINT)

    async def only_the_hint_is_left() -> bool:
        """A broker counts from when it got the call."""
        return await transport.waiting() == 1

    await eventually(only_the_hint_is_left)
    recorder = Recorder(Done())
    await bus.consume(transport.queue, recorder, concurrency=1)
    await eventually(lambda: len(recorder.got) > 0)
    assert recorder.got == [HINT]
    assert await transport.dead() == []  # settled: nothing may ever be dead


async def test_a_late_reply_is_dropped_and_the_next_call_is_answered(transport: Transport) -> None:
    bus = await transport.bus()
    late = asyncio.Event()

    async def answer(message: AnyMessage) -> AnyReply:
        if getattr(message, "agent_id", "") == "1":
            await late.wait()
            return Refused(code="late", reason="")
        return Done()

    await bus.consume(transport.queue, answer, concurrency=2)
    with pytest.raises(CallTimeout):
        await bus.call(transport.queue, _call(1), timeout_seconds=0.5)
    late.set()
    assert await bus.call(transport.queue, _call(2), timeout_seconds=60) == Done()


async def test_a_message_over_the_size_limit_is_refused_when_sent(transport: Transport) -> None:
    bus = await transport.bus(max_message_bytes=1000)
    large = ApplyHint(shard_id="x" * 1000, load_balancer_ids=())
    with pytest.raises(MessageTooLarge):
        await bus.send(transport.queue, large)
    with pytest.raises(MessageTooLarge):
        await bus.call(transport.queue, Keepalive(agent_id="x" * 1000, session_id=""), timeout_seconds=5)


async def test_a_reply_over_the_size_limit_becomes_a_refusal(transport: Transport) -> None:
    bus = await transport.bus(max_message_bytes=1000)
    await bus.consume(transport.queue, Recorder(Refused(code="x", reason="y" * 1000)), concurrency=1)
    reply = await bus.call(transport.queue, CALL, timeout_seconds=60)
    assert isinstance(reply, Refused)
    assert reply.code == "reply_too_large"


async def test_a_reply_over_the_size_limit_comes_in_parts_to_whoever_takes_them(transport: Transport) -> None:
    caller = await transport.bus(max_message_bytes=4000)
    answers = Assignments(
        revision=1,
        shards=tuple(Assignment(shard_id=f"shard-{number}", project_id="p", epoch=1) for number in range(500)),
    )
    server = await transport.bus(max_message_bytes=4000)
    await server.consume(transport.queue, Recorder(answers), concurrency=4)
    call = GetAssignments(agent_id="agent", session_id="session", takes_parts=True)
    calls = (caller.call(transport.queue, call, timeout_seconds=60) for _ in range(3))
    assert await asyncio.gather(*calls) == [answers] * 3
    refused = await caller.call(transport.queue, replace(call, takes_parts=False), timeout_seconds=60)
    assert isinstance(refused, Refused)


async def test_a_message_of_the_largest_size_arrives(transport: Transport) -> None:
    bus = await transport.bus(max_message_bytes=MAX_MESSAGE_BYTES)
    overhead = len(encode(ApplyHint(shard_id="", load_balancer_ids=()), message_id="0" * 32))
    large = ApplyHint(shard_id="x" * (MAX_MESSAGE_BYTES - overhead), load_balancer_ids=())
    recorder = Recorder()
    await bus.consume(transport.queue, recorder, concurrency=1)
    await bus.send(transport.queue, large)
    await eventually(lambda: recorder.got == [large])


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00not json",
        b'{"version":1,"id":"x","body":{"type":"of the future"}}',
        b'{"version":9,"id":"x","body":{"type":"apply_hint","shard_id":"s","load_balancer_ids":[]}}',
    ],
    ids=["garbage", "unknown-type", "version-far-ahead"],
)
async def test_unreadable_message_is_dead_lettered_at_once(transport: Transport, raw: bytes) -> None:
    bus = await transport.bus()
    recorder = Recorder()
    await bus.consume(transport.queue, recorder, concurrency=1)
    await transport.put_raw(raw)
    await bus.send(transport.queue, HINT)
    await eventually(lambda: recorder.got == [HINT])

    async def set_aside() -> bool:
        return await transport.dead() == [raw]

    await eventually(set_aside)


async def test_unknown_fields_of_a_newer_neighbour_are_ignored(transport: Transport) -> None:
    bus = await transport.bus()
    recorder = Recorder()
    await bus.consume(transport.queue, recorder, concurrency=1)
    body = '{"type":"apply_hint","shard_id":"shard","load_balancer_ids":["lb-1"],"new":1}'
    await transport.put_raw(f'{{"version":1,"id":"x","priority":3,"body":{body}}}'.encode())
    await eventually(lambda: recorder.got == [HINT])


async def test_closing_a_subscription_waits_for_work_under_way_and_takes_no_more(transport: Transport) -> None:
    bus, other = await transport.bus(), await transport.bus()
    started, release, finished = asyncio.Event(), asyncio.Event(), []

    async def slow(message: AnyMessage) -> None:
        started.set()
        await release.wait()
        finished.append(message)

    subscription = await bus.consume(transport.queue, slow, concurrency=1)
    await bus.send(transport.queue, hint(1))
    await started.wait()
    closing = asyncio.create_task(subscription.close())
    await asyncio.sleep(0.1)
    assert not closing.done()
    release.set()
    await closing
    assert finished == [hint(1)]
    recorder = Recorder()
    await other.consume(transport.queue, recorder, concurrency=1)
    await bus.send(transport.queue, hint(2))
    await eventually(lambda: recorder.got == [hint(2)])
    assert finished == [hint(1)]  # settled: the closed subscription may get nothing


async def cancel_close(subscription: Subscription, monkeypatch: pytest.MonkeyPatch) -> None:
    """Close, and give that up when it waits for the work under way."""
    waits, drain = asyncio.Event(), TaskPool.drain

    async def seen(workers: TaskPool, after: Awaitable[object]) -> None:
        async def then_say_so() -> None:
            await after
            waits.set()

        await drain(workers, then_say_so())

    monkeypatch.setattr(TaskPool, "drain", seen)
    closing = asyncio.create_task(subscription.close())
    await waits.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing


async def cancel_close_at_once(subscription: Subscription, monkeypatch: pytest.MonkeyPatch) -> None:
    """Close, and give that up before anything is answered."""
    closing = asyncio.create_task(subscription.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing


@pytest.mark.parametrize("cancel_close", [cancel_close, cancel_close_at_once])
async def test_work_of_a_cancelled_close_goes_to_another_consumer(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, cancel_close: Any
) -> None:
    bus, other = await transport.bus(), await transport.bus()
    started = asyncio.Event()

    async def hang(message: AnyMessage) -> None:
        started.set()
        await asyncio.Event().wait()

    subscription = await bus.consume(transport.queue, hang, concurrency=1)
    await bus.send(transport.queue, HINT)
    await started.wait()
    await cancel_close(subscription, monkeypatch)
    recorder = Recorder()
    await other.consume(transport.queue, recorder, concurrency=1)
    await eventually(lambda: recorder.got == [HINT])


async def test_closing_the_bus_fails_calls_that_wait(transport: Transport) -> None:
    bus = await transport.bus()
    call = asyncio.create_task(bus.call(transport.queue, CALL, timeout_seconds=60))
    await asyncio.sleep(0.2)
    await bus.close()
    with pytest.raises(BusUnavailable):
        await call


async def test_a_call_with_a_dead_caller_does_no_harm(transport: Transport) -> None:
    caller, server = await transport.bus(), await transport.bus()
    started, release = asyncio.Event(), asyncio.Event()

    async def slow(message: AnyMessage) -> AnyReply:
        started.set()
        await release.wait()
        return Done()

    await server.consume(transport.queue, slow, concurrency=1)
    call = asyncio.create_task(caller.call(transport.queue, CALL, timeout_seconds=60))
    await started.wait()
    await caller.close()
    with pytest.raises(BusUnavailable):
        await call
    release.set()
    assert await server.call(transport.queue, CALL, timeout_seconds=60) == Done()


async def test_messages_of_a_consumer_killed_in_the_middle_of_its_work_are_not_lost(transport: Transport) -> None:
    if not transport.durable:
        pytest.skip("has no separate processes")
    bus = await transport.bus()
    recorder = Recorder()
    async with child("tests.bus.consumer_process", transport.url, transport.queue) as victim:
        assert victim.stdout is not None
        for number in range(5):
            await bus.send(transport.queue, hint(number))
        taken = {await victim.stdout.readline() for _ in range(3)}
        assert len(taken) == 3
        await bus.consume(transport.queue, recorder, concurrency=2)
        await eventually(lambda: len(recorder.got) == 2)
    await eventually(lambda: len(recorder.got) == 5)
    assert recorder.numbers() == Counter(range(5))  # settled: none may come twice


def _call(number: int) -> Keepalive:
    return Keepalive(agent_id=str(number), session_id="session")
