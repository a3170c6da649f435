"""The wire format: a versioned JSON envelope around one message of :mod:`evenkeel.core.protocol.messages`.

``{"version": 1, "id": ..., "reply_to": ..., "body": {"type": ..., ...}}``. ``id`` names the message; a reply carries
the id of its call. Unknown fields are ignored, so that adjacent versions understand each other; an envelope of a
version that is not adjacent, an unknown ``type`` and malformed bytes raise :class:`MessageRejected`.

Error texts never contain the body.
"""

import msgspec

from evenkeel.core.kit.errors import MessageRejected, MessageTooLarge
from evenkeel.core.kit.values import Wire
from evenkeel.core.protocol.messages import MESSAGE_VERSION, AnyMessage, AnyReply, Reply

MAX_MESSAGE_BYTES = 1024 * 1024
"""Default limit for an encoded message; every process of an installation should use the same limit."""

OLDEST_VERSION = max(1, MESSAGE_VERSION - 1)
NEWEST_VERSION = MESSAGE_VERSION + 1
"""Versions of envelopes that this process decodes: its own and the adjacent ones, so that an installation can be
upgraded process by process.
"""


class Envelope(Wire, kw_only=True, omit_defaults=False):
    """Wire format of one message. ``id`` names the message, in a reply the call that it answers. ``reply_to``
    is the transport's address for the reply; empty if no answer is expected.
    """

    version: int = MESSAGE_VERSION
    id: str
    reply_to: str = ""
    body: AnyMessage


class _Header(Wire):
    """Version of an envelope, decoded before the body, because a body of a newer version may not be parseable."""

    version: int


_encoder = msgspec.json.Encoder()
_envelopes = msgspec.json.Decoder(Envelope)
_headers = msgspec.json.Decoder(_Header)


def encode(message: AnyMessage, *, message_id: str, reply_to: str = "", max_bytes: int = MAX_MESSAGE_BYTES) -> bytes:
    """Encode a message in an envelope, as JSON. Raises :class:`MessageTooLarge` above ``max_bytes`` bytes."""
    raw = _encoder.encode(Envelope(id=message_id, reply_to=reply_to, body=message))
    if len(raw) > max_bytes:
        raise MessageTooLarge(f"a {_type_name(message)} message has {len(raw)} bytes; the limit is {max_bytes}")
    return raw


def decode(raw: bytes) -> Envelope:
    """Decode an envelope. Raises :class:`MessageRejected` for malformed bytes, a version that is not adjacent
    to this one, and an unknown type of message; the error's text never quotes the message.
    """
    try:
        # The version is judged first: the body of a newer version may have types that this one cannot decode.
        version = _headers.decode(raw).version
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MessageRejected("not an envelope") from error
    if not OLDEST_VERSION <= version <= NEWEST_VERSION:
        understood = f"{OLDEST_VERSION} to {NEWEST_VERSION}"
        raise MessageRejected(f"version {version}; this process speaks {MESSAGE_VERSION} and understands {understood}")
    try:
        return _envelopes.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MessageRejected(f"unknown type or malformed body in a message of version {version}") from error


def decode_reply(raw: bytes) -> tuple[str, AnyReply]:
    """Decode a reply; returns (id of the call, reply). Raises :class:`MessageRejected` if the bytes cannot be
    decoded or the message is no reply.
    """
    envelope = decode(raw)
    body = envelope.body
    if not isinstance(body, Reply):
        raise MessageRejected("not a reply")
    return envelope.id, body


def _type_name(message: AnyMessage) -> str:
    return str(type(message).__struct_config__.tag)
