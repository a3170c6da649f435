"""The lock of tenant writes: raising the load balancer's revision.

Every write to an existing load balancer begins with a single UPDATE of the load balancer's row that raises
its revision, makes it PENDING and, if it is placed, gives it a deadline; the row lock it takes orders all
writes below that load balancer. Children are changed after it and carry the revision it returned. Changes
committed while the statement waited for the lock (a child deleted meanwhile) are visible to the next one:
statements on children check ``deleted = false`` again.
"""

from enum import Enum
from functools import cache, lru_cache
from typing import Any, NamedTuple, NoReturn

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Select,
    String,
    Update,
    bindparam,
    case,
    false,
    literal_column,
    null,
    or_,
    select,
    update,
)

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId, ShardId
from evenkeel.core.resources.model import LoadBalancerTree, Resource
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.engine.returning import UpdateReturning, update_returning
from evenkeel.store.records import schema
from evenkeel.store.records.rows import L7POLICY, LISTENER, LOAD_BALANCER, POOL, RATE_LIMIT_POLICY, Kind
from evenkeel.store.writing.changes import change_id_assignments, new_change_parameter
from evenkeel.store.writing.quota_check import has_own_quotas
from evenkeel.store.writing.revisions import store_revision_requester

PENDING_CREATE = ProvisioningStatus.PENDING_CREATE.value
PENDING_UPDATE = ProvisioningStatus.PENDING_UPDATE.value
PENDING_DELETE = ProvisioningStatus.PENDING_DELETE.value
ACTIVE = ProvisioningStatus.ACTIVE.value
ERROR = ProvisioningStatus.ERROR.value

Columns = tuple[ColumnElement[Any], ...]

MAX_CACHED_STATEMENTS = 256
"""Maximum number of cached statements, one for each set of updated attributes."""

_load_balancer = schema.load_balancer
_PROJECT: ColumnElement[str] = literal_column(f"{_load_balancer.name}.project_id", String())
"""The project's column with its table's name, which SQLAlchemy omits in RETURNING although a subquery has a column of
the same name.
"""


class LockedLoadBalancer(NamedTuple):
    """A load balancer whose row this transaction has locked, with its values after the lock."""

    id: LoadBalancerId
    project_id: ProjectId
    """Project of the load balancer and of its children."""
    revision: int
    """Revision of this write."""
    placed: bool
    """Whether the load balancer has a shard, so that a device may hold it."""
    now: float
    """The database's time at the lock, in seconds since the epoch."""
    row: Any = None
    """The load balancer's row, with the columns of ``LOAD_BALANCER`` and ``mirrored``; None for a new load balancer."""
    has_quota: bool = False
    """Whether the project has quotas of its own."""


class WriteKind(Enum):
    """Kinds of writes: strict immutability accepts each kind in some statuses of the load balancer only."""

    PART = "part"  # a child of the load balancer
    ITSELF = "itself"  # the load balancer
    LEAVING = "leaving"  # its delete or failover


class AcceptedStatuses(NamedTuple):
    """Statuses of the load balancer in which a write is accepted, and the error in all others."""

    write_kind: WriteKind
    in_error: bool = False
    """True for APIs that change load balancers in ERROR, like LBaaS v2; in Octavia's these may only be deleted or
    failed over.
    """

    @property
    def statuses(self) -> tuple[str, ...]:
        """Provisioning statuses in which the write is accepted."""
        return (ACTIVE, ERROR) if self.in_error or self.write_kind is WriteKind.LEAVING else (ACTIVE,)


class WriteTarget(NamedTuple):
    """The object to be written: a load balancer, or a child of one."""

    kind: Kind
    id: str
    project_id: ProjectId | None
    """Project that must own the target; None: any project."""
    parent_id: str | None = None
    """Required pool of a member, or policy of a rule; None: not checked."""


def try_lock_load_balancer(
    connection: Connection,
    target: WriteTarget,
    *,
    deadline_seconds: float,
    values: dict[str, Any] | None = None,
    accepted_statuses: AcceptedStatuses | None = None,
    changes_root: bool = False,
) -> LockedLoadBalancer | None:
    """Lock the target's load balancer and raise its revision; None if the target or the load balancer does
    not exist or is marked deleted. One statement, and one that records the request of the new revision.

    ``deadline_seconds``: time for devices to confirm the revision. ``values``: {column: value} to set in the
    load balancer by the same statement. ``changes_root``: the write changes attributes of the load balancer
    itself. ``accepted_statuses``: statuses of the load balancer in which the write is accepted (None: any);
    with them, a missing target raises :class:`NotFound`, and another status :class:`Conflict`, also of a load
    balancer marked deleted.
    """
    values = values or {}
    scoped, parented = target.project_id is not None, target.parent_id is not None
    statement = _raise_revision_statement(
        target.kind, scoped, parented, tuple(sorted(values)), accepted_statuses, changes_root
    )
    parameters = {f"new_{name}": value for name, value in values.items()}
    raising = {"deadline_seconds": deadline_seconds, "new_change": new_change_parameter()}
    row = statement.first_row(connection, parameters | _target_parameters(target) | raising)
    if row is None:
        if accepted_statuses is not None:
            _raise_wrong_status(connection, target, accepted_statuses)
        return None
    store_revision_requester(connection, row.id, row.revision, row.now)
    return LockedLoadBalancer(
        row.id, row.project_id, row.revision, row.shard_id is not None, row.now, row, bool(row.has_quota)
    )


