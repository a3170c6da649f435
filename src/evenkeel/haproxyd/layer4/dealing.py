"""Shares of a pool's servers in new flows. Pure, and equal on all hosts that hold the same servers.

At random, a server has as many numbers as its weight. By hash, a fixed number of slots is dealt by weighted rendezvous
hashing: the slots of a server that leaves go to the others, and no client of another server moves.
"""

import hashlib
import math
import struct
from collections.abc import Iterable, Mapping, Sequence

SLOTS = 256
"""Slots of one pool, whatever the number of its servers."""

Span = tuple[int, int]
"""First and last number, both included."""


def weight_spans(weights: Mapping[str, int]) -> tuple[int, dict[str, tuple[Span, ...]]]:
    """Consecutive numbers for each server with a weight above 0, in the order of their names; first their total."""
    # Common divisors do not change the shares, and small numbers keep equal configurations equal.
    divisor = math.gcd(*weights.values()) or 1
    spans: dict[str, tuple[Span, ...]] = {}
    begin = 0
    for name in sorted(weights):
        share = weights[name] // divisor
        if share:
            spans[name] = ((begin, begin + share - 1),)
            begin += share
    return begin, spans


def slot_spans(weights: Mapping[str, int], salt: str) -> dict[str, tuple[Span, ...]]:
    """Slots for each server with a weight above 0, as spans; empty without such a server. ``salt``: the pool's name,
    so that pools of the same servers are dealt differently."""
    servers = [name for name, weight in sorted(weights.items()) if weight > 0]
    if not servers:
        return {}
    scores = [_scores(f"{salt} {name}", weights[name]) for name in servers]
    slots: dict[str, list[int]] = {}
    for slot, found in enumerate(zip(*scores, strict=True)):
        slots.setdefault(servers[found.index(max(found))], []).append(slot)
    return {name: tuple(_spans(numbers)) for name, numbers in slots.items()}


def seed_of(salt: str) -> int:
    """Seed of the kernel's hash function; never 0, which would have the kernel choose one by itself."""
    return int.from_bytes(hashlib.sha256(salt.encode()).digest()[:4], "big") or 1


def _scores(text: str, weight: int) -> list[float]:
    """A server's score for each slot; the server with the highest one gets the slot."""
    # Weighted rendezvous hashing: -w / ln(u) with u uniform in (0, 1) is largest with probability w / sum of weights.
    numbers = struct.unpack(f">{SLOTS}Q", hashlib.shake_128(text.encode()).digest(SLOTS * 8))
    return [-weight / math.log((number + 0.5) / 2**64) for number in numbers]


def _spans(numbers: Sequence[int]) -> Iterable[Span]:
    begin = before = numbers[0]
    for number in numbers[1:]:
        if number != before + 1:
            yield begin, before
            begin = number
        before = number
    yield begin, before
