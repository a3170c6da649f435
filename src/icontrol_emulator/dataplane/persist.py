"""Source-address persistence."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from icontrol_emulator.config.model import Key

ENTRIES_MAX = 100_000


class PersistenceTable:
    """Maps client addresses to members; records expire when unused for their timeout."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, str], tuple[Key, float]] = {}

    def look_up(self, virtual: str, client: str) -> Key | None:
        member, until = self._entries.get((virtual, client), (None, 0.0))
        return member if until > self._clock() else None

    def remember(self, virtual: str, client: str, member: Key, timeout_seconds: float) -> None:
        if len(self._entries) >= ENTRIES_MAX:
            del self._entries[next(iter(self._entries))]
        self._entries[virtual, client] = (member, self._clock() + timeout_seconds)


def masked(address: str, mask: str) -> str:
    """The client address with the profile's mask applied."""
    if mask in ("", "none"):
        return address
    try:
        return str(ipaddress.ip_network(f"{address}/{mask}", strict=False).network_address)
    except ValueError:
        return address
