"""What the devices' own logs say about who wrote: epochs only grow, and each has one owner. Pure.

Only guarded writes count (transactions that name a guard). Making an empty partition and saving the configuration
are the two things that the product does without one; both are harmless from anybody.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.acceptance.history.events import Event, of_kind

_GUARD = re.compile(r"evenkeel_guard_(\d+)_[0-9a-f]+$")


def guard_of(commands: Iterable[Mapping[str, Any]]) -> tuple[str, int] | None:
    """(partition, epoch) of a transaction: of the guard that it modifies or makes; None if it has none."""
    for command in commands:
        if command["method"] == "PATCH":
            _, partition, name = (*command["uri"].rpartition("/")[2].split("~"), "", "", "")[:3]
        elif command["method"] == "POST" and command["uri"].endswith("/ltm/data-group/internal"):
            partition, name = command["body"].get("partition", ""), command["body"].get("name", "")
        else:
            continue
        if found := _GUARD.fullmatch(name):
            return partition, int(found[1])
    return None


def stale_writes(events: Iterable[Event]) -> list[str]:
    """Writes that a device accepted at an epoch below one that it had accepted before in that partition."""
    newest: dict[tuple[str, str], int] = {}
    found = []
    for write in _accepted(events):
        place = (write["device"], write["project"])
        seen = newest.get(place, 0)
        if write["epoch"] < seen:
            found.append(
                f"{write['device']} accepted a write of {write['host']} to {write['project']} at epoch "
                f"{write['epoch']}, after one at {seen} (t={write['t']})"
            )
        newest[place] = max(seen, write["epoch"])
    return found


def shared_epochs(events: Iterable[Event]) -> list[str]:
    """Epochs at which two hosts wrote."""
    owners: dict[tuple[str, int], str] = {}
    found = []
    for write in _accepted(events):
        owner = owners.setdefault((write["project"], write["epoch"]), write["host"])
        if owner != write["host"]:
            found.append(f"{owner} and {write['host']} both wrote to {write['project']} at epoch {write['epoch']}")
    return sorted(set(found))


def refused_writes(events: Iterable[Event]) -> int:
    """Transactions that a device refused because of their guard."""
    writes = of_kind(events, "device_write")
    return sum(not write["accepted"] and "evenkeel_guard" in (write.get("error") or "") for write in writes)


def _accepted(events: Iterable[Event]) -> list[Event]:
    return [write for write in of_kind(events, "device_write") if write["accepted"] and write["epoch"] is not None]
