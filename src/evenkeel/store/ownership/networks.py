"""Networks that projects share and whose changes devices have not confirmed, which the common shard of a
device group has to serve.
"""

from collections.abc import Collection

from sqlalchemy import Connection, func, select

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.ownership.sql import owner_from_row
from evenkeel.store.records import schema

_shard, _agent, _common_network = schema.shard, schema.agent, schema.common_network
_is_network_due = _common_network.c.applied_revision < _common_network.c.revision

DUE_NETWORKS_MAX = 1_000


def read_due_networks(connection: Connection, shard_id: ShardId, limit: int) -> list[LoadBalancerId]:
    """Return at most ``limit`` ids of the common shard's networks with unconfirmed changes, in random order.
    One query.
    """
    statement = select(_common_network.c.network_id).where(_common_network.c.shard_id == shard_id, _is_network_due)
    # Random, because networks that fail permanently would otherwise fill the limit and hide all others.
    return [LoadBalancerId(id_) for id_ in connection.scalars(statement.order_by(func.random()).limit(limit))]


def read_changed_networks(
    connection: Connection, shard_id: ShardId, network_ids: Collection[str] | None = None
) -> tuple[Change, ...]:
    """Return at most :data:`DUE_NETWORKS_MAX` unconfirmed changes of shared networks in the shard's device group, for
    hints to the owner of its common shard; empty without an owner. ``network_ids`` None: of all networks.
    One query.
    """
    user = _shard.alias()
    beside = (user.c.environment == _shard.c.environment) & (user.c.group_number == _shard.c.group_number)
    columns = _shard.c.id, _shard.c.environment, _shard.c.group_number, _agent.c.host
    statement = (
        select(*columns, _common_network.c.network_id, _common_network.c.revision)
        .join(_common_network, _common_network.c.shard_id == _shard.c.id)
        .join(user, beside)
        .join(_agent, _agent.c.id == _shard.c.acting_agent_id)
        .where(user.c.id == shard_id, _is_network_due)
        .limit(DUE_NETWORKS_MAX)
    )
    if network_ids is not None:
        statement = statement.where(is_in_list(_common_network.c.network_id, network_ids))
    return tuple(
        Change(
            load_balancer_id=LoadBalancerId(row.network_id),
            revision=row.revision,
            environment=row.environment,
            owner=owner_from_row(row, row.host),
            placed=True,
        )
        for row in connection.execute(statement)
    )
