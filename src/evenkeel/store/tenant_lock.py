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

    row: Any
    """``LOAD_BALANCER_COLUMNS``."""

    @property
    def id(self) -> str:
        """Of the load balancer."""
        return str(self.row.id)

    @property
    def project_id(self) -> str:
        """Its tenant; also that of everything below it."""
        return str(self.row.project_id)

    @property
    def revision(self) -> int:
        """The one this write makes."""
        return int(self.row.revision)

    @property
    def placed(self) -> bool:
        """It has a shard, so a device may hold it."""
        return self.row.shard_id is not None

    @property
    def now(self) -> float:
        """The database's time at the lock."""
        return float(self.row.now)


def lock(
    connection: Connection,
    kind: Kind,
    object_id: str,
    *,
    project_id: str | None,
    deadline_seconds: float,
    parent_id: str | None = None,
    values: dict[str, Any] | None = None,
) -> Locked:
    """Lock the load balancer that the object is or belongs to. One statement.

    ``values`` are set on the load balancer by the same statement. Raises :class:`NotFound` for the object, or
    :class:`Conflict` if it or its load balancer is marked deleted.
    """
    locked = try_lock(
        connection,
        kind,
        object_id,
        project_id=project_id,
        deadline_seconds=deadline_seconds,
        parent_id=parent_id,
        values=values,
    )
    return locked or _refuse(connection, kind, object_id, project_id, parent_id)


def try_lock(
    connection: Connection,
    kind: Kind,
    object_id: str,
    *,
    project_id: str | None,
    deadline_seconds: float,
    parent_id: str | None = None,
    values: dict[str, Any] | None = None,
) -> Locked | None:
    """As :func:`lock`, but None if there is no such live object."""
    statement = _raise_revision(deadline_seconds).where(_this(kind, object_id, parent_id))
    if project_id is not None:
        statement = statement.where(_root.c.project_id == project_id)
    if values:
        statement = statement.values(**values)
    row = connection.execute(statement).first()
    return None if row is None else Locked(row)


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


def _this(kind: Kind, object_id: str, parent_id: str | None) -> ColumnElement[bool]:
    if kind is LOAD_BALANCER:
        return _root.c.id == object_id
    table = kind.table
    owner = select(table.c.load_balancer_id).where(table.c.id == object_id, table.c.deleted == false())
    if parent_id is not None:
        owner = owner.where(table.c.pool_id == parent_id)
    return _root.c.id == owner.scalar_subquery()


def _refuse(
    connection: Connection, kind: Kind, object_id: str, project_id: str | None, parent_id: str | None
) -> NoReturn:
    row = read_any(connection, kind, object_id, project_id=project_id, parent_id=parent_id)
    owner_id = object_id if kind is LOAD_BALANCER else row.load_balancer_id
    # a child of a load balancer that is being deleted is refused for its load balancer's sake
    root_deleted = connection.scalar(select(_root.c.deleted).where(_root.c.id == owner_id))
    raise immutable(LOAD_BALANCER, owner_id) if root_deleted else immutable(kind, object_id)


def read_any(
    connection: Connection, kind: Kind, object_id: str, *, project_id: str | None, parent_id: str | None = None
) -> Any:
    """The object's row, marked deleted or not. Raises :class:`NotFound`."""
    table = kind.table
    statement = select(*kind.columns).where(table.c.id == object_id)
    if project_id is not None:
        statement = statement.where(table.c.project_id == project_id)
    if parent_id is not None:
        statement = statement.where(table.c.pool_id == parent_id)
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound(kind.title, object_id)
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
