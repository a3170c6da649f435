"""Answers that come in parts: put together in any order, and never from two answers."""

import random

import pytest

from evenkeel.bus.codec import decode_reply, encode
from evenkeel.bus.deliveries import PendingCalls
from evenkeel.bus.parts import ANSWERS_MAX, PartAssembler, split_message
from evenkeel.core.kit.errors import MessageRejected
from evenkeel.core.protocol.messages import Assignment, Assignments, ReplyPart


def answer(revision: int, shards: int = 200) -> Assignments:
    rows = (Assignment(shard_id=f"shard-{number} é", project_id=f"p{revision}", epoch=1) for number in range(shards))
    return Assignments(revision=revision, shards=tuple(rows))


def parts_of(reply: Assignments, call_id: str = "c") -> list[ReplyPart]:
    raw = encode(reply, message_id=call_id)
    pieces = split_message(raw, message_id=call_id, max_bytes=2000)
    assert all(len(piece) <= 2000 for piece in pieces)
    decoded = [decode_reply(piece)[1] for piece in pieces]
    assert all(isinstance(part, ReplyPart) for part in decoded)
    return decoded  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(5))
async def test_parts_in_any_order_and_more_than_once_make_the_answer(seed: int) -> None:
    calls = PendingCalls()
    future = calls.open("c")
    parts = parts_of(answer(1))
    coming = parts[:-1] * 2
    random.Random(seed).shuffle(coming)
    for part in coming:
        calls.resolve("c", part)
    assert not future.done()
    calls.resolve("c", parts[-1])
    assert future.result() == answer(1)


async def test_parts_of_two_answers_to_one_call_are_not_mixed() -> None:
    calls = PendingCalls()
    future = calls.open("c")
    first, second = parts_of(answer(1)), parts_of(answer(2))
    assert len(first) == len(second)
    for one, other in zip(first[:-1], second[1:], strict=True):
        calls.resolve("c", one)
        calls.resolve("c", other)
    assert not future.done()
    calls.resolve("c", second[0])
    assert future.result() == answer(2)


async def test_parts_of_an_abandoned_call_are_dropped() -> None:
    calls = PendingCalls()
    calls.open("c")
    first, *rest = parts_of(answer(1))
    calls.resolve("c", first)
    calls.forget("c")
    for part in rest:
        calls.resolve("c", part)
    assert not calls._parts


def test_parts_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MessageRejected, match="part 2 of 2"):
        PartAssembler().add(ReplyPart(number=2, count=2, digest="d", data=b""))
    with pytest.raises(MessageRejected, match="none of one answer"):
        PartAssembler().add(ReplyPart(number=0, count=1, digest="d", data=b"x"))
    monkeypatch.setattr("evenkeel.bus.parts.LARGEST_ANSWER_BYTES", 100)
    parts = PartAssembler()
    parts.add(ReplyPart(number=0, count=9, digest="d", data=b"x" * 90))
    with pytest.raises(MessageRejected, match="more than 100 bytes"):
        parts.add(ReplyPart(number=1, count=9, digest="d", data=b"x" * 90))


def test_answers_that_never_come_to_an_end_are_forgotten() -> None:
    parts = PartAssembler()
    for number in range(10):
        parts.add(ReplyPart(number=0, count=2, digest=str(number), data=b"x"))
        assert len(parts._answers) <= ANSWERS_MAX
