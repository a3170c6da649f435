"""Positions of L7 policies: 1, 2, 3 … among the live policies of a listener.

Like in Octavia, an inserted policy moves the later ones up, and a removed one leaves no gap. Runs under the load
balancer's lock, which serializes controllers, with a constant number of statements.
"""

from sqlalchemy import Connection, bindparam, false, func, select, update

from evenkeel.store.records import schema

_l7policy = schema.l7policy
_IS_LIVE_POLICY_OF_LISTENER = (_l7policy.c.listener_id == bindparam("its_listener_id"), _l7policy.c.deleted == false())
_COUNT_POLICIES = select(func.count()).select_from(_l7policy).where(*_IS_LIVE_POLICY_OF_LISTENER)
_SHIFT_POSITIONS = (
    update(_l7policy)
    .where(*_IS_LIVE_POLICY_OF_LISTENER, _l7policy.c.position.between(bindparam("first"), bindparam("last")))
    .values(position=_l7policy.c.position + bindparam("by"))
)


def make_room_at_position(connection: Connection, listener_id: str, wanted: int) -> int:
    """Move L7 policies up to make room for a new one; return its position: ``wanted``, or the end of the list if that
    is less.
    """
    count = _count_policies(connection, listener_id)
    if wanted <= count:
        _shift_positions(connection, listener_id, wanted, count, by=1)
    return min(wanted, count + 1)


def move_policy(connection: Connection, listener_id: str, place: int, wanted: int) -> int:
    """Move the L7 policy at ``place`` to ``wanted``; return its new position. Policies between the two move by one."""
    new = min(wanted, _count_policies(connection, listener_id))
    if new < place:
        _shift_positions(connection, listener_id, new, place - 1, by=1)
    elif new > place:
        _shift_positions(connection, listener_id, place + 1, new, by=-1)
    return new


def close_position_gap(connection: Connection, listener_id: str, place: int) -> None:
    """Move L7 policies down to close the gap of the removed policy at ``place``."""
    # The removed policy is not counted any more, so the last position is one above the count.
    _shift_positions(connection, listener_id, place + 1, _count_policies(connection, listener_id) + 1, by=-1)


def _count_policies(connection: Connection, listener_id: str) -> int:
    return int(connection.scalar(_COUNT_POLICIES, {"its_listener_id": listener_id}) or 0)


def _shift_positions(connection: Connection, listener_id: str, first: int, last: int, *, by: int) -> None:
    if first <= last:
        connection.execute(_SHIFT_POSITIONS, {"its_listener_id": listener_id, "first": first, "last": last, "by": by})
