"""Which address a new VIP may take. Pure; the unique constraint on (network, address) has the last word."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address
from random import Random

from msgspec.structs import replace

from evenkeel.core.control import VipPlan
from evenkeel.core.errors import Invalid

CANDIDATES = 8
"""Addresses looked up at once; enough unless the range is nearly full."""


def normal_address(text: str) -> str:
    """The one way to write this address, so that equal addresses are equal texts. Raises :class:`Invalid`."""
    try:
        return str(ip_address(text))
    except ValueError:
        raise Invalid(f"vip_address: {text!r} is not an IP address") from None


def normal_plan(plan: VipPlan) -> VipPlan:
    """The plan with its addresses in the one way to write them. Raises :class:`Invalid`."""
    wanted = None if plan.address is None else normal_address(plan.address)
    return replace(plan, address=wanted, additional=tuple(normal_plan(each) for each in plan.additional))


def candidates(plan: VipPlan, random: Random) -> list[str]:
    """Some addresses of the plan's range, at random; all of a range that small."""
    first, size = _range(plan)
    count = min(size, CANDIDATES)
    # not random.sample: it refuses ranges longer than a C integer
    offsets = range(size) if count == size else {random.randrange(size) for _ in range(count)}
    chosen = [str(first + offset) for offset in offsets]
    random.shuffle(chosen)
    return chosen


def any_free(plan: VipPlan, taken: Iterable[str], random: Random) -> str | None:
    """One address of the plan's range that is not taken, at random; None if there is none.

    Costs time by the number taken, not by the size of the range.
    """
    first, size = _range(plan)
    addresses = (ip_address(text) for text in taken)
    held = {int(address) - int(first) for address in addresses if address.version == first.version}
    offsets = sorted(offset for offset in held if 0 <= offset < size)
    if len(offsets) == size:
        return None
    chosen = random.randrange(size - len(offsets))
    for offset in offsets:
        if offset > chosen:
            break
        chosen += 1
    return str(first + chosen)


def _range(plan: VipPlan) -> tuple[IPv4Address | IPv6Address, int]:
    """First address and number of addresses."""
    try:
        first, last = ip_address(plan.allocation_start), ip_address(plan.allocation_end)
    except ValueError:
        raise Invalid(f"Subnet {plan.subnet_id} has no allocation range.") from None
    size = int(last) - int(first) + 1
    if first.version != last.version or size < 1:
        raise Invalid(f"Subnet {plan.subnet_id} has no allocation range.")
    return first, size
