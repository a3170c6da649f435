"""The one lock of tenant writes: raising the load balancer's revision.

Every write begins with a single UPDATE of the load balancer's row that raises its revision, makes it PENDING and
gives it a deadline; the row lock it takes orders all writes below that load balancer. Children are changed after
it and carry the revision it returned. What the same statement could not see because it had to wait for the lock (a
child deleted meanwhile) shows in the next one: statements on children say ``deleted = false`` again.
"""

from typing import Any, NamedTuple, NoReturn

from sqlalchemy import ColumnElement, Connection, Update, case, false, null, select, update

from evenkeel.core.control import Change, ShardOwner
from evenkeel.core.errors import Conflict, NotFound
from evenkeel.core.model import LoadBalancerTree, Resource
from evenkeel.core.statuses import ProvisioningStatus
from evenkeel.store import schema
from evenkeel.store.clock import db_now
from evenkeel.store.rows import LISTENER, LOAD_BALANCER, POOL, Kind

PENDING_CREATE = ProvisioningStatus.PENDING_CREATE.value
PENDING_UPDATE = ProvisioningStatus.PENDING_UPDATE.value
PENDING_DELETE = ProvisioningStatus.PENDING_DELETE.value

_root = schema.load_balancer


class Locked(NamedTuple):
    """A load balancer whose row this transaction holds, as it is after the lock."""

    id: str
    project_id: str
    """Its tenant; also that of everything below it."""
    revision: int
    """The one this write makes."""
    placed: bool
    """It has a shard, so a device may hold it."""
    now: float
    """The database's time at the lock."""
    row: Any = None
    """``LOAD_BALANCER_COLUMNS``, and more."""


class Target(NamedTuple):
    """The object that a write is about: it is, or belongs to, the load balancer to be locked."""

    kind: Kind
    id: str
    project_id: str | None
    """None: of any project."""
    parent_id: str | None = None
    """The pool that a member must be in."""


def lock(
    connection: Connection, target: Target, *, deadline_seconds: float, values: dict[str, Any] | None = None
) -> Locked:
    """Lock the load balancer of the target. One statement.

    ``values`` are set on the load balancer by the same statement. Raises :class:`NotFound` for the target, or
    :class:`Conflict` if it or its load balancer is marked deleted.
    """
    locked = try_lock(connection, target, deadline_seconds=deadline_seconds, values=values)
    return locked or _refuse(connection, target)


def try_lock(
    connection: Connection, target: Target, *, deadline_seconds: float, values: dict[str, Any] | None = None
) -> Locked | None:
    """As :func:`lock`, but None if there is no such live object."""
    statement = _raise_revision(deadline_seconds).where(_is_root_of(target))
    if target.project_id is not None:
        statement = statement.where(_root.c.project_id == target.project_id)
    if values:
        statement = statement.values(**values)
    row = connection.execute(statement).first()
    if row is None:
        return None
    return Locked(row.id, row.project_id, row.revision, row.shard_id is not None, row.now, row)


def _raise_revision(deadline_seconds: float) -> Update:
    unplaced = _root.c.shard_id.is_(None)
    return (
        update(_root)
        .where(_root.c.deleted == false())
        .values(
            revision=_root.c.revision + 1,
            provisioning_status=case((_root.c.applied_revision == 0, PENDING_CREATE), else_=PENDING_UPDATE),
            # why it waits for a place stays true until it has one
            status_reason=case((unplaced, _root.c.status_reason), else_=""),
            pending_deadline=case((unplaced, null()), else_=db_now() + deadline_seconds),
            updated_at=db_now(),
        )
        .returning(*LOAD_BALANCER.columns, db_now().label("now"))
    )


def _is_root_of(target: Target) -> ColumnElement[bool]:
    if target.kind is LOAD_BALANCER:
        return _root.c.id == target.id
    table = target.kind.table
    owner = select(table.c.load_balancer_id).where(*_is(target), table.c.deleted == false())
    return _root.c.id == owner.scalar_subquery()


def _is(target: Target) -> list[ColumnElement[bool]]:
    table = target.kind.table
    conditions = [table.c.id == target.id]
    if target.parent_id is not None:
        conditions.append(table.c.pool_id == target.parent_id)
    return conditions


def _refuse(connection: Connection, target: Target) -> NoReturn:
    row = read_any(connection, target)
    if target.kind is LOAD_BALANCER:
        raise immutable(LOAD_BALANCER, target.id)
    # a child of a load balancer that is being deleted is refused for its load balancer's sake
    root_deleted = connection.scalar(select(_root.c.deleted).where(_root.c.id == row.load_balancer_id))
    raise immutable(LOAD_BALANCER, row.load_balancer_id) if root_deleted else immutable(target.kind, target.id)


def read_any(connection: Connection, target: Target) -> Any:
    """The target's row, marked deleted or not. Raises :class:`NotFound`."""
    statement = select(*target.kind.columns).where(*_is(target))
    if target.project_id is not None:
        statement = statement.where(target.kind.table.c.project_id == target.project_id)
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound(target.kind.title, target.id)
    return row


def immutable(kind: Kind, object_id: str) -> Conflict:
    """What a write on something marked deleted gets (Octavia's text)."""
    return Conflict(f"{kind.title} {object_id} is immutable and cannot be updated.")


# -- parents


def pending(kind: Kind) -> ColumnElement[str]:
    """The status of an existing row after a change: PENDING_UPDATE, unless it was never confirmed or is going."""
    status = kind.table.c.provisioning_status
    return case((status.in_((PENDING_CREATE, PENDING_DELETE)), status), else_=PENDING_UPDATE)


def touch_pool(connection: Connection, pool_id: str, locked: Locked) -> None:
    """The pool and the listeners that send to it change with what is below it. Two statements.

    Raises :class:`Conflict` if the pool was deleted before the lock was ours.
    """
    table = schema.pool
    statement = (
        update(table)
        .where(table.c.id == pool_id, table.c.deleted == false())
        .values(provisioning_status=pending(POOL), revision=locked.revision)
    )
    if connection.execute(statement).rowcount == 0:
        raise immutable(POOL, pool_id)
    touch_listeners(connection, pool_id, locked)


def touch_listeners(connection: Connection, pool_id: str, locked: Locked) -> None:
    """The listeners that send to the pool change with it."""
    table = schema.listener
    connection.execute(
        update(table)
        .where(table.c.default_pool_id == pool_id, table.c.deleted == false())
        .values(provisioning_status=pending(LISTENER), revision=locked.revision)
    )


# -- what the caller is told


def owner_of(connection: Connection, shard_id: str | None) -> ShardOwner | None:
    """Who acts for the shard, live or not."""
    if shard_id is None:
        return None
    shard, agent = schema.shard, schema.agent
    row = connection.execute(
        select(shard.c.id, shard.c.environment, shard.c.group_number, agent.c.host)
        .join(agent, agent.c.id == shard.c.acting_agent_id)
        .where(shard.c.id == shard_id)
    ).first()
    if row is None:
        return None
    return ShardOwner(shard_id=row.id, environment=row.environment, group_number=row.group_number, host=row.host)


def change_of(
    connection: Connection, row: Any, resources: tuple[Resource, ...], tree: LoadBalancerTree | None = None
) -> Change:
    """The change to a load balancer, given by its row; looks its owner up."""
    return Change(
        load_balancer_id=row.id,
        revision=row.revision,
        environment=row.provider,
        owner=owner_of(connection, row.shard_id),
        placed=row.shard_id is not None,
        resources=resources,
        tree=tree,
    )
