"""A log of requests to the devices: every write with its outcome, requests in progress, and counts.

The log is bounded; bodies are stored without secrets, and truncated when large.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

ENTRIES_MAX = 20_000
LOGGED_ITEMS_MAX = 500
LOGGED_TEXT_MAX = 4_000
SECRETS = frozenset({"password", "passphrase", "content", "secret", "token", "oldpassword", "encryptedpassword"})
COUNTED = ("reads", "writes", "logins", "tokens", "stats")


@dataclass(slots=True)
class InFlight:
    """A request that has arrived and has no response yet."""

    id: int
    time: float
    device: str
    user: str
    user_agent: str
    method: str
    path: str
    transaction_id: str
    body: Any = None
    held: bool = False


class WriteLog:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: deque[dict[str, Any]] = deque(maxlen=ENTRIES_MAX)
        self._in_flight: dict[int, InFlight] = {}
        self._last_id = 0
        self.last_seq = 0

    def arrive(self, **fields: Any) -> InFlight:
        self._last_id += 1
        request = InFlight(id=self._last_id, time=self._clock(), **fields)
        self._in_flight[request.id] = request
        return request

    def leave(self, request: InFlight) -> None:
        self._in_flight.pop(request.id, None)

    def append(self, request: InFlight, event: str, status: int, error: str | None, body: Any) -> None:
        self.last_seq += 1
        entry = {
            "seq": self.last_seq, "time": self._clock(), "device": request.device, "user": request.user,
            "user_agent": request.user_agent, "method": request.method, "path": request.path,
            "transaction_id": request.transaction_id, "event": event, "status": status, "error": error, "body": body,
        }  # fmt: skip
        self._entries.append(entry)

    def entries(self, after: int = 0, device: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """Entries with a greater `seq`, oldest first."""
        found = [entry for entry in self._entries if entry["seq"] > after and device in (None, entry["device"])]
        return found[:limit] if limit is not None else found

    def in_flight(self) -> list[dict[str, Any]]:
        return [asdict(request) for request in self._in_flight.values()]


class RequestCounts:
    """Requests by device and class since the last reset."""

    def __init__(self, devices: list[str]) -> None:
        self._devices = devices
        self.counts: dict[str, dict[str, int]] = {}
        self.reset()

    def add(self, device: str, method: str, path: str) -> None:
        if path.startswith("/mgmt/shared/authn"):
            kind = "logins"
        elif path.startswith("/mgmt/shared/authz/tokens"):
            kind = "tokens"
        elif method != "GET":
            kind = "writes"
        else:
            kind = "stats" if path.rstrip("/").endswith("/stats") else "reads"
        self.counts[device][kind] += 1

    def reset(self) -> None:
        self.counts = {device: dict.fromkeys(COUNTED, 0) for device in self._devices}


def without_secrets(value: Any) -> Any:
    """The value with secrets replaced, and long texts and lists truncated."""
    if isinstance(value, Mapping):
        return {
            name: "***" if str(name).replace("-", "").lower() in SECRETS else without_secrets(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value[:LOGGED_ITEMS_MAX]]
    if isinstance(value, str):
        if "PRIVATE KEY" in value:
            return "***"
        return value[:LOGGED_TEXT_MAX]
    return value
