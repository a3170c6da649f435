"""The meaning of a device's responses. Pure.

The dangerous mistake is to take "unknown" for "absent": while its daemons restart, a device answers 404 for objects
that exist. Only a 404 of the configuration itself, with an error number, means absent; any other response that is not a
clear refusal means that the device is unavailable for now.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, EvenKeelError

REASON_CHARACTERS_MAX = 500
CACHED_DOCUMENTS_MAX = 200
"""Maximum number of documents remembered per device: the pages that one observation reads."""
BUSY_STATUS = 503
RESTARTING_TEXT = "wait for /available"
"""Text in the 404 response of a REST daemon that is still starting and has not carried out the request."""


class RefusedByDevice(DeviceRejected):
    """A device refused a request. Other :class:`DeviceRejected` are Even Keel's own decisions not to write a device."""


class ObjectAbsent(RefusedByDevice):
    """The configuration reports that the object does not exist."""


class ObjectExists(RefusedByDevice):
    """The configuration reports that the object already exists."""


class DeviceBusy(DeviceUnavailable):
    """The device was busy and did not carry out the request, which can be repeated."""


class LoginLost(DeviceUnavailable):
    """The token is unknown or expired, or the credentials are wrong."""


def parse_document(body: bytes) -> dict[str, Any]:
    """Parse the JSON object in the body of a response; empty if the body is something else."""
    if not body:
        return {}
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class DecodedDocumentCache:
    """Cache of the last document of each target, so that a response with equal bytes is decoded once."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[bytes, dict[str, Any]]] = {}

    def decoded_document(self, target: str, body: bytes) -> dict[str, Any]:
        """Decode a body as :func:`parse_document` does; returns the same object again if the target's last body was
        equal.
        """
        mark = hashlib.blake2b(body, digest_size=16).digest()
        last = self._last.get(target)
        if last is None or last[0] != mark:
            if len(self._last) >= CACHED_DOCUMENTS_MAX:
                self._last.clear()
            last = self._last[target] = mark, parse_document(body)
        return last[1]


_ECHO_CHARACTERS = 16
"""Characters at the beginning of a line that are compared; long enough that texts do not match by chance."""


def response_error(device: str, status: int, body: bytes, *, hidden: Iterable[bytes] = ()) -> EvenKeelError:
    """Build the error for a response with a status other than 2xx: a :class:`DeviceRejected` only for a clear
    refusal, else a :class:`DeviceUnavailable`. ``hidden``: parts of the request that the error never
    repeats.
    """
    found = parse_document(body)
    message = hide_echo(str(found.get("message", "")), hidden)[:REASON_CHARACTERS_MAX]
    reason = message or f"answered {status}"
    if status == 401:
        return LoginLost(device, reason)
    if status == BUSY_STATUS:
        return DeviceBusy(device, reason)
    if status == 404 and RESTARTING_TEXT in str(found.get("message", "")):
        return DeviceBusy(device, reason)
    if status == 404:
        return ObjectAbsent(device, reason) if _is_from_configuration(found) else DeviceUnavailable(device, reason)
    if status == 409:
        return ObjectExists(device, reason)
    if status == 413:
        return RefusedByDevice(device, f"what was sent is too large for it: {reason}")
    # A missing privilege concerns the user, not one load balancer, so it is no refusal of one.
    if status == 403:
        return DeviceUnavailable(device, f"user may not do that: {reason}")
    # A text that begins with `remoteSender:` gives no reason, so it is no clear refusal.
    if 400 <= status < 500 and message and not message.startswith("remoteSender:"):
        return RefusedByDevice(device, reason)
    return DeviceUnavailable(device, reason)


def hide_echo(message: str, hidden: Iterable[bytes]) -> str:
    """Return a device's error message, or a general one if the message quotes one of the ``hidden`` texts,
    which may be part of a key.
    """
    pieces = {line[:_ECHO_CHARACTERS] for text in hidden for line in text.decode("latin-1").splitlines()}
    repeats = any(piece in message for piece in pieces if len(piece) == _ECHO_CHARACTERS)
    return "(its reason is not shown: it repeats a secret that was sent)" if repeats else message


def _is_from_configuration(found: dict[str, Any]) -> bool:
    """Whether the configuration daemon sent this 404: only its 404 has an error number, the REST server's has none."""
    text = str(found.get("message", ""))
    return "apiError" in found and ("not found" in text.lower() or "no command to commit" in text)
