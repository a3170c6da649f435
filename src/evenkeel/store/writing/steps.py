"""Shared statements of tenants' writes."""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.structs import replace
from sqlalchemy import Connection, false, update

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.records.rows import KINDS, Kind
from evenkeel.store.writing.revision_lock import PENDING_DELETE, LockedLoadBalancer

AnyChild = TypeVar("AnyChild", Listener, Pool, Member, HealthMonitor, L7Policy, L7Rule, RateLimitPolicy, RateLimitRule)

CHILD_KINDS: tuple[Kind, ...] = tuple(
    KINDS[kind] for kind in (Listener, Pool, Member, HealthMonitor, L7Policy, L7Rule, RateLimitPolicy, RateLimitRule)
)


def check_changeable(changes: Mapping[str, Any], allowed: frozenset[str]) -> None:
    """Check that all attributes may be changed. Raises :class:`Invalid` naming one that may not."""
    for name in changes:
        if name not in allowed:
            raise Invalid(f"{name}: cannot be changed; what can: {', '.join(sorted(allowed))}")


def mark_objects_deleted(connection: Connection, kind: Kind, locked: LockedLoadBalancer, *conditions: Any) -> None:
    """Mark rows of a kind that meet the conditions deleted; rows already marked keep their revision."""
    table = kind.table
    connection.execute(
        update(table)
        .where(*conditions, table.c.deleted == false())
        .values(
            deleted=True,
            # Unique constraints contain live_key: with the row's own id there, a successor may have the same values at
            # once.
            live_key=table.c.id,
            provisioning_status=PENDING_DELETE,
            revision=locked.revision,
            updated_at=locked.now,
        )
    )


def with_pending_create_status(row: AnyChild, locked: LockedLoadBalancer) -> AnyChild:
    """Return the child in the state in which it is first stored: PENDING_CREATE, at the revision of the lock,
    in its load balancer's project.
    """
    return replace(
        row,
        load_balancer_id=locked.id,
        project_id=locked.project_id,
        provisioning_status=ProvisioningStatus.PENDING_CREATE,
        revision=locked.revision,
        deleted=False,
        created_at=locked.now,
        updated_at=None,
    )
