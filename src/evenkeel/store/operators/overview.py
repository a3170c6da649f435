"""Reads for operators: controllers, ownership of devices, and revisions of load balancers."""

from collections.abc import Mapping

from sqlalchemy import Connection, and_, func, or_, select

from evenkeel.core.control.overview import AgentShards, ControllerHeartbeat, OwnershipOverview, Revision
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.operators.agents import read_agents
from evenkeel.store.records import schema
from evenkeel.store.records.rows import LOAD_BALANCER, SHARD_COLUMNS, shard_from_row

SHARDS_SHOWN = 40
"""Maximum number of tenants' shards of a device group that are shown one by one; above it only each agent's number and
the group's common shard are shown."""

_controller, _shard = schema.controller, schema.shard
_load_balancer, _load_balancer_revision = schema.load_balancer, schema.load_balancer_revision


def read_controllers(connection: Connection) -> tuple[ControllerHeartbeat, ...]:
    """Return all controllers with a stored heartbeat, sorted by host and start; heartbeats older than
    :data:`CONTROLLER_KEPT_SECONDS` are deleted by the next heartbeat of any controller. One query.
    """
    rows = connection.execute(
        select(_controller, (db_now() - _controller.c.seen_at).label("silent_seconds")).order_by(
            _controller.c.host, _controller.c.started_at, _controller.c.id
        )
    )
    return tuple(ControllerHeartbeat(**row._mapping) for row in rows)


def read_ownership(
    connection: Connection, home_counts: Mapping[str, int], environment: str | None
) -> OwnershipOverview:
    """Return agents, the number of tenants' shards for which each acts, and as single shards all common
    shards and tenants' shards of groups with at most :data:`SHARDS_SHOWN` of them; of one environment, or
    (None) all. Four queries.

    ``home_counts``: {agent id: number of load balancers whose home it is}.
    """
    asked = [] if environment is None else [_shard.c.environment == environment]
    of_tenants = [_shard.c.project_id != COMMON_PROJECT, *asked]
    place = (_shard.c.environment, _shard.c.group_number)
    lines = connection.execute(
        select(*place, _shard.c.acting_agent_id, func.count().label("count"), func.max(_shard.c.epoch).label("epoch"))
        .where(*of_tenants)
        .group_by(*place, _shard.c.acting_agent_id)
        .order_by(*place, _shard.c.acting_agent_id)
    ).all()
    small = select(*place).where(*of_tenants).group_by(*place).having(func.count() <= SHARDS_SHOWN).subquery()
    shards = connection.execute(
        select(*SHARD_COLUMNS)
        .outerjoin(
            small, and_(small.c.environment == _shard.c.environment, small.c.group_number == _shard.c.group_number)
        )
        .where(or_(small.c.environment.is_not(None), _shard.c.project_id == COMMON_PROJECT), *asked)
        .order_by(*place, _shard.c.project_id)
    )
    return OwnershipOverview(
        agents=read_agents(connection, home_counts, environment),
        lines=tuple(
            AgentShards(
                environment=row.environment,
                group_number=row.group_number,
                agent_id=row.acting_agent_id,
                count=row[3],
                newest_epoch=row.epoch,
            )
            for row in lines
        ),
        shards=tuple(shard_from_row(row) for row in shards),
    )


def read_revisions(connection: Connection, load_balancer_id: LoadBalancerId) -> tuple[Revision, ...]:
    """Return the stored revisions of a load balancer, newest first; empty if none is stored. Raises
    :class:`NotFound` if there is no such load balancer. One query.
    """
    rows = connection.execute(
        select(_load_balancer.c.id, _load_balancer_revision)
        # An outer join distinguishes a load balancer without stored revisions from one that does not exist.
        .select_from(
            _load_balancer.outerjoin(
                _load_balancer_revision, _load_balancer_revision.c.load_balancer_id == _load_balancer.c.id
            )
        )
        .where(_load_balancer.c.id == storable_text(load_balancer_id))
        .order_by(_load_balancer_revision.c.revision.desc())
    ).all()
    if not rows:
        raise NotFound(LOAD_BALANCER.title, load_balancer_id)
    return tuple(
        Revision(
            number=row.revision,
            accepted_at=row.accepted_at,
            user=row.user_name,
            project_id=row.project_id,
            request_id=row.request_id,
            applied_at=row.applied_at,
            agent_id=row.agent_id,
            host=row.host,
            epoch=row.epoch,
            problem=row.problem,
        )
        for row in rows
        if row.revision is not None
    )
