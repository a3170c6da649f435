"""Reads the shard of a tenant that a new load balancer may join at once, and the shard's owner."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Select, String, and_, bindparam, case, false, or_, select

from evenkeel.core.control.shards import OwnershipTerm, ShardWithCapacity
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.placement import FULL_SCORE
from evenkeel.store.networks.shard_locations import decode_layout
from evenkeel.store.ownership.capacity import UNLIMITED_CAPACITY
from evenkeel.store.ownership.histories import history_id_expression
from evenkeel.store.ownership.sql import owner_from_row
from evenkeel.store.records import schema

PROJECT_ID: ColumnElement[str] = bindparam("project_id", type_=String())


def shards_with_capacity_query(*more: ColumnElement[Any]) -> Select[Any]:
    """Return the query for :func:`shard_with_capacity_from_row`, with the columns ``more``: one row, even without such
    a shard; no row without the environment.

    Parameters: ``provider``, ``project_id``, ``zone_group_number``. The shard is in a group that
    :func:`evenkeel.core.placement.choose_group` may choose: of the groups that keep the tenant, the one with the lowest
    score.
    """
    environment, shard, group, agent = schema.environment, schema.shard, schema.device_group, schema.agent
    keeps_tenant = and_(
        group.c.environment == shard.c.environment,
        group.c.number == shard.c.group_number,
        group.c.capacity_score < FULL_SCORE,
    )
    zone = bindparam("zone_group_number", type_=Integer())
    tenants = and_(
        shard.c.environment == environment.c.name,
        shard.c.project_id == PROJECT_ID,
        shard.c.moved_away == false(),
        or_(zone.is_(None), shard.c.group_number == zone),
    )
    has_room = group.c.number.is_not(None)
    # the scheduler places into groups with a policy, because it reserves capacity
    shard_id = case((group.c.capacity == UNLIMITED_CAPACITY, shard.c.id)).label("id")
    # joined one by one: with a nested join SQLite would scan all shards
    sources = environment.outerjoin(shard, tenants).outerjoin(group, keeps_tenant)
    owner = (shard.c.group_number, shard.c.epoch, group.c.network_layout, agent.c.host, agent.c.session_id)
    return (
        select(
            shard_id, environment.c.name.label("environment"), *owner, history_id_expression().label("history"), *more
        )
        .select_from(sources.outerjoin(agent, agent.c.id == shard.c.acting_agent_id))
        .where(environment.c.name == bindparam("provider"))
        .order_by(case((has_room, 0), else_=1), group.c.capacity_score, shard.c.id)
        .limit(1)
    )


def shard_with_capacity_from_row(row: Any) -> ShardWithCapacity | None:
    """Convert a row of :func:`shards_with_capacity_query`; None if the row contains no shard, or its group
    has a capacity policy (then the scheduler places).

    The result has no owner and no term if no agent acts for the shard, and no term if the devices need
    networks.
    """
    if row.id is None:
        return None
    # No agent acts for the shard now; the load balancer joins it all the same, and waits there.
    if row.host is None:
        return ShardWithCapacity(shard_id=row.id)
    return ShardWithCapacity(shard_id=row.id, owner=owner_from_row(row, row.host), term=_ownership_term(row))


def _ownership_term(row: Any) -> OwnershipTerm | None:
    # A definition on adjacent devices needs networks, which only a fetch adds.
    if not row.session_id or not row.history or decode_layout(row.network_layout).adjacent:
        return None
    return OwnershipTerm(session_id=row.session_id, epoch=row.epoch, history=row.history)


_READ_SHARDS_WITH_CAPACITY = shards_with_capacity_query()


def read_shard_with_capacity(
    connection: Connection, environment: str, project_id: ProjectId, zone_group_number: int | None
) -> ShardWithCapacity | None:
    """Read the tenant's shard that a new load balancer may join at once. One query.

    None if there is none with capacity, if its group has a capacity policy, or if the environment does not
    exist. ``zone_group_number`` None: any device group.
    """
    bound = {"provider": environment, "project_id": project_id, "zone_group_number": zone_group_number}
    row = connection.execute(_READ_SHARDS_WITH_CAPACITY, bound).first()
    return None if row is None else shard_with_capacity_from_row(row)
