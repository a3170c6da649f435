"""Reads shards, events and counts for operators."""

from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, Subquery, case, false, func, or_, select, union

from evenkeel.core.control.events import Event
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.control.shards import Shard, ShardCount
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.store.engine.in_list import is_in_list, storable_text
from evenkeel.store.engine.statements import split_into_batches
from evenkeel.store.ownership.sql import is_live
from evenkeel.store.records import schema
from evenkeel.store.records.listing import list_page
from evenkeel.store.records.rows import EVENT_COLUMNS, LOAD_BALANCER, SHARD_COLUMNS, event_from_row, shard_from_row

_agent, _shard, _event = schema.agent, schema.shard, schema.event
_load_balancer, _device_group = schema.load_balancer, schema.device_group


def list_load_balancers_of_agent(connection: Connection, agent_id: AgentId, query: ListQuery) -> Page:
    """Return a page of load balancers for which the agent acts, or whose home it is. Raises :class:`NotFound`
    for the agent, :class:`Invalid` for an unknown filter, sort name or marker.
    """
    _check_agent_exists(connection, agent_id)
    shards = select(_shard.c.id).where(or_(_shard.c.acting_agent_id == agent_id, _shard.c.home_agent_id == agent_id))
    return list_page(connection, LOAD_BALANCER, query, [_load_balancer.c.shard_id.in_(shards)])


def read_shard_of_load_balancer(connection: Connection, load_balancer_id: LoadBalancerId) -> Shard | None:
    """Return the shard of a load balancer; None if it is not placed. Raises :class:`NotFound` if there is no
    such load balancer. One query.
    """
    row = connection.execute(
        select(*SHARD_COLUMNS)
        .select_from(_load_balancer.outerjoin(_shard, _shard.c.id == _load_balancer.c.shard_id))
        .where(_load_balancer.c.id == load_balancer_id)
    ).first()
    if row is None:
        raise NotFound(LOAD_BALANCER.title, load_balancer_id)
    return None if row.id is None else shard_from_row(row)


def read_queue_position(connection: Connection, load_balancer_id: LoadBalancerId) -> int:
    """Return the number of load balancers that come before this one: if it is placed, those of the same agent
    with an earlier deadline of their changes; if not, older unplaced ones of its environment.

    0 if the load balancer is unknown, placed without a pending change, or on a shard without an acting agent.
    One query.
    """
    this, its_shard = _load_balancer.alias("this"), _shard.alias("its_shard")
    same_agent = (
        select(func.count())
        .select_from(_load_balancer.join(_shard, _shard.c.id == _load_balancer.c.shard_id))
        .where(
            _load_balancer.c.pending_deadline < this.c.pending_deadline,
            _shard.c.acting_agent_id == its_shard.c.acting_agent_id,
        )
        .correlate(this, its_shard)
        .scalar_subquery()
    )
    unplaced = (
        select(func.count())
        .where(
            _load_balancer.c.shard_id.is_(None),
            _load_balancer.c.provider == this.c.provider,
            _load_balancer.c.deleted == false(),
            _load_balancer.c.created_at < this.c.created_at,
        )
        .correlate(this)
        .scalar_subquery()
    )
    before = (
        select(case((this.c.shard_id.is_(None), unplaced), else_=same_agent))
        .select_from(this.outerjoin(its_shard, its_shard.c.id == this.c.shard_id))
        .where(this.c.id == storable_text(load_balancer_id))
    )
    return int(connection.scalar(before) or 0)


def filter_known_load_balancers(connection: Connection, ids: Sequence[LoadBalancerId]) -> frozenset[LoadBalancerId]:
    """Return those of the ids that the database contains. One query for every thousand ids."""
    found: set[LoadBalancerId] = set()
    for batch in split_into_batches([storable_text(id_) for id_ in ids]):
        found.update(connection.scalars(select(_load_balancer.c.id).where(is_in_list(_load_balancer.c.id, batch))))
    return frozenset(found)


def read_group_numbers(connection: Connection, environment: str) -> tuple[int, ...]:
    """Return the numbers of an environment's device groups, ascending; empty if the environment is unknown.
    One query.
    """
    of_environment = select(_device_group.c.number).where(_device_group.c.environment == storable_text(environment))
    return tuple(connection.scalars(of_environment.order_by(_device_group.c.number)))


def read_shard(connection: Connection, shard_id: ShardId) -> Shard:
    """Return the shard. Raises :class:`NotFound`. One query."""
    row = connection.execute(select(*SHARD_COLUMNS).where(_shard.c.id == storable_text(shard_id))).first()
    if row is None:
        raise NotFound("Shard", shard_id)
    return shard_from_row(row)


