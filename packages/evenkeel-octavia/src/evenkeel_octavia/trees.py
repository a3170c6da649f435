"""Rows of Octavia's database that make up load balancers, as plain values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DatabaseRow = Mapping[str, Any]
"""Values of one row of Octavia's database, by column name."""

PENDING_STATUSES = frozenset(("PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE"))
OBJECT_KINDS = ("members", "healthmonitors", "pools", "l7rules", "l7policies", "listeners", "loadbalancers")
"""Kinds of objects in the order in which driver-agent processes a report."""


@dataclass(frozen=True, kw_only=True)
class LoadBalancerTree:
    """All rows of one load balancer in Octavia's database, read in one snapshot; sorted by id."""

    loadbalancer: DatabaseRow
    vip: DatabaseRow | None = None
    additional_vips: tuple[DatabaseRow, ...] = ()
    security_groups: tuple[str, ...] = ()
    flavor: Mapping[str, Any] | None = None
    """Metadata of the load balancer's flavor; None if it has none."""
    zone: Mapping[str, Any] | None = None
    """Metadata of the load balancer's availability zone; None if it has none."""
    listeners: tuple[DatabaseRow, ...] = ()
    sni_refs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """References of SNI certificates by listener id, in order of position."""
    cidrs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Networks of allowed clients by listener id."""
    pools: tuple[DatabaseRow, ...] = ()
    persistences: Mapping[str, DatabaseRow] = field(default_factory=dict)
    """Row of the session persistence by pool id."""
    healthmonitors: tuple[DatabaseRow, ...] = ()
    members: tuple[DatabaseRow, ...] = ()
    l7policies: tuple[DatabaseRow, ...] = ()
    l7rules: tuple[DatabaseRow, ...] = ()
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Sorted tags by object id."""

    @property
    def id(self) -> str:
        return str(self.loadbalancer["id"])

    @property
    def status(self) -> str:
        """Return the load balancer's own provisioning status."""
        return str(self.loadbalancer["provisioning_status"])

    @property
    def change(self) -> str | None:
        """Return the identity of the operation for which the load balancer is PENDING; None if it is not
        PENDING.
        """
        if self.status not in PENDING_STATUSES:
            return None
        row = self.loadbalancer
        return f"{self.status} {row.get('updated_at') or row.get('created_at')}"

    @property
    def is_leaving(self) -> bool:
        """Whether a tenant has deleted the load balancer."""
        return self.status in ("PENDING_DELETE", "DELETED")

    def objects(self) -> Iterator[tuple[str, DatabaseRow]]:
        """Yield kind and row of each object that has statuses, in the order in which driver-agent processes kinds."""
        rows: dict[str, tuple[DatabaseRow, ...]] = {
            "members": self.members,
            "healthmonitors": self.healthmonitors,
            "pools": self.pools,
            "l7rules": self.l7rules,
            "l7policies": self.l7policies,
            "listeners": self.listeners,
            "loadbalancers": (self.loadbalancer,),
        }
        for kind in OBJECT_KINDS:
            for row in rows[kind]:
                yield kind, row


@dataclass(frozen=True, kw_only=True)
class OctaviaSnapshot:
    """Load balancers as one transaction read them from Octavia's database."""

    seconds: float
    """Time of the snapshot by the database's clock, in seconds since 1970."""
    trees: Mapping[str, LoadBalancerTree]
    """Trees by load balancer id; load balancers without a row are left out."""
