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


def failure(device: str, status: int, body: bytes) -> EvenKeelError:
    """The error an answer other than 2xx stands for."""
    found = document(body)
    message = str(found.get("message", ""))[:REASON_CHARACTERS_MAX]
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


def _is_configuration(found: dict[str, Any]) -> bool:
    """Of the two daemons that answer 404, only the one that holds the configuration gives an error number."""
    text = str(found.get("message", ""))
    return "apiError" in found and ("not found" in text.lower() or "no command to commit" in text)
