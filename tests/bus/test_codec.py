"""The envelope: what travels, and what is refused."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.bus.codec import decode, decode_reply, encode
from evenkeel.core.kit.errors import MessageRejected, MessageTooLarge
from evenkeel.core.protocol.messages import AnyMessage, ApplyHint, Done, Keepalive, ReportApplied, SessionState

CALL = Keepalive(agent_id="a", session_id="s")


def test_the_envelope_is_as_documented() -> None:
    raw = encode(CALL, message_id="m1", reply_to="r1")
    assert json.loads(raw) == {
        "version": 1,
        "id": "m1",
        "reply_to": "r1",
        "body": {"type": "keepalive", "agent_id": "a", "session_id": "s"},
    }


@pytest.mark.parametrize(
    "message",
    [
        CALL,
        ApplyHint(shard_id="x", load_balancer_ids=("1", "2")),
        SessionState(ttl_seconds=5.0, assignments_revision=3),
        ReportApplied(agent_id="a", session_id="s", shard_id="s", epoch=1, outcomes=()),
        Done(),
    ],
)
def test_messages_survive_the_way(message: AnyMessage) -> None:
    envelope = decode(encode(message, message_id="m", reply_to="r"))
    assert (envelope.body, envelope.id, envelope.reply_to) == (message, "m", "r")


def test_every_message_type_has_its_own_tag() -> None:
    members = msgspec.inspect.multi_type_info(list(AnyMessage.__args__))
    tags = [member.tag for member in members if isinstance(member, msgspec.inspect.StructType)]
    assert len(set(tags)) == len(members)


def test_the_size_limit_holds_to_the_byte() -> None:
    size = len(encode(CALL, message_id="m"))
    assert encode(CALL, message_id="m", max_bytes=size)
    with pytest.raises(MessageTooLarge, match="keepalive"):
        encode(CALL, message_id="m", max_bytes=size - 1)


def report_of(*, value: str, limit: str) -> bytes:
    """An agent's report of one capacity figure, in JSON."""
    figure = f'{{"value":{value},"limit":{limit}}}'
    body = f'{{"type":"report_state","agent_id":"a","session_id":"s","capacity":{{"node_count":{figure}}}}}'
    return f'{{"version":1,"id":"x","body":{body}}}'.encode()


def test_figures_of_capacity_are_numbers_that_can_be_compared() -> None:
    assert decode(report_of(value="10", limit="0.5")).body


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not an envelope"),
        (b"[]", "not an envelope"),
        (b'{"id":"x"}', "not an envelope"),
        (b'{"version":"1"}', "not an envelope"),
        (b'{"version":0,"body":17}', "version 0"),
        (b'{"version":3,"body":17}', "version 3; this process speaks 1 and understands 1 to 2"),
        (b'{"version":1,"id":"x","body":{"type":"secret-of-the-future"}}', "unknown type"),
        (b'{"version":1,"id":"x","body":{"type":"keepalive"}}', "malformed"),
        (b'{"version":1,"id":"x\xff","body":{}}', "a"),
        (report_of(value="1", limit="0"), "malformed"),
        (report_of(value="1", limit="-1"), "malformed"),
        (report_of(value="1e300", limit="1"), "malformed"),
        (report_of(value="1e999", limit="1"), "malformed"),
    ],
)
def test_unreadable_message_is_rejected_with_a_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(MessageRejected, match=reason) as failure:
        decode(raw)
    assert "secret" not in str(failure.value)


def test_a_message_of_the_next_version_is_taken_and_what_is_unknown_in_it_ignored() -> None:
    raw = b'{"version":2,"id":"m","why":"new","body":{"type":"keepalive","agent_id":"a","session_id":"s","extra":[1]}}'
    assert decode(raw).body == CALL


@given(st.binary(max_size=200))
def test_no_bytes_whatever_raise_anything_else(raw: bytes) -> None:
    with pytest.raises(MessageRejected):
        decode(raw)


def test_a_reply_carries_the_id_of_its_call_and_nothing_else_is_a_reply() -> None:
    assert decode_reply(encode(Done(), message_id="c7")) == ("c7", Done())
    with pytest.raises(MessageRejected, match="not a reply"):
        decode_reply(encode(CALL, message_id="c7"))
