"""Request bodies: read up to a limit, decoded from bytes into structs, refused with Octavia's texts."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
from litestar.types import Receive

from evenkeel.api.identity.caller import Headers
from evenkeel.api.responses.decode_errors import explain_decode_error, octavia_body_name
from evenkeel.api.responses.errors import Refusal, shorten
from evenkeel.api.responses.flags import LaxDecoder
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value

T = TypeVar("T")

BODY_TIMEOUT_SECONDS = 60.0
PIECE_TIMEOUT_SECONDS = 10.0
"""Time-out between two chunks of a request's body."""


INVALID = "Invalid JSON in the request body"
_TOO_DEEP_REASON = "it is nested too deeply"


class Request(Value):
    """Base of request bodies; unknown attributes are refused."""


class BodyReader(Generic[T]):
    """A prebuilt decoder of one body type. ``lax``: decodes like Octavia, see :class:`LaxDecoder`, and reports errors
    in its words.
    """

    def __init__(self, kind: type[T], *, lax: bool = False) -> None:
        self._kind: type[Any] = kind
        self._octavia = lax
        self._decode: Callable[[bytes], T] = (LaxDecoder if lax else msgspec.json.Decoder)(kind).decode

    def decode_body(self, raw: bytes) -> T:
        """Decode a body. Raises :class:`Invalid` for invalid JSON, duplicate names in an object, or values
        that the type does not allow.
        """
        try:
            # First the decoder: check_names() leaves types and numbers to it.
            body = self._decode(raw)
            check_names_unique(raw)
            return body
        except msgspec.ValidationError as error:
            raise self._body_refusal(error, raw) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._not_json_error(str(error), raw) from error
        except RecursionError as error:
            raise self._not_json_error(_TOO_DEEP_REASON, raw) from error

    def _not_json_error(self, problem: str, raw: bytes) -> Invalid:
        if self._octavia and not raw.strip():
            return Invalid(f'Missing argument: "{octavia_body_name(self._kind)}"')
        return Invalid(f"{'Request is not in valid JSON format' if self._octavia else INVALID}: {problem}.")

    def _body_refusal(self, error: msgspec.ValidationError, raw: bytes) -> Exception:
        try:
            return explain_decode_error(error, raw, self._kind, octavia=self._octavia)
        except (msgspec.DecodeError, UnicodeDecodeError) as broken:
            return self._not_json_error(str(broken), raw)
        except RecursionError:
            return self._not_json_error(_TOO_DEEP_REASON, raw)


def check_names_unique(raw: bytes) -> None:
    """Raise :class:`Invalid` for an object with a duplicate name: parsers differ in which one counts, and a gateway
    that checked the request may have used the other one. ``raw``: JSON of a known type.
    """
    json.loads(raw, object_pairs_hook=_refuse_repeated_names, parse_int=_discard_number, parse_float=_discard_number)


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise Invalid(f"{INVALID}: {shorten(twice, 64)!r} is given twice in one object.")


def _discard_number(number: str) -> None:
    """Return None for a number, because the body's decoder has already parsed it."""


def check_content_type(headers: Headers, *, only_json: bool = True) -> None:
    """Check the content headers of a request. Raises :class:`Refusal` (415) unless the content type is JSON and the
    content is not encoded.

    ``only_json`` False: any type is taken for JSON, except from a web page of another site, because browsers send some
    types without a CORS preflight and with stored credentials.
    """
    coding = headers.get(b"content-encoding", b"identity").strip().lower()
    if coding != b"identity":
        raise Refusal(415, f"Unsupported content encoding '{coding.decode('latin-1')[:64]}'. Send it as it is.")
    given = headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
    if given != b"application/json" and (only_json or b"origin" in headers):
        raise Refusal(415, f"Unknown mimetype: {given.decode('latin-1')[:64]}. Use application/json.")


async def read_body(receive: Receive, headers: Headers, limit_bytes: int) -> bytes:
    """Read the whole body. Raises :class:`Refusal`: 413 as soon as it exceeds ``limit_bytes``, 408 if it
    takes longer than :data:`BODY_TIMEOUT_SECONDS`, or a piece longer than :data:`PIECE_TIMEOUT_SECONDS`.
    """
    declared = headers.get(b"content-length", b"")
    # Only refuses early; the bytes that arrive are counted, whatever was declared.
    if declared.isdigit() and int(declared) > limit_bytes:
        raise body_too_large(limit_bytes)
    try:
        async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
            return await _read_body(receive, limit_bytes)
    except TimeoutError as error:
        raise Refusal(
            408,
            f"The request body did not arrive within {BODY_TIMEOUT_SECONDS:g} seconds, or a piece of it within "
            f"{PIECE_TIMEOUT_SECONDS:g}.",
        ) from error


async def _read_body(receive: Receive, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        async with asyncio.timeout(PIECE_TIMEOUT_SECONDS):
            message: Any = await receive()
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit_bytes:
            raise body_too_large(limit_bytes)
        parts.append(part)
        more = message.get("more_body", False)
    # Most bodies arrive in one piece, which need not be copied.
    return parts[0] if len(parts) == 1 else b"".join(parts)


def body_too_large(limit_bytes: int) -> Refusal:
    """Build the refusal (413) of a body over the limit."""
    return Refusal(413, f"The request body is larger than the limit of {limit_bytes} bytes.")
