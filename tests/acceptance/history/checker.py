"""The judge: a history in, a verdict out. Pure; knows nothing of processes, sockets or clocks."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.history import finals, ownership, registers
from tests.acceptance.history.events import Event, of_kind
from tests.acceptance.history.takeovers import Sample, returned, samples


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was counted, and by promise what broke it. All lists are to be empty."""

    counts: dict[str, int]
    faults: dict[str, int]
    takeovers: list[Sample]
    returned: dict[str, int]
    """Shards by class that no other agent had taken over when theirs was back."""
    lost: list[str] = field(default_factory=list)
    """Acknowledged, and the API holds something else (or again, after an acknowledged delete)."""
    differing: list[str] = field(default_factory=list)
    """The API holds it, a device does not, or holds it otherwise."""
    orphans: list[str] = field(default_factory=list)
    """A device holds it, the API does not."""
    stuck: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    backwards: list[str] = field(default_factory=list)
    exited: list[str] = field(default_factory=list)
    recovery_seconds: float | None = None
    """From the end of the faults until everything was ACTIVE and on both devices."""

    @property
    def broken(self) -> dict[str, list[str]]:
        """Promises that were not kept."""
        names = ("lost", "differing", "orphans", "stuck", "stale", "shared", "backwards", "exited")
        return {name: getattr(self, name) for name in names if getattr(self, name)}


def check(events: Sequence[Event]) -> Verdict:
    """Judge a whole history. Raises :class:`ValueError` if it has no end."""
    ends = of_kind(events, "final_api")
    if not ends:
        raise ValueError("the history has no end: final_api is missing")
    api = ends[-1]["api"]
    begun = of_kind(events, "begun")[0]
    history = registers.operations(events)
    found = registers.allowed(history)
    wrong, orphans = _devices(events, finals.wanted_on_devices(api, begun["environment"]))
    return Verdict(
        counts=_counts(events, found),
        faults=dict(Counter(f"{_class(event['target'])} {event['fault']}" for event in of_kind(events, "fault"))),
        takeovers=samples(events),
        returned=returned(events),
        lost=_lost(found, finals.registers_of(api)),
        differing=wrong,
        orphans=orphans,
        stuck=finals.unsettled(api),
        stale=ownership.stale_writes(events),
        shared=ownership.shared_epochs(events),
        backwards=finals.backwards(of_kind(events, "observed")),
        exited=[f"{event['target']}: {event['state']}" for event in of_kind(events, "exited")],
        recovery_seconds=_recovery(events),
    )


def _class(target: str) -> str:
    return target.partition("-")[0]


def _lost(found: dict[str, registers.Allowed], held: dict[str, Any]) -> list[str]:
    problems = []
    for key, choice in sorted(found.items()):
        value = held.get(key)
        if value not in choice.values:
            request = f"request {choice.last.id}" if choice.last else "no acknowledged request"
            problems.append(f"{key}: {json.dumps(value)} is none of {json.dumps(choice.values)} ({request})")
    return problems + [f"{key}: nobody asked for it" for key in sorted(held.keys() - found.keys())]


def _devices(events: Sequence[Event], wanted: dict[str, Any]) -> tuple[list[str], list[str]]:
    wrong, orphans = [], []
    ended = max(number for number, event in enumerate(events) if event["kind"] == "final_api")
    for event in of_kind(events[ended:], "final_device"):
        different, too_much = finals.differences(wanted, event["objects"])
        wrong += [f"{event['device']} {problem}" for problem in different]
        orphans += [f"{event['device']} {path}" for path in too_much]
    return wrong, orphans


def _recovery(events: Sequence[Event]) -> float | None:
    over, settled = of_kind(events, "faults_over"), of_kind(events, "settled")
    return settled[-1]["t"] - over[-1]["t"] if over and settled else None


def _counts(events: Sequence[Event], found: dict[str, registers.Allowed]) -> dict[str, int]:
    kinds = Counter(event["kind"] for event in events)
    unknown = of_kind(events, "unknown")
    told = Counter(event["event"]["kind"] for event in of_kind(events, "operator_event"))
    traffic = (of_kind(events, "traffic") or [{"sent": 0, "failed": 0}])[-1]
    return {
        "requests acknowledged": kinds["acknowledged"],
        "requests without an outcome": len(unknown),
        "of these answered 500": sum(event["status"] == 500 for event in unknown),
        "of these answered 503": sum(event["status"] == 503 for event in unknown),
        "requests refused or not sent": kinds["failed"],
        "objects checked": len(found),
        "objects with one possible value": sum(choice.certain for choice in found.values()),
        "faults": kinds["fault"],
        "shards taken over": told["shard_taken_over"],
        "shards handed over": told["shard_handed_over"],
        "device writes accepted": sum(event["accepted"] for event in of_kind(events, "device_write")),
        "device writes refused by the guard": ownership.refused_writes(events),
        "requests through the devices": traffic["sent"],
        "of these failed": traffic["failed"],
    }