# Building a statement costs more than running it: statements of the hot paths are built once for each shape, and
# take their values as parameters.


@lru_cache(maxsize=MAX_CACHED_STATEMENTS)
def _raise_revision_statement(
    kind: Kind,
    in_project: bool,
    with_parent: bool,
    names: tuple[str, ...],
    accepted_statuses: AcceptedStatuses | None,
    changes_root: bool,
) -> UpdateReturning:
    given = {name: bindparam(f"new_{name}", type_=_load_balancer.c[name].type) for name in names}
    is_root = _is_root_of_object(kind, with_parent)
    statement = update(_load_balancer).where(is_root, _load_balancer.c.deleted == false())
    # first, because in MariaDB a later assignment sees the raised revision
    noted = {"own_revision": _load_balancer.c.revision + 1} if changes_root else {}
    statement = statement.ordered_values(*(noted | revision_assignments() | given).items())
    if in_project:
        statement = statement.where(_load_balancer.c.project_id == bindparam("target_project_id"))
    if accepted_statuses is not None:
        # in the same statement, so that no other write comes in between
        statement = statement.where(_load_balancer.c.provisioning_status.in_(accepted_statuses.statuses))
    more = (_load_balancer.c.mirrored, db_now().label("now"), has_own_quotas(_PROJECT))
    return update_returning(statement, *LOAD_BALANCER.columns, *more, by=is_root)


def revision_assignments() -> dict[str, Any]:
    """Return {column: value} that every write sets in the load balancer, in this order. Parameters:
    ``deadline_seconds``, ``new_change``.
    """
    unplaced = _load_balancer.c.shard_id.is_(None)
    return {
        **change_id_assignments(),
        "revision": _load_balancer.c.revision + 1,
        "provisioning_status": case((_load_balancer.c.applied_revision == 0, PENDING_CREATE), else_=PENDING_UPDATE),
        # the reason why it is not placed stays until it is
        "status_reason": case((unplaced, _load_balancer.c.status_reason), else_=""),
        "pending_deadline": case((unplaced, null()), else_=db_now() + bindparam("deadline_seconds", type_=Double())),
        "updated_at": db_now(),
    }


def _is_root_of_object(kind: Kind, with_parent: bool) -> ColumnElement[bool]:
    if kind is LOAD_BALANCER:
        return _load_balancer.c.id == bindparam("target_id")
    table = kind.table
    owner = select(table.c.load_balancer_id).where(*_target_conditions(kind, with_parent), table.c.deleted == false())
    return _load_balancer.c.id == owner.scalar_subquery()


def _target_conditions(kind: Kind, with_parent: bool) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [kind.table.c.id == bindparam("target_id")]
    if with_parent and kind.parent is not None:
        conditions.append(kind.parent == bindparam("target_parent_id"))
    return conditions


def _target_parameters(target: WriteTarget) -> dict[str, Any]:
    # Ids come from URLs, and PostgreSQL refuses a parameter with a NUL.
    parameters = {"target_id": storable_text(target.id)}
    if target.project_id is not None:
        parameters["target_project_id"] = storable_text(target.project_id)
    if target.parent_id is not None:
        parameters["target_parent_id"] = storable_text(target.parent_id)
    return parameters


def _raise_wrong_status(connection: Connection, target: WriteTarget, accepted_statuses: AcceptedStatuses) -> None:
    """Raise :class:`Conflict` if the status of the load balancer prevented the lock, :class:`NotFound` if
    there is no such target. Nothing is raised if the lock failed because the target is marked deleted.
    """
    row = read_target_row(connection, target)
    root_id, status = (
        (target.id, row.provisioning_status) if target.kind is LOAD_BALANCER else _root_from_row(connection, row)
    )
    # Not the status was the obstacle but the deletion; the caller reports that.
    if row.deleted and status in accepted_statuses.statuses:
        return
    if accepted_statuses.write_kind is WriteKind.PART:
        raise immutable_error(LOAD_BALANCER, root_id)
    raise _wrong_state_error(LoadBalancerId(root_id), status)


