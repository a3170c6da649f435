"""SQL conditions on load balancers that are being moved to another device group, so that devices of two shards hold
them. See :mod:`evenkeel.store.moves`.
"""

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, or_, select, union_all

from evenkeel.core.control.moves import MoveStep
from evenkeel.store.records import schema

_load_balancer = schema.load_balancer
_load_balancer_move = schema.load_balancer_move


def is_move_open() -> ColumnElement[bool]:
    """Return the SQL condition that the move of a load balancer is not done."""
    return _load_balancer_move.c.step != MoveStep.DONE.value


def is_held_by_shard(shard_id: Any) -> ColumnElement[bool]:
    """Return the SQL condition that devices of the shard hold the load balancer: the shard owns it, or has a copy
    because it moves.
    """
    own = select(_load_balancer.c.id).where(_load_balancer.c.shard_id == shard_id)
    copies = select(_load_balancer_move.c.load_balancer_id).where(_load_balancer_move.c.standby_shard_id == shard_id)
    return _load_balancer.c.id.in_(union_all(own, copies))


def is_held_by_any_shard(shards: Select[tuple[str]]) -> ColumnElement[bool]:
    """Return the SQL condition that devices of any shard of the query ``shards`` hold the load balancer: see
    :func:`is_held_by_shard`.
    """
    own = select(_load_balancer.c.id).where(_load_balancer.c.shard_id.in_(shards))
    copies = select(_load_balancer_move.c.load_balancer_id).where(_load_balancer_move.c.standby_shard_id.in_(shards))
    return _load_balancer.c.id.in_(union_all(own, copies))


def is_silent_on_shard(shard_id: Any) -> ColumnElement[bool]:
    """Return the SQL condition on moves that the shard's devices may hold the load balancer and must not answer for its
    VIP.
    """
    stopping = and_(
        _load_balancer_move.c.source_shard_id == shard_id, _load_balancer_move.c.step == MoveStep.STOPPING.value
    )
    return or_(_load_balancer_move.c.standby_shard_id == shard_id, stopping)


def has_silent_load_balancers(shard_id: Any) -> ColumnElement[bool]:
    """Return the SQL condition that the shard's devices may hold a moving load balancer for whose VIP they must not
    answer.
    """
    return exists().where(is_move_open(), is_silent_on_shard(shard_id))


def has_moving_load_balancers(shard_id: Any) -> ColumnElement[bool]:
    """Return the SQL condition that a load balancer is being moved from or to the shard."""
    return exists().where(
        is_move_open(),
        or_(_load_balancer_move.c.source_shard_id == shard_id, _load_balancer_move.c.target_shard_id == shard_id),
    )
