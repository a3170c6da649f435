"""Replaces the members of a pool as a whole."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection, bindparam, false, select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.attributes import STORABLE_ATTRIBUTES
from evenkeel.core.resources.model import Member
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.records import schema
from evenkeel.store.records.rows import MEMBER, POOL, member_from_row, row_from_resource
from evenkeel.store.writing.conflicts import check_distinct_members
from evenkeel.store.writing.revision_lock import LockedLoadBalancer, WriteTarget, build_change, mark_pool_pending
from evenkeel.store.writing.steps import mark_objects_deleted, with_pending_create_status
from evenkeel.store.writing.tenant_writes import TenantWrites

_member = schema.member
_REPLACED_COLUMNS = (*sorted(STORABLE_ATTRIBUTES[Member]), "provisioning_status", "revision", "updated_at")
_UPDATE_MEMBER = (
    update(_member)
    .where(_member.c.id == bindparam("member_id"))
    .values({name: bindparam(f"new_{name}", type_=_member.c[name].type) for name in _REPLACED_COLUMNS})
)


class MemberPlan(NamedTuple):
    """Changes that turn the members of a pool into the requested members."""

    added: list[Member]
    changed: list[Member]
    removed: list[Member]
    result: list[Member]
    """The members that are requested, in that order, as they are stored in the end."""


def replace_members(
    writes: TenantWrites, pool_id: str, members: Sequence[Member], *, additive_only: bool, project_id: ProjectId | None
) -> Op[Change]:
    """Return an operation that makes the pool's members exactly ``members``, matched by (address, port); if
    ``additive_only``, others stay. Unchanged members keep status and revision.

    Raises :class:`NotFound` for the pool, :class:`Conflict` for equal members, :class:`QuotaReached`,
    :class:`ObjectLimitReached`; ``IntegrityError`` for an id that exists.
    """
    members = [replace(member, pool_id=pool_id) for member in members]
    check_distinct_members(members)
    target = WriteTarget(POOL, pool_id, project_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        mark_pool_pending(connection, pool_id, locked)
        plan = plan_members(_live_members(connection, pool_id), members, locked, additive_only=additive_only)
        # the batch counts as a whole: removed members make room
        writes.check_quotas_and_limits(connection, locked, {"member": len(plan.added) - len(plan.removed)})
        _apply_plan(connection, plan, locked)
        return build_change(connection, locked.row, tuple(plan.result))

    return run_transaction


def plan_members(
    present: Iterable[Member], wanted: Iterable[Member], locked: LockedLoadBalancer, *, additive_only: bool
) -> MemberPlan:
    """Plan the changes from the ``present`` members to the ``wanted`` ones, matched by (address, port).

    A matched member keeps its id and its immutable attributes. ``additive_only``: remove none.
    """
    left = {(member.address, member.protocol_port): member for member in present}
    plan = MemberPlan([], [], [], [])
    for member in wanted:
        before = left.pop((member.address, member.protocol_port), None)
        after = (
            with_pending_create_status(member, locked) if before is None else _pending_member(before, member, locked)
        )
        plan.result.append(after)
        if before is None:
            plan.added.append(after)
        elif after is not before:
            plan.changed.append(after)
    if not additive_only:
        plan.removed.extend(left.values())
    return plan


def _pending_member(before: Member, wanted: Member, locked: LockedLoadBalancer) -> Member:
    names = STORABLE_ATTRIBUTES[Member]
    if all(getattr(before, name) == getattr(wanted, name) for name in names):
        return before
    status = before.provisioning_status
    # A member that was never confirmed is still to be created, however often it changes.
    if status is not ProvisioningStatus.PENDING_CREATE:
        status = ProvisioningStatus.PENDING_UPDATE
    return replace(
        before,
        **{name: getattr(wanted, name) for name in names},
        provisioning_status=status,
        revision=locked.revision,
        updated_at=locked.now,
    )


def _live_members(connection: Connection, pool_id: str) -> list[Member]:
    rows = connection.execute(select(*MEMBER.columns).where(_member.c.pool_id == pool_id, _member.c.deleted == false()))
    return [member_from_row(row) for row in rows]


def _apply_plan(connection: Connection, plan: MemberPlan, locked: LockedLoadBalancer) -> None:
    # removed members first, because that frees their (address, port)
    if plan.removed:
        ids = [member.id for member in plan.removed]
        if locked.placed:
            mark_objects_deleted(connection, MEMBER, locked, is_in_list(_member.c.id, ids))
        else:
            connection.execute(_member.delete().where(is_in_list(_member.c.id, ids)))
    if plan.changed:
        connection.execute(_UPDATE_MEMBER, [_member_parameters(member) for member in plan.changed])
    insert_rows(connection, _member, [row_from_resource(member) for member in plan.added])


def _member_parameters(member: Member) -> dict[str, Any]:
    row = row_from_resource(member)
    return {"member_id": member.id} | {f"new_{name}": row[name] for name in _REPLACED_COLUMNS}
