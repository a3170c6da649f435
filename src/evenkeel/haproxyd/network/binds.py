"""Registry of listening addresses, with a check for addresses that cannot be bound.

Such addresses must be found before HAProxy tries to bind them: the reload would fail only after seconds in
which all other listeners are paused.
"""

import contextlib
import errno
import functools
import ipaddress
import os
import socket
from collections.abc import Iterable, Mapping
from typing import Literal

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire

IPV6_FREEBIND = 78
"""Socket option from Linux's ``in6.h``, which Python's socket module lacks."""
IP_FREEBIND = 15

ANY_IPV4_ADDRESS = "0.0.0.0"  # noqa: S104 # compared with tenants' addresses; nothing is bound to it
ANY_ADDRESSES = (ANY_IPV4_ADDRESS, "::")

BindAddress = tuple[str, int]
"""Address in the notation of :mod:`ipaddress`, and port."""
TransportProtocol = Literal["tcp", "udp", "sctp"]
ListenEndpoint = tuple[TransportProtocol, BindAddress]
"""Protocol, address and port: each protocol has ports of its own."""


class BindHolder(Value):
    """A load balancer, with its partition, that holds the reservation of a listening address."""

    partition: str
    load_balancer_id: str


def bind_addresses(load_balancer: wire.LoadBalancerConfig) -> tuple[BindAddress, ...]:
    """Return the addresses and ports on which HAProxy listens for a load balancer, with repetitions if its
    configuration has any. Raises :class:`ValueError` for an invalid address.
    """
    return tuple(bind for frontend in load_balancer.frontends for bind in frontend_addresses(frontend))


def listen_endpoints(load_balancer: wire.LoadBalancerConfig) -> tuple[ListenEndpoint, ...]:
    """Return protocol, address and port of all listeners of a load balancer, HAProxy's and the kernel's, with
    repetitions. Raises :class:`ValueError` for an invalid address.
    """
    return (
        *(("tcp", bind) for bind in bind_addresses(load_balancer)),
        *(
            (listener.protocol, bind_address(bind.address, bind.port))
            for listener in load_balancer.datagram_listeners
            for bind in listener.binds
        ),
    )


def frontend_addresses(frontend: wire.Frontend) -> tuple[BindAddress, ...]:
    """Return the addresses and ports on which a frontend listens, in the order of its configuration. Raises
    :class:`ValueError` for an invalid address.
    """
    return tuple(bind_address(bind.address, bind.port) for bind in frontend.binds)


def bind_address(address: str, port: int) -> BindAddress:
    """Return address and port in the notation of :mod:`ipaddress`, in which equal addresses are equal texts.
    Raises :class:`ValueError` for an invalid address.
    """
    return _canonical_address(address), port


@functools.lru_cache(maxsize=8192)
def _canonical_address(address: str) -> str:
    return str(ipaddress.ip_address(address))


