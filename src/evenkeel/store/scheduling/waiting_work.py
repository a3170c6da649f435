"""Owners of changes that are unconfirmed for a while: perhaps the hints about these changes were lost."""

from sqlalchemy import Connection, Double, Integer, bindparam, select

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.ownership.sql import owner_from_row
from evenkeel.store.records import schema
from evenkeel.store.reports.applied import PENDING_STATUSES

_load_balancer, _agent, _shard = schema.load_balancer, schema.agent, schema.shard
_common_network = schema.common_network
_OWNER_COLUMNS = _shard.c.id, _shard.c.environment, _shard.c.group_number, _agent.c.id.label("agent_id"), _agent.c.host


def read_owners_with_waiting_work(
    connection: Connection, waited_seconds: float, deadline_seconds: float, limit: int
) -> tuple[ShardOwner, ...]:
    """Return the owners of load balancers that are PENDING for ``waited_seconds`` (or half of
    ``deadline_seconds``, if that is less), and of common shards (for networks that projects share) with
    unconfirmed changes.

    With each of them comes the owner of its device group's common shard; every agent is returned once.
    ``deadline_seconds``: time after which a PENDING change fails. ``limit``: maximum of load balancers, and
    of common shards with unconfirmed changes, also of networks without load balancers. Two queries, three if
    any work waits.
    """
    # a short deadline leaves no time to wait so long
    left_seconds = max(deadline_seconds - waited_seconds, deadline_seconds / 2)
    rows = list(connection.execute(_READ_WAITING_OWNERS, {"b_left": left_seconds, "b_limit": limit}))
    rows += connection.execute(_READ_OWNERS_OF_DUE_NETWORKS, {"b_limit": limit})
    groups = {(row.environment, row.group_number) for row in rows}
    if groups:  # what they wait for may be a network that the common shard serves
        environments = sorted({environment for environment, _ in groups})
        observers = connection.execute(_READ_COMMON_SHARD_OWNERS.where(is_in_list(_shard.c.environment, environments)))
        rows += [row for row in observers if (row.environment, row.group_number) in groups]
    # One hint for each agent: it makes the agent request everything that waits.
    return tuple({row.agent_id: owner_from_row(row, row.host) for row in rows}.values())


_longest_pending_query = (
    select(_load_balancer.c.shard_id)
    .where(
        _load_balancer.c.pending_deadline < db_now() + bindparam("b_left", type_=Double()),
        _load_balancer.c.provisioning_status.in_(PENDING_STATUSES),
        _load_balancer.c.shard_id.is_not(None),
    )
    .order_by(_load_balancer.c.pending_deadline)
    .limit(bindparam("b_limit", type_=Integer()))
    .subquery("longest")
)
_served_shards_query = select(_longest_pending_query.c.shard_id).distinct().subquery("served")
_READ_WAITING_OWNERS = (
    select(*_OWNER_COLUMNS)
    .select_from(_served_shards_query)
    .join(_shard, _shard.c.id == _served_shards_query.c.shard_id)
    .join(_agent, _agent.c.id == _shard.c.acting_agent_id)
    .order_by(_shard.c.id)
)
_READ_OWNERS_OF_DUE_NETWORKS = (
    select(*_OWNER_COLUMNS)
    .join(_agent, _agent.c.id == _shard.c.acting_agent_id)
    .where(
        _shard.c.id.in_(
            select(_common_network.c.shard_id).where(_common_network.c.revision != _common_network.c.applied_revision)
        ),
    )
    .order_by(_shard.c.id)
    .limit(bindparam("b_limit", type_=Integer()))
)
_READ_COMMON_SHARD_OWNERS = (
    select(*_OWNER_COLUMNS)
    .join(_agent, _agent.c.id == _shard.c.acting_agent_id)
    .where(_shard.c.project_id == COMMON_PROJECT)
    .order_by(_shard.c.id)
)
