"""Finds this host's own addresses in the kernel's routing table, by asking for the route to an address; sends
nothing.

Own addresses are those of interfaces, and whole networks that a route makes local, as VIPs may be. Linux
only.
"""

import errno
import socket
import struct
from collections.abc import Iterable

# rtnetlink(7), netlink(7)
_GET_ROUTE = 26
_REQUEST_FLAG = 1
_ERROR_KIND = 2
_DESTINATION_ATTRIBUTE = 1
_HEADER_STRUCT = struct.Struct("=IHHII")
_ROUTE_STRUCT = struct.Struct("=BBBBBBBBI")
_ATTRIBUTE_STRUCT = struct.Struct("=HH")
_ANSWER_BYTES = 8192
_TIMEOUT_SECONDS = 1.0

_HOST_ROUTE_TYPES = {
    2: "an address of this host",
    3: "a broadcast address",
    4: "an anycast address",
    5: "a multicast address",
}
"""Types of routes to this host itself or to all hosts of a network."""


def own_addresses(addresses: Iterable[str]) -> dict[str, str]:
    """Return ``{address: kind}`` for addresses that are this host's or its network's (broadcast, anycast,
    multicast).

    Other addresses are left out. Raises :class:`OSError` if the kernel denies the request or does not answer
    within a second.
    """
    wanted = tuple(dict.fromkeys(addresses))
    if not wanted:
        return {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:  # NETLINK_ROUTE
        kernel.settimeout(_TIMEOUT_SECONDS)
        kinds = {
            address: _HOST_ROUTE_TYPES.get(_route_type(kernel, number, address), "")
            for number, address in enumerate(wanted)
        }
    return {address: kind for address, kind in kinds.items() if kind}


def _route_type(kernel: socket.socket, number: int, address: str) -> int:
    """Return the type of the kernel's route to the address (rtnetlink(7), ``rtm_type``); 0 if there is no
    route. ``number``: sequence number of the request. Raises :class:`OSError`.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    raw = socket.inet_pton(family, address)
    route = _ROUTE_STRUCT.pack(family, len(raw) * 8, 0, 0, 0, 0, 0, 0, 0)
    message = route + _ATTRIBUTE_STRUCT.pack(_ATTRIBUTE_STRUCT.size + len(raw), _DESTINATION_ATTRIBUTE) + raw
    kernel.send(_HEADER_STRUCT.pack(_HEADER_STRUCT.size + len(message), _GET_ROUTE, _REQUEST_FLAG, number, 0) + message)
    answer = kernel.recv(_ANSWER_BYTES)
    _, kind, _, answered, _ = _HEADER_STRUCT.unpack_from(answer)
    if answered != number:
        raise OSError(errno.EPROTO, "netlink answered something else")
    if kind == _ERROR_KIND:  # there is no route, so the address is not this host's
        return 0
    found: int = _ROUTE_STRUCT.unpack_from(answer, _HEADER_STRUCT.size)[7]
    return found
