"""Claims on VIPs: ports at a network service, so that they are deleted whichever process fails in between.

A claim is stored before the port is created. The transaction that stores the load balancer makes it hold the claim, and
a foreign key releases it when that row is removed: no code path can forget it. Due claims that no load balancer holds
are found by an index.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from evenkeel.core.backoff import Backoff
from evenkeel.core.errors import Conflict, NetworkUnavailable
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.network import DueClaim, VipClaim
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import in_list
from evenkeel.store.records import schema

FAR_SECONDS = 3600.0
"""More than any grace period or back-off delay."""
AT_ONCE = 0.0

_claim = schema.vip_claim
_UNHELD = _claim.c.held_by.is_(None)


def _is_due() -> tuple[ColumnElement[bool], ...]:
    due_at = _claim.c.due_at
    # a time in the far future was set before the database's clock was set back
    return (_UNHELD, or_(due_at <= db_now(), due_at > db_now() + FAR_SECONDS))


class SqlClaims:
    """Implements :class:`evenkeel.core.ports.ClaimStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim_vip(self, claim: VipClaim, *, grace_seconds: float) -> None:
        try:
            await self._db.write(lambda connection: _write_down(connection, claim, grace_seconds))
        except IntegrityError as error:
            raise Conflict(f"The VIP of load balancer {claim.load_balancer_id} is being allocated already.") from error

    async def abandon_vip(self, claim: VipClaim) -> None:
        with suppress(IntegrityError):  # another process stored it again
            await self._db.write(lambda connection: _abandon(connection, claim))

    async def forget_vip(self, load_balancer_id: LoadBalancerId) -> None:
        statement = delete(_claim).where(_claim.c.load_balancer_id == load_balancer_id, _UNHELD)
        await self._db.write(lambda connection: connection.execute(statement))

    async def take_due_claims(self, *, limit: int, backoff: Backoff) -> tuple[DueClaim, ...]:
        due = await self._db.query(lambda connection: connection.execute(_due(limit)).fetchall())
        if not due:
            return ()
        return await self._db.write(lambda connection: _take(connection, due, backoff))


def _write_down(connection: Connection, claim: VipClaim, grace_seconds: float) -> None:
    statement = insert(_claim).values(
        load_balancer_id=claim.load_balancer_id,
        device_owner=claim.device_owner,
        device_id=claim.device_id,
        made_at=db_now(),
        due_at=db_now() + grace_seconds,
        attempts=0,
    )
    connection.execute(statement)


def _abandon(connection: Connection, claim: VipClaim) -> None:
    is_it = _claim.c.load_balancer_id == claim.load_balancer_id
    if connection.execute(update(_claim).where(is_it, _UNHELD).values(due_at=AT_ONCE)).rowcount:
        return
    if connection.scalar(select(_claim.c.load_balancer_id).where(is_it)) is None:
        _write_down(connection, claim, 0.0)


def _due(limit: int) -> Any:
    age = (db_now() - _claim.c.made_at).label("age_seconds")
    return select(_claim, age).where(*_is_due()).order_by(_claim.c.due_at).limit(limit)


def _take(connection: Connection, due: Any, backoff: Backoff) -> tuple[DueClaim, ...]:
    """Those that no other process took since they were read."""
    taken = []
    for row in due:
        attempts = row.attempts + 1
        pause_seconds = backoff.nominal_seconds(row.attempts + 1)
        unchanged = (*_is_due(), _claim.c.attempts == row.attempts)
        statement = update(_claim).where(_claim.c.load_balancer_id == row.load_balancer_id, *unchanged)
        values = {"attempts": attempts, "due_at": db_now() + pause_seconds}
        if connection.execute(statement.values(values)).rowcount:
            claim = VipClaim(
                load_balancer_id=row.load_balancer_id,
                device_owner=row.device_owner,
                device_id=row.device_id,
                port_id=row.port_id,
            )
            taken.append(DueClaim(claim=claim, age_seconds=row.age_seconds, attempts=attempts))
    return tuple(taken)


def let_go(connection: Connection, load_balancer_ids: Iterable[LoadBalancerId]) -> None:
    """Release the claims of load balancers that lost their VIPs: they are due."""
    connection.execute(update(_claim).where(in_list(_claim.c.held_by, load_balancer_ids)).values(held_by=None))


def hold(connection: Connection, claim: VipClaim, port_id: str, *, by: str | None = None) -> None:
    """Make the load balancer, or ``by``, hold the claim; part of the transaction that stores the load balancer or its
    VIP. Raises :class:`NetworkUnavailable` if deleting the port has begun: then this request took too long.
    """
    statement = (
        update(_claim)
        .where(_claim.c.load_balancer_id == claim.load_balancer_id, _UNHELD, _claim.c.attempts == 0)
        # due as soon as it is released, also within the grace period
        .values(held_by=by or claim.load_balancer_id, port_id=port_id, due_at=AT_ONCE)
    )
    if not connection.execute(statement).rowcount:
        raise NetworkUnavailable("the VIP's port is being deleted, because storing the load balancer took too long")