def _root_from_row(connection: Connection, row: Any) -> tuple[str, str]:
    """Return id and provisioning status of the load balancer of a child, whose row is given."""
    statement = select(_load_balancer.c.provisioning_status).where(_load_balancer.c.id == row.load_balancer_id)
    return row.load_balancer_id, connection.scalar(statement) or ""


def raise_lock_failure(connection: Connection, target: WriteTarget) -> NoReturn:
    """Raise the error for a target that could not be locked: :class:`NotFound`, or :class:`Conflict` if it is marked
    deleted.
    """
    row = read_target_row(connection, target)
    if target.kind is LOAD_BALANCER:
        raise immutable_error(LOAD_BALANCER, target.id)
    # the error names the load balancer if that is being deleted
    root_deleted = connection.scalar(
        select(_load_balancer.c.deleted).where(_load_balancer.c.id == row.load_balancer_id)
    )
    raise (
        immutable_error(LOAD_BALANCER, row.load_balancer_id)
        if root_deleted
        else immutable_error(target.kind, target.id)
    )


def read_target_row(connection: Connection, target: WriteTarget, columns: Columns | None = None) -> Any:
    """Return the target's row, marked deleted or not, with ``columns``, or None: all of its kind. Raises
    :class:`NotFound`, also for another project or parent.
    """
    columns = columns or target.kind.columns
    statement = _target_query(target.kind, target.project_id is not None, target.parent_id is not None, columns)
    row = connection.execute(statement, _target_parameters(target)).first()
    if row is None:
        raise NotFound(target.kind.title, target.id)
    return row


@cache
def _target_query(kind: Kind, in_project: bool, with_parent: bool, columns: Columns) -> Select[Any]:
    statement = select(*columns).where(*_target_conditions(kind, with_parent))
    if in_project:
        statement = statement.where(kind.table.c.project_id == bindparam("target_project_id"))
    return statement


def immutable_error(kind: Kind, object_id: str) -> Conflict:
    """Return the error for a write on an object marked deleted (Octavia's text)."""
    return Conflict(f"{kind.title} {object_id} is immutable and cannot be updated.", code="immutable")


def _wrong_state_error(load_balancer_id: LoadBalancerId, status: str) -> Conflict:
    """Return the error for a write on a load balancer in a wrong status (Octavia's text)."""
    return Conflict(f"Invalid state {status} of loadbalancer resource {load_balancer_id}", code="immutable")


# -- parents


def pending_status(kind: Kind) -> ColumnElement[str]:
    """Return the SQL expression for the status of an existing row after a change: PENDING_UPDATE, unless the row was
    never confirmed or is being deleted.
    """
    status = kind.table.c.provisioning_status
    return case((status.in_((PENDING_CREATE, PENDING_DELETE)), status), else_=PENDING_UPDATE)


_MARK_POOL_PENDING = (
    update(schema.pool)
    .where(schema.pool.c.id == bindparam("touched_id"), schema.pool.c.deleted == false())
    .values(provisioning_status=pending_status(POOL), revision=bindparam("new_revision"), updated_at=db_now())
)
_listeners_using_pool = select(schema.l7policy.c.listener_id).where(
    schema.l7policy.c.redirect_pool_id == bindparam("touched_id"), schema.l7policy.c.deleted == false()
)
_MARK_LISTENERS_PENDING = (
    update(schema.listener)
    .where(
        schema.listener.c.load_balancer_id == bindparam("root_id"),  # the only condition with an index
        or_(
            schema.listener.c.default_pool_id == bindparam("touched_id"),
            schema.listener.c.id.in_(_listeners_using_pool),
        ),
        schema.listener.c.deleted == false(),
    )
    .values(provisioning_status=pending_status(LISTENER), revision=bindparam("new_revision"), updated_at=db_now())
)
_MARK_LISTENER_PENDING = (
    update(schema.listener)
    .where(schema.listener.c.id == bindparam("touched_id"), schema.listener.c.deleted == false())
    .values(provisioning_status=pending_status(LISTENER), revision=bindparam("new_revision"), updated_at=db_now())
)


def _mark_policy_pending_statement(kind: Kind) -> Update:
    table = kind.table
    return (
        update(table)
        .where(table.c.id == bindparam("touched_id"), table.c.deleted == false())
        .values(provisioning_status=pending_status(kind), revision=bindparam("new_revision"), updated_at=db_now())
    )


def _mark_listener_of_policy_pending_statement(kind: Kind) -> Update:
    owner = select(kind.table.c.listener_id).where(kind.table.c.id == bindparam("touched_id"))
    return (
        update(schema.listener)
        .where(schema.listener.c.id == owner.scalar_subquery(), schema.listener.c.deleted == false())
        .values(provisioning_status=pending_status(LISTENER), revision=bindparam("new_revision"), updated_at=db_now())
    )


_MARK_POLICY_PENDING = {
    kind: (_mark_policy_pending_statement(kind), _mark_listener_of_policy_pending_statement(kind))
    for kind in (L7POLICY, RATE_LIMIT_POLICY)
}


