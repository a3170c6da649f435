"""Where everything of one device is: each site has a network of loopback addresses of its own, at which load balancers
listen and their members answer. Definitions name ``10.1.…`` and ``10.2.…`` instead; ports are the same at all sites.
"""

import random
import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServiceMember, ServicePool
from evenkeel.core.resources.model import Vip
from tests.certificates import put_files
from tests.devices.haproxy.rig import free_network
from tests.devices.tls_behaviour import MEMBER, ROOT, UNKNOWN_MEMBER
from tests.equivalence.values import CHECK_ADDRESSES, CHECK_PORTS
from tests.equivalence.websites import ASKED_FOR, Website

PLACES = range(1, 7)
STEADY_PLACE = 7
"""The website of the load balancer that never changes."""
STRANGER_PLACES = (3,)
"""Websites there show a certificate that no authority of ours has signed."""
MEMBER_PORT = 8080
PORTS_FROM = random.SystemRandom().randrange(6_000, 13_000)
"""Added to all ports: below those that other servers of tests listen on, some of them at all addresses."""


def places() -> Iterator[tuple[str, int]]:
    """Every place at which a website answers, as definitions name it."""
    for place in PLACES:
        for address in (f"10.2.0.{place}", CHECK_ADDRESSES.format(place=place)):
            for port in (MEMBER_PORT, *CHECK_PORTS):
                yield address, port


class Site:
    """One network with its websites. ``folder``: for their certificates."""

    def __init__(self, folder: Path) -> None:
        self._reservation, self._network = free_network()
        contexts = {shows: _context(folder, shows) for shows in (MEMBER, UNKNOWN_MEMBER)}
        self.websites = {}
        for address, port in (*places(), (f"10.2.0.{STEADY_PLACE}", MEMBER_PORT)):
            number = int(address.rpartition(".")[2])
            shows = contexts[UNKNOWN_MEMBER if number in STRANGER_PLACES else MEMBER]
            self.websites[address, port] = Website(f"w{number}", self.real(address, port), shows)

    def start(self) -> None:
        """Every website answers."""
        for one in self.websites.values():
            one.start()

    async def stop(self) -> None:
        for one in self.websites.values():
            await one.stop()
        self._reservation.close()

    def forget(self) -> None:
        """What websites have heard so far."""
        for one in self.websites.values():
            one.heard.clear()

    # -- addresses

    def real(self, address: str, port: int) -> tuple[str, int]:
        """Where a place is."""
        return self.real_address(address), PORTS_FROM + port

    def real_address(self, address: str) -> str:
        _, first, *rest = address.split(".")
        return f"127.{self._network}.{(int(first) - 1) * 100 + int(rest[0])}.{rest[1]}"

    def named(self, text: str) -> str:
        """A text from the device, with the addresses and ports of definitions."""

        def address(found: re.Match[str]) -> str:
            first, third = divmod(int(found[1]), 100)
            return f"10.{first + 1}.{third}.{found[2]}"

        return re.sub(rf"(?<![0-9.])127\.{self._network}\.(\d+)\.(\d+)\b", address, text)

    def moved(self, tree: ServiceDefinition) -> ServiceDefinition:
        """The definition with the site's addresses."""
        return replace(
            tree,
            vip=self._vip(tree.vip),
            additional_vips=tuple(map(self._vip, tree.additional_vips)),
            listeners=tuple(map(with_real_port, tree.listeners)),
            pools=tuple(map(self._pool, tree.pools)),
        )

    def _vip(self, one: Vip) -> Vip:
        return replace(one, address=self.real_address(one.address))

    def _pool(self, one: ServicePool) -> ServicePool:
        return replace(one, members=tuple(map(self._member, one.members)))

    def _member(self, one: ServiceMember) -> ServiceMember:
        changes: dict[str, Any] = {}
        if one.monitor_address is not None:
            changes["monitor_address"] = self.real_address(one.monitor_address)
        if one.monitor_port is not None:
            changes["monitor_port"] = PORTS_FROM + one.monitor_port
        address, port = self.real(one.address, one.protocol_port)
        return replace(one, address=address, protocol_port=port, **changes)


def with_real_port(one: ServiceListener) -> ServiceListener:
    """The listener with the port that it has at all sites."""
    return replace(one, protocol_port=PORTS_FROM + one.protocol_port)


def named_port(port: int) -> int:
    """The port of definitions."""
    return port - PORTS_FROM if port else 0


def _context(folder: Path, shows: Any) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*put_files(folder, f"website-{shows.certificate.serial_number}", shows))
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.verify_mode = ssl.CERT_OPTIONAL
    made.set_alpn_protocols(["http/1.1"])
    made.sni_callback = lambda session, name, _: setattr(session, ASKED_FOR, name or "")
    made.load_verify_locations(cadata=ROOT.pem.decode())
    return made


def occupied(site: Site, address: str, port: int) -> socket.socket:
    """A program that listens at a place of the site until its socket is closed."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(site.real(address, port))
    made.listen()
    return made
