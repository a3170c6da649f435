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
"""The default limit; every process of an installation should use the same."""

OLDEST_VERSION = max(1, MESSAGE_VERSION - 1)
NEWEST_VERSION = MESSAGE_VERSION + 1
"""Adjacent versions work together, so that an installation can be upgraded process by process."""


class Envelope(Wire, kw_only=True, omit_defaults=False):
    """One message. ``reply_to`` is an address of the transport; empty if no answer is expected."""

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
    """Encode a message in an envelope. Raises :class:`MessageTooLarge` above ``max_bytes``."""
    raw = _encoder.encode(Envelope(id=message_id, reply_to=reply_to, body=message))
    if len(raw) > max_bytes:
        raise MessageTooLarge(f"a {_type_name(message)} message has {len(raw)} bytes; the limit is {max_bytes}")
    return raw


def decode(raw: bytes) -> Envelope:
    """Decode an envelope. Raises :class:`MessageRejected`, whose text states the error without quoting the message."""
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
    """Decode a reply; returns it with the id of its call. Raises :class:`MessageRejected`, also for a message that is
    no reply.
    """
    envelope = decode(raw)
    body = envelope.body
    if not isinstance(body, Reply):
        raise MessageRejected("not a reply")
    return envelope.id, body


def _type_name(message: AnyMessage) -> str:
    return str(type(message).__struct_config__.tag)
