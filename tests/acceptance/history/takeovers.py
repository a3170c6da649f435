"""How long a fault of an agent kept its shards unserved: from the fault to the first write that a device accepted from
the next owner. Pure.

The next owner moves the guard before anything else, which is a write, so a shard without work counts like any other.
A sample is *alone* if no other fault than one of a controller was under way between the fault and that write, and
broker and database had been well for a while before.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.acceptance.history.events import Event, of_kind

CLASSES = {"kill": "killed", "freeze": "frozen", "cut_off": "cut off", "stop": "planned"}
AIMS_SECONDS = {"killed": 2.0, "frozen": 7.0, "cut off": 7.0, "planned": 1.0}
"""For p99 of a fault's first takeover."""
GRACE_SECONDS = 2.0
"""A takeover that was decided before the agent was back may reach the devices so much later."""
SERVERS = ("broker", "database")
SETTLING_SECONDS = 10.0
"""After an outage of a server all agents are new to the controllers, who wait for each other's return."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One shard of one fault."""

    fault: int
    name: str
    project: str
    seconds: float
    alone: bool


def samples(events: Sequence[Event]) -> list[Sample]:
    """One for each shard that another agent took over because of a fault."""
    writes: dict[str, list[Event]] = {}
    for write in of_kind(events, "device_write"):
        if write["accepted"] and write["epoch"] is not None:
            writes.setdefault(write["project"], []).append(write)
    spans = _spans(events)
    found = []
    for fault in of_kind(events, "fault"):
        if fault["fault"] not in CLASSES or not fault["target"].startswith("agent-"):
            continue
        until = _until(events, fault)
        for project, epoch in fault.get("serving", {}).items():
            taken = _taken(writes.get(project, ()), fault, epoch, until)
            if taken is not None:
                found.append(
                    Sample(
                        fault=fault["number"],
                        name=CLASSES[fault["fault"]],
                        project=project,
                        seconds=taken - fault["t"],
                        alone=_alone(spans, fault, taken),
                    )
                )
    return found


def _taken(writes: Iterable[Event], fault: Event, epoch: int, until: float) -> float | None:
    """When the next owner's first write was accepted; None if the shard came back to the same host or never moved."""
    host = fault["target"].removeprefix("agent-")
    later = (write for write in writes if fault["t"] < write["t"] <= until and write["epoch"] > epoch)
    first = min(later, key=lambda write: write["t"], default=None)
    return None if first is None or first["host"] == host else float(first["t"])


def _until(events: Sequence[Event], fault: Event) -> float:
    """When the agent was back, or hit again: what happens later is not this fault's doing."""
    back = [event["t"] + GRACE_SECONDS for event in of_kind(events, "ready") if event["number"] == fault["number"]]
    again = [
        other["t"]
        for other in of_kind(events, "fault")
        if other["target"] == fault["target"] and other["number"] > fault["number"]
    ]
    return min([*back, *again], default=math.inf)


def returned(events: Sequence[Event]) -> dict[str, int]:
    """By class, shards that nobody else had taken over when their agent was back."""
    taken = Counter(sample.fault for sample in samples(events))
    found: Counter[str] = Counter()
    for fault in of_kind(events, "fault"):
        if fault["fault"] in CLASSES and fault["target"].startswith("agent-"):
            found[CLASSES[fault["fault"]]] += len(fault.get("serving", {})) - taken[fault["number"]]
    return dict(found)


def _spans(events: Iterable[Event]) -> list[tuple[int, float, float]]:
    """(number, begin, end) of every fault but those of controllers; the end is when all is as before."""
    ends = {event["number"]: event["t"] for event in of_kind(events, "fault_ended", "ready")}
    found = []
    for fault in of_kind(events, "fault"):
        if not fault["target"].startswith("controller-"):
            settling = SETTLING_SECONDS if fault["target"] in SERVERS else 0.0
            found.append((fault["number"], fault["t"], ends.get(fault["number"], math.inf) + settling))
    return found


def _alone(spans: Iterable[tuple[int, float, float]], fault: Event, taken: float) -> bool:
    return not any(begin < taken and end > fault["t"] for number, begin, end in spans if number != fault["number"])


def firsts(found: Iterable[Sample]) -> list[Sample]:
    """Of each fault the shard that was taken over first."""
    best: dict[int, Sample] = {}
    for sample in found:
        if sample.fault not in best or sample.seconds < best[sample.fault].seconds:
            best[sample.fault] = sample
    return list(best.values())


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of all do not exceed. There is at least one."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
