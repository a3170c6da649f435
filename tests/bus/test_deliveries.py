"""What becomes of a delivery."""

import asyncio

import pytest
import structlog

from evenkeel.bus.codec import MAX_MESSAGE_BYTES, encode
from evenkeel.bus.deliveries import MAX_DELIVERIES, RETRY, DeliveryOutcome, PendingCalls, TaskPool, handle_delivery
from evenkeel.core.kit.errors import BusUnavailable, MessageRejected
from evenkeel.core.protocol.messages import AnyMessage, AnyReply, Done, Keepalive

CALL = Keepalive(agent_id="s3cret", session_id="s")
RAW = encode(CALL, message_id="m", reply_to="r")


async def _work(handler: object, *, deliveries: int = 1, raw: bytes = RAW) -> DeliveryOutcome:
    return await handle_delivery(raw, handler, queue="q", deliveries=deliveries, max_reply_bytes=MAX_MESSAGE_BYTES)  # type: ignore[arg-type]


async def _done(message: AnyMessage) -> AnyReply:
    return Done()


async def _fail(message: AnyMessage) -> None:
    raise RuntimeError("no")


async def test_a_reply_goes_to_its_caller() -> None:
    assert await _work(_done) == DeliveryOutcome(reply_to="r", replies=(encode(Done(), message_id="m"),))


async def test_message_without_reply_address_gets_no_answer() -> None:
    assert await _work(_done, raw=encode(CALL, message_id="m")) == DeliveryOutcome()


async def test_failures_are_retried_with_growing_pauses_then_set_aside() -> None:
    outcomes = [await _work(_fail, deliveries=deliveries) for deliveries in range(1, MAX_DELIVERIES + 1)]
    pauses = [outcome.retry_seconds for outcome in outcomes[:-1]]
    assert pauses == sorted(RETRY.nominal_seconds(deliveries) for deliveries in range(1, MAX_DELIVERIES))
    assert outcomes[-1].dead_letter_reason


async def test_a_message_that_kills_its_consumers_is_set_aside_unseen() -> None:
    outcome = await _work(_done, deliveries=MAX_DELIVERIES + 1)
    assert outcome.dead_letter_reason == "delivered too often"


async def test_a_handler_may_refuse_a_message_for_good() -> None:
    async def refuse(message: AnyMessage) -> None:
        raise MessageRejected("no such thing")

    assert (await _work(refuse)).dead_letter_reason


async def test_a_handler_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.bus.deliveries.HANDLER_SECONDS", 0.01)

    async def hang(message: AnyMessage) -> None:
        await asyncio.Event().wait()

    assert (await _work(hang)).retry_seconds is not None


async def test_logs_of_deliveries_contain_no_body() -> None:
    with structlog.testing.capture_logs() as lines:
        await _work(_fail)
        await _work(_fail, deliveries=MAX_DELIVERIES)
        await _work(_done, raw=RAW.replace(b"keepalive", b"unknown"))
    assert [line["log_level"] for line in lines] == ["warning", "error", "error"]
    assert "s3cret" not in str(lines)


async def test_a_call_that_was_forgotten_ignores_its_reply() -> None:
    calls = PendingCalls()
    future = calls.open("c")
    calls.forget("c")
    calls.resolve("c", Done())
    assert not future.done()
    assert not calls


async def test_a_lost_connection_fails_every_waiting_call() -> None:
    calls = PendingCalls()
    future = calls.open("c")
    calls.fail_all("lost")
    with pytest.raises(BusUnavailable, match="lost"):
        await future


def test_no_concurrency_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="concurrency"):
        TaskPool(0)
