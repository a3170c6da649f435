"""Who listens where. A listener that cannot be bound must be found before HAProxy tries: its reload would fail only
after seconds in which it pauses all others.
"""

import contextlib
import errno
import functools
import ipaddress
import os
import socket
from collections.abc import Iterable, Mapping

from evenkeel.core.values import Value
from evenkeel.haproxyd import wire

IPV6_FREEBIND = 78
"""Of Linux's ``in6.h``; not in Python's."""
IP_FREEBIND = 15

ANY = ("0.0.0.0", "::")

Place = tuple[str, int]
"""An address, as :mod:`ipaddress` writes it, and a port."""


class BindHolder(Value):
    """Who listens there."""

    partition: str
    load_balancer_id: str


def places(one: wire.LoadBalancerConfig) -> tuple[Place, ...]:
    """Where a load balancer listens; with repetitions, if it says so."""
    return tuple(place(bind.address, bind.port) for frontend in one.frontends for bind in frontend.binds)


def place(address: str, port: int) -> Place:
    """Written as every other."""
    return _canonical(address), port


@functools.lru_cache(maxsize=8192)
def _canonical(address: str) -> str:
    return str(ipaddress.ip_address(address))


class BindRegistry:
    """Who has which place. Whoever comes second is refused. Nothing here waits, so nothing comes in between."""

    def __init__(self) -> None:
        self._holders: dict[int, dict[str, set[BindHolder]]] = {}
        """By port and address."""
        self._places: dict[str, set[tuple[Place, BindHolder]]] = {}
        """By partition."""

    def take(self, partition: str, one: wire.LoadBalancerConfig, *, own: bool = False) -> str:
        """Reserve all places of a load balancer, besides those it has; or say, in words, who is in the way: somebody
        of another partition, with ``own`` also another load balancer of the same."""
        wanted = places(one)
        holder = BindHolder(partition=partition, load_balancer_id=one.id)
        for place in wanted:
            if wanted.count(place) > 1:
                return f"{_words(place)} is there twice; a listener has it to itself"
            other = self._other(place, holder, own=own)
            if other:
                return (
                    f"{_words(place)} is used by load balancer {other.load_balancer_id} in partition {other.partition}"
                )
        for place in wanted:
            self._add(place, holder)
        return ""

    def occupy(self, partition: str, taken: Iterable[Place]) -> None:
        """Nobody knows whose they are, but the partition's HAProxy may be listening there."""
        for one in taken:
            self._add(one, BindHolder(partition=partition, load_balancer_id="(unknown)"))

    def settle(self, partition: str, held: Mapping[str, wire.LoadBalancerConfig]) -> None:
        """A partition has these now, and what else was reserved for it is free."""
        kept = {
            (place, BindHolder(partition=partition, load_balancer_id=one.id))
            for one in held.values()
            for place in places(one)
        }
        before = set(self._places.get(partition, ()))
        for place, holder in before - kept:
            self._remove(place, holder)
        for place, holder in kept - before:
            self._add(place, holder)

    def _other(self, place: Place, holder: BindHolder, *, own: bool) -> BindHolder | None:
        addresses = self._holders.get(place[1], {})
        for address in addresses if place[0] in ANY else (place[0], *ANY):
            if address in addresses and _overlap(address, place[0]):
                for other in addresses[address]:
                    if other != holder and (own or other.partition != holder.partition):
                        return other
        return None

    def _add(self, place: Place, holder: BindHolder) -> None:
        self._holders.setdefault(place[1], {}).setdefault(place[0], set()).add(holder)
        self._places.setdefault(holder.partition, set()).add((place, holder))

    def _remove(self, place: Place, holder: BindHolder) -> None:
        self._places[holder.partition].discard((place, holder))
        addresses = self._holders[place[1]]
        addresses[place[0]].discard(holder)
        if not addresses[place[0]]:
            del addresses[place[0]]


def in_the_way(first: Iterable[wire.LoadBalancerConfig], then: Iterable[wire.LoadBalancerConfig]) -> dict[str, str]:
    """Which of ``then`` cannot be together with those that come before them, and why."""
    registry = BindRegistry()
    for one in first:
        registry.take("", one)
    problems = ((one.id, registry.take("", one, own=True)) for one in then)
    return {name: problem.removesuffix(" in partition ") for name, problem in problems if problem}


def _overlap(one: str, other: str) -> bool:
    """``::`` takes IPv4 in too."""
    return one == other or "::" in (one, other) or ("0.0.0.0" in (one, other) and (":" in one) == (":" in other))


def unbindable(wanted: Iterable[Place]) -> dict[Place, str]:
    """Those that could not be listened on now, with the reason in words. None of them may be one of our own."""
    return {place: problem for place in wanted if (problem := _try(place))}


def _try(place: Place) -> str:
    """As HAProxy would bind it: a closing connection there does no harm, another listener does."""
    six = ":" in place[0]
    family = socket.AF_INET6 if six else socket.AF_INET
    try:  # a host without IPv6 refuses the socket itself
        with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if six:
                probe.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
            else:
                probe.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
            probe.bind(place)
    except OSError as error:
        return f"{_words(place)} cannot be listened on: {_reason(error)}"
    return ""


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another process uses it"
    return os.strerror(error.errno) if error.errno else str(error)


def _words(place: Place) -> str:
    return f"address {place[0]} port {place[1]}"
