"""Finds addresses that no tenant's load balancer may send to or listen on, because this host or its neighbours use
them.

Rules for all hosts are in :mod:`evenkeel.core.networking.addresses` and checked by :mod:`partition.validation`. This
module has the addresses that are specific to this daemon: its own host's, its API, its HAProxys' peers. The daemon
checks although the controllers' API does, because an agent may be compromised.
"""

import ipaddress
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.network.binds import ANY_ADDRESSES
from evenkeel.haproxyd.network.destinations import load_balancer_destinations
from evenkeel.haproxyd.network.host_addresses import own_addresses
from evenkeel.haproxyd.settings import DaemonSettings

CACHE_SECONDS = 5.0
"""Time for which the kernel's answers about addresses are cached: addresses come and go with VRRP."""
CACHED_ADDRESSES_MAX = 20_000


class _CachedAddressKind(NamedTuple):
    """Kernel's answer for one address (``kind``; empty: not this host's), and the monotonic time of the
    look-up.
    """

    kind: str
    at_seconds: float


class ForbiddenAddresses:
    """Checks whether load balancers use addresses of this host, its API or its HAProxys' peers.
    ``own_addresses``: see :mod:`network.host_addresses`.
    """

    def __init__(
        self,
        settings: DaemonSettings,
        *,
        own_addresses: Callable[[Iterable[str]], Mapping[str, str]] = own_addresses,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._own_addresses = own_addresses
        self._monotonic = monotonic
        self._known: dict[str, _CachedAddressKind] = {}
        self._api_host, self._api_port = "", 0

    def forbid_api_address(self, host: str, port: int) -> None:
        """Record the address and port of the daemon's API, which no load balancer may use from then on."""
        self._api_host, self._api_port = _normal_address(host), port

    def check_host_addresses(self) -> None:
        """Raise :class:`ValueError` if the kernel does not report this host's addresses, without which no
        load balancer can be validated.
        """
        try:
            self._own_addresses(["127.0.0.1"])
        except OSError as error:
            raise ValueError(
                f"this host's addresses cannot be determined ({error.strerror or error}); where a service manager "
                "restricts address families, AF_NETLINK is to be among them"
            ) from error

    def refusal_reason(self, load_balancer: wire.LoadBalancerConfig, peers: Iterable[wire.HaproxyPeer]) -> str:
        """Return the reason to refuse this load balancer, which passed all other checks, because of an
        address that it listens on or sends to; empty if it is accepted. ``peers``: the partition's.

        Raises :class:`OSError` if the kernel does not report this host's addresses.
        """
        peers = tuple(peers)
        return next(
            filter(
                None, (*self._bind_problems(load_balancer, peers), *self._destination_problems(load_balancer, peers))
            ),
            "",
        )

    def _bind_problems(
        self, load_balancer: wire.LoadBalancerConfig, peers: tuple[wire.HaproxyPeer, ...]
    ) -> Iterator[str]:
        for listener in load_balancer.listeners:
            for bind in listener.binds:
                address = _normal_address(bind.address)
                if taken := self._user_of_address(address, bind.port, peers):
                    yield f"frontend {listener.name}: bind: address is {address!r}, {taken}; a VIP is allowed"

    def _destination_problems(
        self, load_balancer: wire.LoadBalancerConfig, peers: tuple[wire.HaproxyPeer, ...]
    ) -> Iterator[str]:
        found = [
            (what, _normal_address(address), port) for what, address, port in load_balancer_destinations(load_balancer)
        ]
        own = self._own_addresses_among(address for _, address, _ in found)
        for what, address, port in found:
            kind = self._user_of_address(address, port, peers) or (
                "" if self._is_allowed_loopback(address) else own[address]
            )
            if kind:
                yield f"{what}: address is {address!r}, {kind}; the address of another host is allowed"

    def _user_of_address(self, address: str, port: int, peers: tuple[wire.HaproxyPeer, ...]) -> str:
        """Return a description of the API, host or peer that uses the address; empty if there is none. On
        permitted loopback addresses only ports in use are forbidden.
        """
        here = self._is_allowed_loopback(address)
        if port == self._api_port and (here or address == self._api_host):
            return "where this daemon's API is"
        if not here and address in (self._api_host, *map(_normal_address, self._settings.management_addresses)):
            return "where this daemon is managed"
        first, last = self._settings.peers_port_first, self._settings.peers_port_last
        if address == _normal_address(self._settings.peers_address) and (not here or first <= port <= last):
            return "where this host's HAProxys are reached by their peers"
        for peer in peers:
            if address == _normal_address(peer.address) and (not here or port == peer.port):
                return f"where peer {peer.name} is"
        return ""

    def _is_allowed_loopback(self, address: str) -> bool:
        """Whether the address is a loopback address that tenants may use, as in a demonstration."""
        return self._settings.addresses.allow_loopback and ipaddress.ip_address(address).is_loopback

    def _own_addresses_among(self, addresses: Iterable[str]) -> dict[str, str]:
        now = self._monotonic()
        wanted = set(addresses)
        fresh = {address: known for address in wanted if (known := self._known.get(address)) and _is_fresh(known, now)}
        uncached = [address for address in wanted if address not in fresh]
        own = self._own_addresses(uncached) if uncached else {}
        if len(self._known) > CACHED_ADDRESSES_MAX:
            self._known.clear()
        self._known.update((address, _CachedAddressKind(own.get(address, ""), now)) for address in uncached)
        return {address: known.kind for address, known in fresh.items()} | {one: own.get(one, "") for one in uncached}


def _is_fresh(cached: _CachedAddressKind, now_seconds: float) -> bool:
    return now_seconds - cached.at_seconds < CACHE_SECONDS


def _normal_address(address: str) -> str:
    try:
        found = str(ipaddress.ip_address(address))
    except ValueError:
        return address
    # An API on all addresses has none of its own: there the host's own addresses are protected.
    return "" if found in ANY_ADDRESSES else found
