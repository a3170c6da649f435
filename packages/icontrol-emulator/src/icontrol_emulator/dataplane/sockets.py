"""Listening sockets, shared by the devices of one emulator so that a failover closes none.

A socket stays bound while its owner changes: connections that arrive in between wait in its backlog. `close_unclaimed`
closes sockets without an owner.
"""

from __future__ import annotations

import errno
import socket
from typing import NamedTuple

from icontrol_emulator.dataplane.networks import HOST, Network

BACKLOG = 1024


TCP, UDP, SCTP = "tcp", "udp", "sctp"
_TYPES = {TCP: (socket.SOCK_STREAM, 0), UDP: (socket.SOCK_DGRAM, 0), SCTP: (socket.SOCK_STREAM, socket.IPPROTO_SCTP)}


class Address(NamedTuple):
    host: str
    port: int
    protocol: str = TCP
    network: Network = HOST


class SocketPool:
    def __init__(self) -> None:
        self._sockets: dict[Address, socket.socket] = {}
        self._owners: dict[Address, object] = {}

    def claim(self, address: Address, owner: object) -> socket.socket:
        """The socket bound to the address, created if needed. OSError if the address is in use or not local."""
        if address in self._owners:
            raise OSError(errno.EADDRINUSE, "another virtual server listens here")
        if address not in self._sockets:
            self._sockets[address] = _listen(address)
        self._owners[address] = owner
        return self._sockets[address]

    def release(self, address: Address, owner: object) -> None:
        if self._owners.get(address) == owner:
            del self._owners[address]

    def close_unclaimed(self) -> None:
        for address in [address for address in self._sockets if address not in self._owners]:
            self._sockets.pop(address).close()


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    kind, number = _TYPES[address.protocol]
    sock = address.network.make_socket(family, kind, number)
    try:
        if address.protocol != UDP:  # for datagrams it would let a second socket take the address
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setblocking(False)
        sock.bind((address.host, address.port))
        if address.protocol != UDP:
            sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def reset(sock: socket.socket) -> None:
    """Close with RST instead of FIN."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    except OSError:
        pass
    finally:
        sock.close()