def read_shards(
    connection: Connection, environment: str | None = None, agent_id: AgentId | None = None
) -> tuple[Shard, ...]:
    """Return shards, of one environment or (None) all, sorted by environment, group and project.
    ``agent_id``: only shards for which the agent acts, or whose home it is. One query.
    """
    statement = select(*SHARD_COLUMNS).order_by(_shard.c.environment, _shard.c.group_number, _shard.c.project_id)
    if environment is not None:
        statement = statement.where(_shard.c.environment == environment)
    if agent_id is not None:
        statement = statement.where(or_(_shard.c.acting_agent_id == agent_id, _shard.c.home_agent_id == agent_id))
    return tuple(shard_from_row(row) for row in connection.execute(statement))


def read_shard_counts(connection: Connection) -> tuple[ShardCount, ...]:
    """Return the numbers of all shards and of unserved ones for each environment with shards, sorted by
    environment. One query.
    """
    place = (_shard.c.environment, _shard.c.acting_agent_id)
    by_agent = select(*place, func.count().label("count")).group_by(*place).subquery("by_agent")
    rows = connection.execute(
        select(
            by_agent.c.environment,
            func.sum(by_agent.c.count),
            func.sum(case((is_live(), 0), else_=by_agent.c.count)),
        )
        .select_from(by_agent.outerjoin(_agent, _agent.c.id == by_agent.c.acting_agent_id))
        .group_by(by_agent.c.environment)
        .order_by(by_agent.c.environment)
    )
    return tuple(ShardCount(environment=row[0], total=int(row[1]), unserved=int(row[2])) for row in rows)


def find_ids_by_prefix(connection: Connection, prefix: str, limit: int) -> Mapping[str, tuple[str, ...]]:
    """Return {kind: sorted ids that begin with ``prefix``, at most ``limit``} for the kinds
    ``loadbalancers``, ``agents`` and ``shards``. One query for each kind.
    """
    found = {}
    for kind, table in (("loadbalancers", _load_balancer), ("agents", _agent), ("shards", _shard)):
        # Escaped, because % and _ in a prefix would match other ids.
        like = table.c.id.startswith(prefix, autoescape=True)
        found[kind] = tuple(connection.scalars(select(table.c.id).where(like).order_by(table.c.id).limit(limit)))
    return found


def read_events(
    connection: Connection,
    after: int = 0,
    limit: int = 100,
    newest: bool = False,
    object_id: str | None = None,
    by: str | None = None,
) -> tuple[Event, ...]:
    """Return at most ``limit`` events with an id above ``after``, oldest first: the first of them, or with
    ``newest`` the last. One query. ``object_id``: only events of this agent, shard or load balancer;
    ``by``: only acts of the user of this name or id.
    """
    order = _event.c.id.desc() if newest else _event.c.id
    statement = select(*EVENT_COLUMNS).where(_event.c.id > after).order_by(order).limit(max(0, limit))
    its_user = (
        None if by is None else or_(_event.c.user_name == storable_text(by), _event.c.user_id == storable_text(by))
    )
    if object_id is not None:
        others = () if its_user is None else (its_user,)
        about = _event_ids_query(_OBJECT_ID_COLUMNS, object_id, others, after, max(0, limit), newest=newest)
        statement = statement.join(about, about.c.id == _event.c.id)
    elif by is not None:
        about = _event_ids_query(_USER_COLUMNS, by, (), after, max(0, limit), newest=newest)
        statement = statement.join(about, about.c.id == _event.c.id)
    rows = connection.execute(statement).fetchall()
    return tuple(event_from_row(row) for row in (reversed(rows) if newest else rows))


_OBJECT_ID_COLUMNS = (_event.c.agent_id, _event.c.shard_id, _event.c.load_balancer_id)
_USER_COLUMNS = (_event.c.user_name, _event.c.user_id)


def _event_ids_query(
    columns: Sequence[ColumnElement[str]],
    value: str,
    others: Sequence[ColumnElement[bool]],
    after: int,
    limit: int,
    *,
    newest: bool,
) -> Subquery:
    """Return a query for the ids of the first, or the ``newest``, ``limit`` events that have ``value`` in one of the
    columns and meet the conditions ``others``.

    Each column is read by its own index: with an OR between the columns all events would be read.
    """
    order = _event.c.id.desc() if newest else _event.c.id
    parts = [
        select(_event.c.id)
        .where(column == storable_text(value), _event.c.id > after, *others)
        .order_by(order)
        .limit(limit)
        .subquery()
        for column in columns
    ]
    return union(*(select(part.c.id) for part in parts)).subquery("about")


def _check_agent_exists(connection: Connection, agent_id: AgentId) -> None:
    if connection.scalar(select(_agent.c.id).where(_agent.c.id == agent_id)) is None:
        raise NotFound("Agent", agent_id)
