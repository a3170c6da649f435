"""What a device's answer means. Pure.

The one dangerous mistake is to take "I cannot tell" for "it is not there": while its daemons restart, a device
answers 404 for things that exist. Only configuration's own 404, with a numbered error, says that something is
absent; everything else that is no clear refusal means that the device is out of reach for now.
"""

import json
from typing import Any

from evenkeel.core.errors import DeviceRejected, DeviceUnavailable, EvenKeelError

REASON_CHARACTERS_MAX = 500
BUSY = 503


class Absent(DeviceRejected):
    """Configuration says that the object is not there."""


class Exists(DeviceRejected):
    """Configuration says that the object is there already."""


class Busy(DeviceUnavailable):
    """The device did not carry the request out because it has something else to do; ask again."""


class LoginLost(DeviceUnavailable):
    """The token is unknown or expired, or the credentials are wrong."""


def document(body: bytes) -> dict[str, Any]:
    """The JSON object of an answer; empty if it is none."""
    if not body:
        return {}
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


_ECHO_CHARACTERS = 16
"""Of a line: no text has them by chance."""


def failure(device: str, status: int, body: bytes, *, uploaded: bytes = b"") -> EvenKeelError:
    """The error an answer other than 2xx stands for. ``uploaded``: what the request brought, none of which is told."""
    found = document(body)
    message = _without_echo(str(found.get("message", "")), uploaded)[:REASON_CHARACTERS_MAX]
    reason = message or f"answered {status}"
    if status == 401:
        return LoginLost(device, reason)
    if status == BUSY:
        return Busy(device, reason)
    if status == 404:
        return Absent(device, reason) if _is_configuration(found) else DeviceUnavailable(device, reason)
    if status == 409:
        return Exists(device, reason)
    if status == 413:
        return DeviceRejected(device, f"what was sent is too large for it: {reason}")
    if status == 403:
        return DeviceUnavailable(device, f"user may not do that: {reason}")
    if 400 <= status < 500 and message and not message.startswith("remoteSender:"):
        return DeviceRejected(device, reason)
    return DeviceUnavailable(device, reason)


def _without_echo(message: str, uploaded: bytes) -> str:
    """The text, unless it repeats what was sent, or the beginning of that: keys are among it."""
    pieces = {line[:_ECHO_CHARACTERS] for line in uploaded.decode("latin-1").splitlines()}
    repeats = any(piece in message for piece in pieces if len(piece) == _ECHO_CHARACTERS)
    return "(its reason is not shown: it repeats what was uploaded)" if repeats else message


def _is_configuration(found: dict[str, Any]) -> bool:
    """Of the two daemons that answer 404, only the one that holds the configuration gives an error number."""
    text = str(found.get("message", ""))
    return "apiError" in found and ("not found" in text.lower() or "no command to commit" in text)
