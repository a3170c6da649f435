"""Claims on ports at a network service, so that they are deleted whichever process fails in between.

A claim is stored before its port is created. The transaction that stores the port's user (a load balancer, an
LBaaS v1 vip or an address of devices) records this user as the claim's holder, and a foreign key clears the
holder when the user's row is removed, so no code path can forget the claim. The ports of due claims without a
holder are deleted; an index finds these claims.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, not_, or_, select, update
from sqlalchemy.exc import IntegrityError

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import PORT_BEING_CREATED, DueClaim, PortClaim
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now, is_past
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import is_removal_halted
from evenkeel.store.writing.due_rows import primary_key_column, take_due_rows

NO_GRACE_SECONDS = 0.0
KEPT_SECONDS_MAX = 7 * 86400.0
"""Time after which a port that is kept for another system's load balancer is deleted if the other system never confirms
it.
"""

_vip_claim = schema.vip_claim


def _is_claim_unused(table: Table) -> ColumnElement[bool]:
    return table.c.held_by.is_(None)


def _due_conditions(table: Table) -> tuple[ColumnElement[bool], ...]:
    # a database that may be the wrong one deletes no ports
    return (
        _is_claim_unused(table),
        is_past(table.c.due_at),
        _is_claim_not_kept_for_other_system(table),
        not_(is_removal_halted()),
    )


def _is_claim_not_kept_for_other_system(table: Table) -> ColumnElement[bool]:
    # kept ones alone are due in more than an hour, which counts as past elsewhere
    return or_(table.c.port_id.is_(None), is_past(table.c.due_at, far_seconds=KEPT_SECONDS_MAX))


class SqlClaims:
    """Implements :class:`evenkeel.core.ports.ClaimStore` on a table of claims."""

    def __init__(self, database: Database, table: Table = _vip_claim) -> None:
        self._db = database
        self._table = table

    async def store_claim(self, claim: PortClaim, *, grace_seconds: float) -> None:
        try:
            await self._db.write(lambda connection: _insert_claim(connection, self._table, claim, grace_seconds))
        except IntegrityError as error:
            raise Conflict(
                f"The port of {claim.claim_id} is being allocated already.", code=PORT_BEING_CREATED
            ) from error

    async def abandon_claim(self, claim: PortClaim) -> None:
        with suppress(IntegrityError):  # another process stored it again
            await self._db.write(lambda connection: _abandon_claim(connection, self._table, claim))

    async def delete_claim(self, claim_id: str) -> None:
        statement = delete(self._table).where(
            primary_key_column(self._table) == claim_id, _is_claim_unused(self._table)
        )
        await self._db.write(lambda connection: connection.execute(statement))

    async def take_due_claims(self, *, limit: int, backoff: Backoff) -> tuple[DueClaim, ...]:
        due = await self._db.query(
            lambda connection: connection.execute(_due_claims_query(self._table, limit)).fetchall()
        )
        if not due:
            return ()
        still = _is_claim_unused(self._table), _is_claim_not_kept_for_other_system(self._table)
        taken = await self._db.write(lambda connection: take_due_rows(connection, self._table, due, backoff, *still))
        return tuple(_due_claim_from_row(row, self._table) for row in taken)


def _insert_claim(connection: Connection, table: Table, claim: PortClaim, grace_seconds: float) -> None:
    statement = insert(table).values(
        {
            primary_key_column(table).name: claim.claim_id,
            "device_owner": claim.device_owner,
            "device_id": claim.device_id,
            "made_at": db_now(),
            "due_at": db_now() + grace_seconds,
            "attempts": 0,
        }
    )
    connection.execute(statement)


def _abandon_claim(connection: Connection, table: Table, claim: PortClaim) -> None:
    is_it = primary_key_column(table) == claim.claim_id
    if connection.execute(update(table).where(is_it, _is_claim_unused(table)).values(due_at=NO_GRACE_SECONDS)).rowcount:
        return
    # The claim was deleted meanwhile, though its port may still be created by a late request.
    if connection.scalar(select(primary_key_column(table)).where(is_it)) is None:
        _insert_claim(connection, table, claim, 0.0)


def _due_claims_query(table: Table, limit: int) -> Any:
    age = (db_now() - table.c.made_at).label("age_seconds")
    return select(table, age).where(*_due_conditions(table)).order_by(table.c.due_at).limit(limit)


def claim_from_row(row: Any, table: Table) -> PortClaim:
    """Return the claim in a row with the columns of ``table``, a table of claims."""
    return PortClaim(
        claim_id=row._mapping[primary_key_column(table)],
        device_owner=row.device_owner,
        device_id=row.device_id,
        port_id=row.port_id,
    )


def _due_claim_from_row(row: Any, table: Table) -> DueClaim:
    return DueClaim(claim=claim_from_row(row, table), age_seconds=row.age_seconds, attempts=row.attempts + 1)


def release_claims_of_vips(connection: Connection, load_balancer_ids: Collection[LoadBalancerId]) -> None:
    """Release the claims on ports of load balancers that lost their VIPs, so that the ports are deleted, and
    delete pending changes of these ports. Two statements.
    """
    held_by = _vip_claim.c.held_by
    connection.execute(update(_vip_claim).where(is_in_list(held_by, load_balancer_ids)).values(held_by=None))
    changes = schema.vip_port_change
    connection.execute(delete(changes).where(is_in_list(changes.c.load_balancer_id, load_balancer_ids)))


def store_tenant_port_claim(connection: Connection, claim: PortClaim) -> None:
    """Store a claim on a port that the tenant created, and let the load balancer hold it, so that the port is unbound
    later, not deleted. Part of the transaction that stores the load balancer.
    """
    # No grace is needed: the same transaction makes the load balancer hold the claim.
    _insert_claim(connection, _vip_claim, claim, NO_GRACE_SECONDS)
    mine = _vip_claim.c.load_balancer_id == claim.claim_id
    connection.execute(update(_vip_claim).where(mine).values(held_by=claim.claim_id, port_id=claim.port_id))


def store_adopted_port_claim(connection: Connection, claim: PortClaim, *, table: Table) -> None:
    """Store a new claim on a port that another program created, and let its user hold it; part of the transaction that
    stores the user.
    """
    _insert_claim(connection, table, claim, NO_GRACE_SECONDS)
    mine = primary_key_column(table) == claim.claim_id
    connection.execute(update(table).where(mine).values(held_by=claim.claim_id, port_id=claim.port_id))


def set_claim_holder(
    connection: Connection, claim: PortClaim, port_id: str, *, by: str | None = None, table: Table = _vip_claim
) -> None:
    """Record ``by`` (None: the claim's own id) as the holder of the claim, and store the port's id. Part of
    the transaction that stores the port's user. Raises :class:`NetworkUnavailable` if the claim is held
    already or gone, or deleting the port has begun because storing the user took too long.
    """
    statement = (
        update(table)
        # An attempt means that some controller may be deleting the port right now.
        .where(primary_key_column(table) == claim.claim_id, _is_claim_unused(table), table.c.attempts == 0)
        # due as soon as it is released, also within the grace period
        .values(held_by=by or claim.claim_id, port_id=port_id, due_at=NO_GRACE_SECONDS)
    )
    if not connection.execute(statement).rowcount:
        raise NetworkUnavailable("the port is being deleted, because storing what it is for took too long")
