"""Selects the address of a new VIP, and another one if a concurrent transaction took it first.

The unique constraint on (network, address) decides."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from random import Random
from socket import inet_ntoa
from typing import NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from evenkeel.core.kit.errors import Conflict, Invalid, RequestError
from evenkeel.core.networking.addresses import parsed_range
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.networking.vip_room import no_free_address_error
from evenkeel.store.engine.base import Database, Op, T
from evenkeel.store.vips.addresses import ALLOCATED_ADDRESSES, ALLOCATED_AMONG_CANDIDATES
from evenkeel.store.writing.conflicts import violated_constraint_text

CANDIDATES_PER_TRY = 4
"""Number of addresses that each create looks up; one of them is free unless the range is nearly full."""


class _AddressRange(NamedTuple):
    """A range of a subnet's addresses, as integers."""

    version: int
    first: int
    size: int

    def address(self, offset: int) -> str:
        """Return the address at ``offset`` from the first address of the range."""
        number = self.first + offset
        return inet_ntoa(number.to_bytes(4)) if self.version == 4 else str(IPv6Address(number))


def canonical_address(text: str) -> str:
    """Return the canonical form of an IP address, so that equal addresses are equal texts. Raises :class:`Invalid` for
    a text that is no address.
    """
    try:
        return str(ip_address(text))
    except ValueError:
        raise Invalid(f"vip_address: {text!r} is not an IP address") from None


def plan_with_canonical_addresses(plan: VipPlan) -> VipPlan:
    """Return the plan with its addresses in canonical form. Raises :class:`Invalid` for one that is no address."""
    wanted = None if plan.address is None else canonical_address(plan.address)
    return replace(
        plan, address=wanted, additional=tuple(plan_with_canonical_addresses(each) for each in plan.additional)
    )


def candidate_addresses(plan: VipPlan, random: Random) -> list[str]:
    """Return some random addresses of the plan's range, or all if the range is small, in random order;
    without reserved addresses, so there may be none. Raises :class:`Invalid` if the range is empty.
    """
    found = _address_range(plan)
    if found.size > CANDIDATES_PER_TRY:
        # not random.sample: it refuses ranges longer than a C integer
        # At random: controllers that count from the same end would all collide on the same address.
        offsets = list({random.randrange(found.size) for _ in range(CANDIDATES_PER_TRY)})
    else:
        offsets = list(range(found.size))
        random.shuffle(offsets)
    closed = _reserved_spans(plan, found)
    free = [offset for offset in offsets if not any(first <= offset <= last for first, last in closed)]
    return [found.address(offset) for offset in free]


def random_free_address(plan: VipPlan, taken: Iterable[str], random: Random) -> str | None:
    """Return a random address of the plan's range that is neither taken nor reserved; None if there is none.
    Raises :class:`Invalid` if the range is empty.

    The time depends on the number of taken addresses, not on the size of the range.
    """
    found = _address_range(plan)
    addresses = (ip_address(text) for text in taken)
    held = {int(address) - found.first for address in addresses if address.version == found.version}
    closed = _merge_spans(
        [*((offset, offset) for offset in held if 0 <= offset < found.size), *_reserved_spans(plan, found)]
    )
    free = found.size - sum(last - first + 1 for first, last in closed)
    if free == 0:
        return None
    chosen = random.randrange(free)
    for first, last in closed:
        # Counts over the gaps between closed spans, so that a /64 costs no more than a small range.
        if first > chosen:
            break
        chosen += last - first + 1
    return found.address(chosen)


_AddressSpan = tuple[int, int]
"""Offsets of the first and last address of a contiguous range."""


def _reserved_spans(plan: VipPlan, found: _AddressRange) -> list[_AddressSpan]:
    spans: list[_AddressSpan] = []
    for text in plan.reserved:
        first, last = parsed_range(text)
        start, end = max(int(first) - found.first, 0), min(int(last) - found.first, found.size - 1)
        if first.version == found.version and start <= end:
            spans.append((start, end))
    return spans


def _merge_spans(spans: Iterable[_AddressSpan]) -> list[_AddressSpan]:
    """Return the spans sorted, with overlapping ones merged."""
    joined: list[_AddressSpan] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _address_range(plan: VipPlan) -> _AddressRange:
    """Return the plan's range of addresses. Raises :class:`Invalid` if it is empty."""
    try:
        found = _range_between(plan.allocation_start, plan.allocation_end)
    except ValueError:
        found = None
    if found is None:
        raise Invalid(f"Subnet {plan.subnet_id} has no allocation range.")
    return found


@lru_cache(maxsize=1024)
def _range_between(start: str, end: str) -> _AddressRange | None:
    """Return the range between two addresses; None if it is empty, or they are of different IP versions. Raises
    :class:`ValueError` for a text that is no address.
    """
    first, last = ip_address(start), ip_address(end)
    size = int(last) - int(first) + 1
    return _AddressRange(first.version, int(first), size) if first.version == last.version and size > 0 else None


VIP_ATTEMPTS = 32
"""Maximum number of attempts to write with selected addresses, while concurrent transactions take them first."""


async def write_with_vip(
    database: Database, op: Op[T], plan: VipPlan | None, refusal: Callable[[IntegrityError], RequestError]
) -> T:
    """Run a write that allocates the plan's addresses, and return its result; repeat it with other addresses
    while concurrent transactions take the selected addresses.

    ``refusal`` returns the error for any other violated constraint. Raises that error, :class:`Conflict` for
    a requested address that is taken or after :data:`VIP_ATTEMPTS` attempts, and what ``op`` raises.
    """
    attempts = 0
    while True:
        try:
            return await database.write(op)
        except IntegrityError as error:
            # The name of the table is part of every text about its constraints, on all three databases.
            if plan is None or "vip_address" not in violated_constraint_text(error):
                raise refusal(error) from error
            await _check_requested_addresses_free(database, plan, error)
            attempts += 1
            if attempts == VIP_ATTEMPTS:
                raise no_free_address_error(plan) from error


async def _check_requested_addresses_free(database: Database, plan: VipPlan, error: IntegrityError) -> None:
    """Check that the addresses that the plan requests are free. Raises :class:`Conflict` if one is taken; else the
    write may be repeated.
    """
    wanted = [each.address for each in (plan, *plan.additional) if each.address is not None]
    if not wanted:
        return
    asked = {"network_id": plan.network_id, "some": wanted}
    taken = set(await database.query(lambda connection: connection.scalars(ALLOCATED_AMONG_CANDIDATES, asked).all()))
    for each in (plan, *plan.additional):
        if each.address in taken:
            raise _vip_in_use_error(each) from error


def choose_free_address(
    connection: Connection, plan: VipPlan, candidates: list[str], allocated: frozenset[str], random: Random
) -> str:
    """Return a free address by the plan: the first of ``candidates`` that is not in ``allocated``, else any. Raises
    :class:`Conflict` if there is none, :class:`Invalid` if the plan's range is empty.
    """
    for address in candidates:
        if address not in allocated:
            return address
    free = random_free_address(plan, connection.scalars(ALLOCATED_ADDRESSES, {"network_id": plan.network_id}), random)
    if free is None:
        raise no_free_address_error(plan)
    return free


def _vip_in_use_error(plan: VipPlan) -> Conflict:
    return Conflict(f"VIP address {plan.address} is in use on network {plan.network_id}.", code="address_taken")
