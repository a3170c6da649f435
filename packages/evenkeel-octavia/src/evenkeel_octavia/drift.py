"""Pure comparison of Octavia's load balancers with those at the controllers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MIN_UNKNOWN = 10
"""Up to so many load balancers that Octavia does not know are believed to be deleted in any case."""
MAX_SHARE = 1 / 3
"""Share of the controllers' load balancers that may be unknown to Octavia; more is another database."""
GRACE_SECONDS = 60.0
"""Age from which on a load balancer that Octavia does not know is deleted."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One load balancer at the controllers."""

    snapshot: float
    digest: str


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Load balancers at the controllers that Octavia does not have."""

    to_delete: tuple[str, ...] = ()
    suspicious: int = 0
    """Number of load balancers that are not deleted, because too many are unknown at once."""


def to_write(digests: Mapping[str, str], listed: Mapping[str, Listed]) -> list[str]:
    """Return the load balancers of Octavia that the controllers don't have, or have with other content."""
    return [id for id, digest in digests.items() if id not in listed or listed[id].digest != digest]


def leftovers(known: Iterable[str], listed: Mapping[str, Listed], now: float) -> Leftovers:
    """Return what becomes of load balancers that only the controllers have.

    ``known``: all load balancers that Octavia has and has not deleted. ``now``: time by Octavia's database.
    """
    there = set(known)
    unknown = [id for id in listed if id not in there]
    if len(unknown) > MIN_UNKNOWN and len(unknown) > MAX_SHARE * len(listed):
        return Leftovers(suspicious=len(unknown))
    return Leftovers(to_delete=tuple(sorted(id for id in unknown if listed[id].snapshot < now - GRACE_SECONDS)))
