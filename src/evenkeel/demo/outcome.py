"""The demo's measurements, compared with the guarantees."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenkeel.demo.traffic import Counts

TAKEOVER_SECONDS = 10.0
NOT_COUNTED = "not counted: agents looked at the devices meanwhile"


@dataclass
class DemoResult:
    """``problems``: violated guarantees (human-readable); ``create_requests``: per device, ``requests_counted`` says
    what is counted. ``more``: rows that only this type of device has.
    """

    create_requests_promised: int
    requests_counted: str = "device requests"
    counts: Counts = field(default_factory=Counts)
    https: Counts = field(default_factory=Counts)
    takeover_seconds: float = 0.0
    create_requests: Mapping[str, int] = field(default_factory=dict)
    more: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def judge(self) -> None:
        """Add guarantees that the numbers violate to the problems."""
        for what, counts in (("requests", self.counts), ("HTTPS requests", self.https)):
            if counts.failed:
                self.problems.append(f"{counts.failed} {what} failed, the first with: {counts.first_failure}")
        if self.takeover_seconds >= TAKEOVER_SECONDS:
            self.problems.append(f"takeover took {self.takeover_seconds:.1f} s, {TAKEOVER_SECONDS:.0f} s are promised")
        promised = self.create_requests_promised
        for device, count in self.create_requests.items():
            if count > promised:
                what = self.requests_counted
                self.problems.append(f"{device} saw {count} {what} for the create, {promised} are promised")

    def rows(self) -> list[tuple[str, str]]:
        """The closing table."""
        creates = ", ".join(f"{device} {count}" for device, count in self.create_requests.items())
        return [
            ("requests sent", str(self.counts.sent)),
            ("requests failed", str(self.counts.failed)),
            ("HTTPS requests sent", str(self.https.sent)),
            ("HTTPS requests failed", str(self.https.failed)),
            ("seconds from kill to first write by the new agent", f"{self.takeover_seconds:.2f}"),
            (f"{self.requests_counted} used to create the load balancer", creates or NOT_COUNTED),
            *self.more,
        ]