class BindRegistry:
    """Reservations of listening addresses on this host: first come, first served.

    No method awaits, so calls do not interleave.
    """

    def __init__(self) -> None:
        self._holders: dict[tuple[TransportProtocol, int], dict[str, set[BindHolder]]] = {}
        """``{(protocol, port): {address: holders}}``."""
        self._reserved: dict[str, set[tuple[ListenEndpoint, BindHolder]]] = {}
        """``{partition: reserved places with their holders}``."""

    def reserve(self, partition: str, load_balancer: wire.LoadBalancerConfig, *, within_partition: bool = False) -> str:
        """Reserve all listening addresses of a load balancer, in addition to its earlier ones.

        Returns an empty text; or, with nothing reserved, a reason for operators: the load balancer has an
        address twice, or one of another partition holds it, and with ``within_partition`` also another one of
        the same partition.
        """
        wanted = listen_endpoints(load_balancer)
        holder = BindHolder(partition=partition, load_balancer_id=load_balancer.id)
        for place in wanted:
            if wanted.count(place) > 1:
                return f"{_describe_endpoint(place)} is there twice; a listener has it to itself"
            other = self._conflicting_holder(place, holder, within_partition=within_partition)
            if other:
                held_by = f"load balancer {other.load_balancer_id} in partition {other.partition}"
                return f"{_describe_endpoint(place)} is used by {held_by}"
        # Only after all were checked, because a refused load balancer must reserve none.
        for place in wanted:
            self._add_holder(place, holder)
        return ""

    def reserve_unknown(self, partition: str, taken: Iterable[BindAddress]) -> None:
        """Reserve TCP addresses on which the partition's HAProxy may be listening for a load balancer that is
        not known, whoever else holds them.
        """
        for one in taken:
            self._add_holder(("tcp", one), BindHolder(partition=partition, load_balancer_id="(unknown)"))

    def replace(self, partition: str, held: Mapping[str, wire.LoadBalancerConfig]) -> None:
        """Replace all reservations of a partition by those of the load balancers in ``held``, without a check
        for conflicts.
        """
        kept = {
            (place, BindHolder(partition=partition, load_balancer_id=one.id))
            for one in held.values()
            for place in listen_endpoints(one)
        }
        before = set(self._reserved.get(partition, ()))
        for place, holder in before - kept:
            self._remove_holder(place, holder)
        for place, holder in kept - before:
            self._add_holder(place, holder)

    def _conflicting_holder(
        self, endpoint: ListenEndpoint, holder: BindHolder, *, within_partition: bool
    ) -> BindHolder | None:
        protocol, bind = endpoint
        addresses = self._holders.get((protocol, bind[1]), {})
        # Only these can overlap, so the other addresses that use the port need not be compared.
        for address in addresses if bind[0] in ANY_ADDRESSES else (bind[0], *ANY_ADDRESSES):
            if address in addresses and _addresses_overlap(address, bind[0]):
                for other in addresses[address]:
                    if other != holder and (within_partition or other.partition != holder.partition):
                        return other
        return None

    def _add_holder(self, endpoint: ListenEndpoint, holder: BindHolder) -> None:
        protocol, (address, port) = endpoint
        self._holders.setdefault((protocol, port), {}).setdefault(address, set()).add(holder)
        self._reserved.setdefault(holder.partition, set()).add((endpoint, holder))

    def _remove_holder(self, endpoint: ListenEndpoint, holder: BindHolder) -> None:
        self._reserved[holder.partition].discard((endpoint, holder))
        protocol, (address, port) = endpoint
        addresses = self._holders[protocol, port]
        addresses[address].discard(holder)
        if not addresses[address]:
            del addresses[address]


def conflicting_load_balancers(
    first: Iterable[wire.LoadBalancerConfig], later: Iterable[wire.LoadBalancerConfig]
) -> dict[str, str]:
    """Find load balancers of ``later`` that conflict with any of ``first`` or with an earlier one of ``later``.

    Returns ``{load balancer id: reason}``.
    """
    registry = BindRegistry()
    for one in first:
        registry.reserve("", one)
    problems = ((one.id, registry.reserve("", one, within_partition=True)) for one in later)
    # All load balancers compared here are of one partition, so the text does not name it.
    return {name: problem.removesuffix(" in partition ") for name, problem in problems if problem}


def _addresses_overlap(first: str, second: str) -> bool:
    """Whether the two addresses overlap: they are equal, or one is the wildcard of its family; ``::``
    includes all IPv4 addresses.
    """
    return (
        first == second
        or "::" in (first, second)
        or (ANY_IPV4_ADDRESS in (first, second) and (":" in first) == (":" in second))
    )


def unbindable_addresses(wanted: Iterable[BindAddress]) -> dict[BindAddress, str]:
    """Return ``{address: reason}`` for addresses that cannot be bound for TCP now; bindable addresses are
    missing. ``wanted`` must have none on which the partition's own HAProxy listens, because these would
    count as in use.
    """
    return {bind: problem for bind in wanted if (problem := _bind_problem(bind))}


def _bind_problem(bind: BindAddress) -> str:
    """Return the reason why an address cannot be bound; empty if it can.

    Binds as HAProxy does: connections in TIME_WAIT are no obstacle, another listening socket is.
    """
    six = ":" in bind[0]
    family = socket.AF_INET6 if six else socket.AF_INET
    try:  # on a host without IPv6, creating the socket fails
        with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
            # as HAProxy does, so that the test has the result that HAProxy would have
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if six:
                probe.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
            else:
                probe.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
            probe.bind(bind)
    except OSError as error:
        return f"{_describe_bind(bind)} cannot be listened on: {_bind_error_reason(error)}"
    return ""


def _bind_error_reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another process uses it"
    return os.strerror(error.errno) if error.errno else str(error)


def _describe_bind(bind: BindAddress) -> str:
    return f"address {bind[0]} port {bind[1]}"


def _describe_endpoint(endpoint: ListenEndpoint) -> str:
    protocol, bind = endpoint
    return _describe_bind(bind) if protocol == "tcp" else f"{_describe_bind(bind)} of {protocol.upper()}"
