"""Claims on VIPs: what was taken of a network service, so that it is given back whoever dies in between.

A claim is written before anything is taken, held by the load balancer from the transaction that stores it on, and let
go by the database itself when that row is removed (a foreign key): no path of removal can forget it. What nobody holds
and is due is looked up by an index, so a look costs by what is to be done.
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
"""More than any grace or pause."""
AT_ONCE = 0.0

_claim = schema.vip_claim
_UNHELD = _claim.c.held_by.is_(None)


def _is_due() -> tuple[ColumnElement[bool], ...]:
    due_at = _claim.c.due_at
    # one from the far future is from before the database's clock was set back
    return (_UNHELD, or_(due_at <= db_now(), due_at > db_now() + FAR_SECONDS))


class SqlClaims:
    """Implements :class:`evenkeel.core.ports.ClaimStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim_vip(self, claim: VipClaim, *, grace_seconds: float) -> None:
        try:
            await self._db.write(lambda connection: _write_down(connection, claim, grace_seconds))
        except IntegrityError as error:
            raise Conflict(f"The VIP of load balancer {claim.load_balancer_id} is being taken already.") from error

    async def abandon_vip(self, claim: VipClaim) -> None:
        with suppress(IntegrityError):  # somebody else wrote it down again
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
    """Those that nobody else took since they were read."""
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
    """These load balancers go on without their VIPs: what they hold is due."""
    connection.execute(update(_claim).where(in_list(_claim.c.held_by, load_balancer_ids)).values(held_by=None))


def hold(connection: Connection, claim: VipClaim, port_id: str, *, by: str | None = None) -> None:
    """Part of the transaction that stores the load balancer, or gives the VIP to the load balancer ``by``. Raises
    :class:`NetworkUnavailable` if giving the VIP back has begun: this create was given up."""
    statement = (
        update(_claim)
        .where(_claim.c.load_balancer_id == claim.load_balancer_id, _UNHELD, _claim.c.attempts == 0)
        # due as soon as it is let go, also within the grace of the claim
        .values(held_by=by or claim.load_balancer_id, port_id=port_id, due_at=AT_ONCE)
    )
    if not connection.execute(statement).rowcount:
        raise NetworkUnavailable("the VIP's port is being given back, because storing the load balancer took too long")
