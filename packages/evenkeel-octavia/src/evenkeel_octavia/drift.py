"""Pure comparison of Octavia's load balancers with those at the controllers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

GRACE_SECONDS = 60.0
"""Age from which on a load balancer that Octavia does not have is deleted, or reported as unknown: a node of its
database may be behind another one."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One load balancer at the controllers."""

    snapshot: float
    digest: str


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Load balancers at the controllers that Octavia does not have, in order of id."""

    deleted: tuple[str, ...] = ()
    """Ids that Octavia has as DELETED: the controllers have lost that they are."""
    unknown: tuple[str, ...] = ()
    """Ids that Octavia has no row of: another Octavia has them, or its database has lost them."""


def to_write(digests: Mapping[str, str], listed: Mapping[str, Listed]) -> list[str]:
    """Return the load balancers of Octavia that the controllers don't have, or have with other content."""
    return [id for id, digest in digests.items() if id not in listed or listed[id].digest != digest]


PORT_GRACE_SECONDS = 120.0
"""Age from which on the VIP port of a load balancer that Octavia does not have is given back: its transaction is open
no longer, and a node of its database is no further behind.
"""


def rolled_back(statuses: Mapping[str, str], ports: Iterable[str]) -> list[str]:
    """Return those load balancers with unused VIP ports that Octavia does not have, or has deleted.

    ``statuses``: as in :func:`leftovers`, read after ``ports``.
    """
    return [id for id in ports if statuses.get(id) in (None, "DELETED")]


def leftovers(
    statuses: Mapping[str, str], listed: Mapping[str, Listed], now: float, *, grace_seconds: float = GRACE_SECONDS
) -> Leftovers:
    """Return which load balancers only the controllers have.

    ``statuses``: the provisioning status of each load balancer in Octavia's database, DELETED ones that housekeeping
    has not removed yet among them. ``now``: time by Octavia's database.
    """
    old = sorted(id for id in listed if listed[id].snapshot < now - grace_seconds)
    return Leftovers(
        deleted=tuple(id for id in old if statuses.get(id) == "DELETED"),
        unknown=tuple(id for id in old if id not in statuses),
    )