def mark_pool_pending(connection: Connection, pool_id: str, locked: LockedLoadBalancer) -> None:
    """Mark the pool and its listeners PENDING_UPDATE (new ones stay PENDING_CREATE) after a change of its
    children. Two statements. Raises :class:`Conflict` if the pool was deleted before the lock was taken.
    """
    touched = connection.execute(_MARK_POOL_PENDING, {"touched_id": pool_id, "new_revision": locked.revision})
    if touched.rowcount == 0:
        raise immutable_error(POOL, pool_id)
    mark_listeners_pending(connection, pool_id, locked)


def mark_listeners_pending(connection: Connection, pool_id: str, locked: LockedLoadBalancer) -> None:
    """Mark the listeners that send to the pool, by default or by an L7 policy, PENDING_UPDATE (new ones stay
    PENDING_CREATE). One statement.
    """
    parameters = {"touched_id": pool_id, "new_revision": locked.revision, "root_id": locked.id}
    connection.execute(_MARK_LISTENERS_PENDING, parameters)


def mark_listener_pending(connection: Connection, listener_id: str, locked: LockedLoadBalancer) -> None:
    """Mark the listener PENDING_UPDATE (a new one stays PENDING_CREATE) after a change of its policies.
    Raises :class:`Conflict` if it was deleted before the lock was taken.
    """
    touched = connection.execute(_MARK_LISTENER_PENDING, {"touched_id": listener_id, "new_revision": locked.revision})
    if touched.rowcount == 0:
        raise immutable_error(LISTENER, listener_id)


def mark_policy_pending(connection: Connection, kind: Kind, policy_id: str, locked: LockedLoadBalancer) -> None:
    """Mark the L7 policy or rate limit policy, and its listener, PENDING_UPDATE (new ones stay
    PENDING_CREATE) after a change of its rules. Raises :class:`Conflict` if the policy was deleted before
    the lock was taken.
    """
    policy, listener = _MARK_POLICY_PENDING[kind]
    touched = connection.execute(policy, {"touched_id": policy_id, "new_revision": locked.revision})
    if touched.rowcount == 0:
        raise immutable_error(kind, policy_id)
    connection.execute(listener, {"touched_id": policy_id, "new_revision": locked.revision})


# -- results


_READ_OWNER = (
    select(schema.shard.c.id, schema.shard.c.environment, schema.shard.c.group_number, schema.agent.c.host)
    .join(schema.agent, schema.agent.c.id == schema.shard.c.acting_agent_id)
    .where(schema.shard.c.id == bindparam("shard_id"))
)


def read_shard_owner(connection: Connection, shard_id: ShardId | None) -> ShardOwner | None:
    """Return the shard's acting agent, live or not; None without a shard or an acting agent."""
    if shard_id is None:
        return None
    row = connection.execute(_READ_OWNER, {"shard_id": shard_id}).first()
    if row is None:
        return None
    return ShardOwner(shard_id=row.id, environment=row.environment, group_number=row.group_number, host=row.host)


def build_change(
    connection: Connection, row: Any, resources: tuple[Resource, ...], tree: LoadBalancerTree | None = None
) -> Change:
    """Build the :class:`Change` of a load balancer from its row; one query for the owner of its shard.
    ``resources``: the changed objects; ``tree``: the whole new load balancer, if there is one.
    """
    return Change(
        load_balancer_id=row.id,
        revision=row.revision,
        environment=row.provider,
        owner=read_shard_owner(connection, row.shard_id),
        placed=row.shard_id is not None,
        resources=resources,
        tree=tree,
    )


def read_changes(connection: Connection, condition: ColumnElement[bool]) -> tuple[Change, ...]:
    """Return the changes of all load balancers that meet ``condition``, sorted by id, without changed
    objects. One statement.
    """
    shard, agent = schema.shard, schema.agent
    statement = (
        select(
            _load_balancer.c.id,
            _load_balancer.c.revision,
            _load_balancer.c.provider,
            _load_balancer.c.shard_id,
            shard.c.group_number,
            agent.c.host,
        )
        .outerjoin(shard, shard.c.id == _load_balancer.c.shard_id)
        .outerjoin(agent, agent.c.id == shard.c.acting_agent_id)
        .where(condition)
        .order_by(_load_balancer.c.id)
    )
    return tuple(map(_change_from_row, connection.execute(statement)))


def _change_from_row(row: Any) -> Change:
    owner = None
    if row.host is not None:
        owner = ShardOwner(
            shard_id=row.shard_id, environment=row.provider, group_number=row.group_number, host=row.host
        )
    return Change(
        load_balancer_id=row.id,
        revision=row.revision,
        environment=row.provider,
        owner=owner,
        placed=row.shard_id is not None,
    )
