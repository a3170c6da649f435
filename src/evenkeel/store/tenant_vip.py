"""Which address a new VIP may take. Pure; the unique constraint on (network, address) has the last word."""

from collections.abc import Iterable
from ipaddress import ip_address
from random import Random

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
    offsets = sorted({offset for offset in (int(ip_address(text)) - int(first) for text in taken) if 0 <= offset < size})
    free = size - len(offsets)
    if free == 0:
        return None
    chosen = random.randrange(free)
    for offset in offsets:
        if offset > chosen:
            break
        chosen += 1
    return str(first + chosen)


def _range(plan: VipPlan):  # type: ignore[no-untyped-def]
    try:
        first, last = ip_address(plan.allocation_start), ip_address(plan.allocation_end)
    except ValueError:
        raise Invalid(f"Subnet {plan.subnet_id} has no allocation range.") from None
    if first.version != last.version or first > last:  # type: ignore[operator]
        raise Invalid(f"Subnet {plan.subnet_id} has no allocation range.")
    return first, int(last) - int(first) + 1
