"""The demo's measurements, compared with the guarantees."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenkeel.demo.traffic import TrafficCounts

TAKEOVER_SECONDS = 10.0


@dataclass
class DemoResult:
    """Measurements of one run. ``create_writes``: number of writes for the create, by device; ``https``:
    totals of HTTPS requests; ``takeover_seconds``: from the kill to the first write by another agent;
    ``more``: further rows (label, value) of the closing table; ``problems``: texts about violated
    guarantees.
    """

    create_writes_promised: int
    counts: TrafficCounts = field(default_factory=TrafficCounts)
    https: TrafficCounts = field(default_factory=TrafficCounts)
    takeover_seconds: float = 0.0
    create_writes: Mapping[str, int] = field(default_factory=dict)
    more: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add_violations(self) -> None:
        """Add a text to ``problems`` for each guarantee that the measurements violate. Call it once."""
        for what, counts in (("requests", self.counts), ("HTTPS requests", self.https)):
            if counts.failed:
                self.problems.append(f"{counts.failed} {what} failed, the first with: {counts.first_failure}")
        if self.takeover_seconds >= TAKEOVER_SECONDS:
            self.problems.append(f"takeover took {self.takeover_seconds:.1f} s, {TAKEOVER_SECONDS:.0f} s are promised")
        promised = self.create_writes_promised
        for device, count in self.create_writes.items():
            if count > promised:
                self.problems.append(f"{device} saw {count} writes for the create, {promised} are promised")

    def rows(self) -> list[tuple[str, str]]:
        """Return (label, value) of each row of the closing table."""
        creates = ", ".join(f"{device} {count}" for device, count in self.create_writes.items())
        https = [
            ("HTTPS requests sent", str(self.https.sent)),
            ("HTTPS requests failed", str(self.https.failed)),
        ]
        return [
            ("requests sent", str(self.counts.sent)),
            ("requests failed", str(self.counts.failed)),
            *(https if self.https.sent else []),
            ("seconds from kill to first write by the new agent", f"{self.takeover_seconds:.2f}"),
            ("writes to a device for the create", creates),
            *self.more,
        ]
