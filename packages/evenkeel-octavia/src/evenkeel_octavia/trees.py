"""Rows of Octavia's database that make up load balancers, as plain values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
"""Column values of one row by the name of the column."""

PENDING = frozenset(("PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE"))
KINDS = ("members", "healthmonitors", "pools", "l7rules", "l7policies", "listeners", "loadbalancers")
"""Kinds of objects in the order in which driver-agent processes a report."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """All rows of one load balancer, read in one snapshot. Order of rows is that of their ids."""

    loadbalancer: Row
    vip: Row | None = None
    additional_vips: tuple[Row, ...] = ()
    security_groups: tuple[str, ...] = ()
    flavor: Mapping[str, Any] | None = None
    """Metadata of the flavor, None if it has none."""
    zone: Mapping[str, Any] | None = None
    """Metadata of the availability zone, None if it has none."""
    listeners: tuple[Row, ...] = ()
    sni_refs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """References of certificates by listener, in order of position."""
    cidrs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Allowed source networks by listener."""
    pools: tuple[Row, ...] = ()
    persistences: Mapping[str, Row] = field(default_factory=dict)
    """Session persistence by pool."""
    healthmonitors: tuple[Row, ...] = ()
    members: tuple[Row, ...] = ()
    l7policies: tuple[Row, ...] = ()
    l7rules: tuple[Row, ...] = ()
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tags by object, sorted."""

    @property
    def id(self) -> str:
        return str(self.loadbalancer["id"])

    @property
    def status(self) -> str:
        """Provisioning status of the load balancer itself."""
        return str(self.loadbalancer["provisioning_status"])

    @property
    def change(self) -> str | None:
        """Identity of the operation that made the load balancer PENDING; None if it is not."""
        if self.status not in PENDING:
            return None
        row = self.loadbalancer
        return f"{self.status} {row.get('updated_at') or row.get('created_at')}"

    @property
    def is_leaving(self) -> bool:
        """True once a tenant has deleted the load balancer."""
        return self.status in ("PENDING_DELETE", "DELETED")

    def objects(self) -> Iterator[tuple[str, Row]]:
        """Yield kind and row of each object that has statuses, in driver-agent's order of kinds."""
        rows: dict[str, tuple[Row, ...]] = {
            "members": self.members,
            "healthmonitors": self.healthmonitors,
            "pools": self.pools,
            "l7rules": self.l7rules,
            "l7policies": self.l7policies,
            "listeners": self.listeners,
            "loadbalancers": (self.loadbalancer,),
        }
        for kind in KINDS:
            for row in rows[kind]:
                yield kind, row


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Load balancers as one transaction saw them."""

    seconds: float
    """Time of the snapshot by the database's clock, seconds since 1970."""
    trees: Mapping[str, Tree]
    """Trees by load balancer; one that is missing has no row."""
