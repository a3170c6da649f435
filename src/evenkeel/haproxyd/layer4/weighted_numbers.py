"""Shares of a pool's servers in new flows. Pure, and equal on all hosts that hold the same servers.

A new flow draws a number, and each number belongs to a server. At random, a server has as many numbers as its weight,
or a share of them that is as near to its weight as possible. By hash, a fixed number of slots is dealt by weighted
rendezvous hashing: the slots of a server that leaves go to the others, and no client of another server moves.
"""

import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

HASH_SLOTS = 256
"""Number of slots of each pool whose clients are hashed, however many servers it has."""
EXACT_WEIGHTS_MAX = 8
"""Greatest sum of weights, divided by their common divisor, for which each server gets as many numbers as its weight.
"""
OFFSET_BITS = 16
APPROXIMATE_NUMBER_COUNTS = (256, 4096)
"""How many numbers are shared out if that sum is greater than ``EXACT_WEIGHTS_MAX``: the first up to
``FEW_SERVERS_MAX`` servers, the second for more.
"""
FEW_SERVERS_MAX = 8
HASH_SEED = 0x65766B6C
"""Seed of the kernel's hash, the same on all hosts; not 0, for which the kernel takes one of its own."""

NumberSource = Literal["weight", "source", "source_port"]


@dataclass(frozen=True)
class NumberRange:
    """A range of ``below`` numbers, of which each new flow gets one: at random (``draw`` is "weight"), or by
    a hash of the client's address, or of address and port.
    """

    draw: NumberSource
    below: int

    @property
    def offset(self) -> int:
        """First number of the range. No two ranges have a number in common, so that the kernel can try one
        after the other.
        """
        return (NUMBER_RANGES.index(self) + 1) << OFFSET_BITS


NUMBER_RANGES = (
    *(NumberRange("weight", below) for below in range(1, EXACT_WEIGHTS_MAX + 1)),
    NumberRange("source", HASH_SLOTS),
    NumberRange("source_port", HASH_SLOTS),
    *(NumberRange("weight", below) for below in APPROXIMATE_NUMBER_COUNTS),
)
"""All ranges of numbers that new flows draw from, in the order in which the kernel tries them."""


def assign_numbers(draw: NumberSource, weights: Mapping[str, int], salt: str) -> dict[int, str]:
    """Return ``{number: server}``, in which each number that a new flow can draw belongs to a server; empty
    without a server of a weight above 0.

    ``weights``: by server; ``salt``: the pool's name, so that slots of pools with the same servers are dealt
    differently.
    """
    found = {name: weight for name, weight in sorted(weights.items()) if weight > 0}
    if not found:
        return {}
    servers = _slots_by_weight(found) if draw == "weight" else _slots_by_hash(found, salt)
    return dict(enumerate(servers, NumberRange(draw, len(servers)).offset))


def _slots_by_weight(weights: Mapping[str, int]) -> tuple[str, ...]:
    # common divisors do not change the shares
    divisor = math.gcd(*weights.values())
    shares = {name: weight // divisor for name, weight in weights.items()}
    if sum(shares.values()) > EXACT_WEIGHTS_MAX:
        shares = _apportion_by_weight(
            weights, APPROXIMATE_NUMBER_COUNTS[0] if len(weights) <= FEW_SERVERS_MAX else APPROXIMATE_NUMBER_COUNTS[1]
        )
    return tuple(name for name, share in shares.items() for _ in range(share))


def _apportion_by_weight(weights: Mapping[str, int], count: int) -> dict[str, int]:
    """Divide ``count`` numbers among the servers in proportion to their weights, by largest remainders; each server
    gets at least one while there are enough. Returns ``{server: number of numbers}``.
    """
    total = sum(weights.values())
    shares = {name: max(weight * count // total, 1) for name, weight in weights.items()}
    # the nearest to another number first; names decide between equals, so that all hosts decide alike
    by_need = sorted(weights, key=lambda name: (shares[name] - weights[name] * count / total, name))
    rest = count - sum(shares.values())
    for name in by_need[: max(rest, 0)]:
        shares[name] += 1
    while rest < 0:
        largest = max(shares, key=lambda name: (shares[name], name))
        shares[largest] -= 1
        rest += 1
    return shares


def _slots_by_hash(weights: Mapping[str, int], salt: str) -> tuple[str, ...]:
    servers = list(weights)
    scores = [_slot_scores(f"{salt} {name}", weights[name]) for name in servers]
    return tuple(servers[_index_of_greatest(found)] for found in zip(*scores, strict=True))


def _index_of_greatest(numbers: Sequence[float]) -> int:
    return numbers.index(max(numbers))


def _slot_scores(text: str, weight: int) -> list[float]:
    """Return a server's score for each of the :data:`HASH_SLOTS` slots; the server with the highest score gets the
    slot. ``text``: salt and server's name.
    """
    # Weighted rendezvous hashing: -w / ln(u) with u uniform in (0, 1) is largest with probability w / sum of weights.
    numbers = struct.unpack(f">{HASH_SLOTS}Q", hashlib.shake_128(text.encode()).digest(HASH_SLOTS * 8))
    return [-weight / math.log((number + 0.5) / 2**64) for number in numbers]
