"""The history: what happened, one JSON object a line, in the order in which this process learned of it.

Every event has ``t`` (seconds of the machine's monotonic clock) and ``kind``:

=================  =============================================================================================
sent               a request: id, client, endpoint, method, path, ``replaces`` and ``writes`` (see :mod:`registers`)
acknowledged       its answer was 2xx: id, status, and ``writes`` again
failed             it certainly changed nothing (4xx, or it was never sent): id, status, reason
unknown            it may have been carried out, now or later (5xx, connection lost, time-out): id, status, reason
fault              number, ``fault``, target, and for agents ``serving``: project -> epoch just before
fault_ended        number: the cause is gone (continued, healed, started again)
ready              number: the target does its work again
exited             a process ended by itself: target, state
device_write       device, project, epoch, host, accepted, error; from the devices' own log
operator_event     an event of the operators' API
observed           load_balancer, revision, applied, status; ``asked``: when the question was sent
faults_over        no fault from here on
settled            everything is ACTIVE and on both devices (absent if that never came)
traffic            totals of the requests through the devices
final_api          what the API holds at the end
final_device       what a device holds at the end
=================  =============================================================================================
"""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class History:
    """Appends to a file. For one process; not for several threads."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._out = file.open("w", buffering=1 << 16)

    def add(self, kind: str, *, t: float | None = None, **fields: Any) -> float:
        """Record an event of now, or of ``t``. Returns its time."""
        at = time.monotonic() if t is None else t
        self._out.write(json.dumps({"t": round(at, 4), "kind": kind, **fields}, separators=(",", ":")) + "\n")
        return at

    def close(self) -> None:
        """Write what is still in memory."""
        self._out.close()


def read(file: Path) -> list[Event]:
    """All events of a history."""
    with file.open() as lines:
        return [json.loads(line) for line in lines]


def of_kind(events: Iterable[Event], *kinds: str) -> list[Event]:
    """The events of these kinds, in order."""
    return [event for event in events if event["kind"] in kinds]
