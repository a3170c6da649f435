"""Taking the VIP addresses of a plan, again while others are faster."""

from collections.abc import Callable
from random import Random

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from evenkeel.core.control import Change, VipPlan
from evenkeel.core.errors import Conflict, RequestError
from evenkeel.store.engine.base import Database, Op
from evenkeel.store.vips.addresses import HELD, HELD_OF_SOME
from evenkeel.store.vips.selection import any_free
from evenkeel.store.writing.conflicts import constraint_text

VIP_ATTEMPTS = 32
"""How often an address that somebody else took first is replaced by another before giving up."""


async def write_with_vip(
    database: Database, op: Op[Change], plan: VipPlan | None, refusal: Callable[[IntegrityError], RequestError]
) -> Change:
    """Run a write that takes the addresses of the plan, again while others are faster to take what it chose.

    ``refusal``: what any other conflict means. Raises it, and :class:`Conflict` for addresses.
    """
    attempts = 0
    while True:
        try:
            return await database.write(op)
        except IntegrityError as error:
            if plan is None or "vip_address" not in constraint_text(error):
                raise refusal(error) from error
            await _check_free(database, plan, error)
            attempts += 1
            if attempts == VIP_ATTEMPTS:
                raise _exhausted(plan) from error


async def _check_free(database: Database, plan: VipPlan, error: IntegrityError) -> None:
    """Raises :class:`Conflict` if an address that was asked for is taken; else another one may be tried."""
    wanted = [each.address for each in (plan, *plan.additional) if each.address is not None]
    if not wanted:
        return
    asked = {"network_id": plan.network_id, "some": wanted}
    taken = set(await database.query(lambda connection: connection.scalars(HELD_OF_SOME, asked).all()))
    for each in (plan, *plan.additional):
        if each.address in taken:
            raise _vip_in_use(each) from error


def free_address(connection: Connection, plan: VipPlan, some: list[str], held: frozenset[str], random: Random) -> str:
    """One of ``some`` that is not ``held``, else any free one. Raises :class:`Conflict` if there is none."""
    for address in some:
        if address not in held:
            return address
    free = any_free(plan, connection.scalars(HELD, {"network_id": plan.network_id}), random)
    if free is None:
        raise _exhausted(plan)
    return free


def _exhausted(plan: VipPlan) -> Conflict:
    """All addresses are held."""
    return Conflict(f"Subnet {plan.subnet_id} has no free VIP address.", code="no_free_address")


def _vip_in_use(plan: VipPlan) -> Conflict:
    return Conflict(f"VIP address {plan.address} is in use on network {plan.network_id}.", code="address_taken")
