"""Networks in which the data plane opens its sockets: this host's, or those that a device's objects describe."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass
from typing import Protocol

IP_BIND_ADDRESS_NO_PORT = 24


class Network(Protocol):
    """One network, in which an address means one host."""

    def make_socket(self, family: int, kind: int, number: int = 0) -> socket.socket: ...

    def bind(self, sock: socket.socket, source: str | None) -> None:
        """Let connections of the socket come from this address; None: whichever fits."""


class Networks(Protocol):
    """The networks of one device."""

    def of(self, partition: str, address: str) -> Network:
        """The network of an address as an object in the partition has it. OSError if there is none."""

    def check_crossing(self, near: Network, far: Network) -> None:
        """OSError if traffic may not go from one to the other."""


@dataclass(frozen=True, slots=True)
class HostNetwork:
    """This host's network, whatever the route domain."""

    def make_socket(self, family: int, kind: int, number: int = 0) -> socket.socket:
        return socket.socket(family, kind, number)

    def bind(self, sock: socket.socket, source: str | None) -> None:
        """A source address that this host does not have is left out."""
        if source is None:
            return
        # the port is chosen when the socket connects, so that connections to different members may share it
        sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        with contextlib.suppress(OSError):
            sock.bind((source, 0))


HOST = HostNetwork()


@dataclass(frozen=True, slots=True)
class OneNetwork:
    """One network for all addresses: this host's."""

    def of(self, partition: str, address: str) -> Network:
        return HOST

    def check_crossing(self, near: Network, far: Network) -> None:
        """Allow every crossing: one network has no border."""


ONE_NETWORK = OneNetwork()
