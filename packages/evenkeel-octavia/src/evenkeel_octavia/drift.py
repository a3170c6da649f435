"""Pure comparison of Octavia's load balancers with those at the controllers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

GRACE_SECONDS = 60.0
"""Minimum age at which a load balancer that Octavia's database lacks is deleted, or reported as unknown: one node of
the database may lag behind another.
"""


@dataclass(frozen=True, kw_only=True)
class ListedLoadBalancer:
    """A load balancer as the controllers list it."""

    snapshot: float
    digest: str


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Ids of load balancers that the controllers have and Octavia has not, sorted."""

    deleted: tuple[str, ...] = ()
    """Ids of load balancers that are DELETED in Octavia: the controllers have lost the deletion."""
    unknown: tuple[str, ...] = ()
    """Ids of load balancers without a row in Octavia's database: they are another Octavia's, or the
    database lost them.
    """


def differing_ids(digests: Mapping[str, str], listed: Mapping[str, ListedLoadBalancer]) -> list[str]:
    """Return the ids of Octavia's load balancers that the controllers lack, or have with other content. ``digests``: by
    id.
    """
    return [id for id, digest in digests.items() if id not in listed or listed[id].digest != digest]


PORT_GRACE_SECONDS = 120.0
"""Minimum age at which the VIP port of a load balancer that Octavia's database lacks is deleted: the transaction of its
create cannot be open any more, nor a node of the database lag so far behind.
"""


def rolled_back_ids(statuses: Mapping[str, str], ports: Iterable[str]) -> list[str]:
    """Return those of the load balancers ``ports``, which have unused VIP ports, that Octavia does not have or has
    deleted.

    ``statuses``: provisioning statuses in Octavia's database by load balancer id, read after ``ports``.
    """
    return [id for id in ports if statuses.get(id) in (None, "DELETED")]


def find_leftovers(
    statuses: Mapping[str, str],
    listed: Mapping[str, ListedLoadBalancer],
    now: float,
    *,
    grace_seconds: float = GRACE_SECONDS,
) -> Leftovers:
    """Find the load balancers that only the controllers have.

    ``statuses``: provisioning status of each load balancer in Octavia's database, including DELETED ones that
    housekeeping has not removed yet; ``now``: time by that database's clock.
    """
    old = sorted(id for id in listed if listed[id].snapshot < now - grace_seconds)
    return Leftovers(
        deleted=tuple(id for id in old if statuses.get(id) == "DELETED"),
        unknown=tuple(id for id in old if id not in statuses),
    )
