"""Requests to netfilter over netlink (netlink(7); the kernel's ``nfnetlink.h``): dumps and single requests. Linux only.

Listing by libnftables reads the whole ruleset of the host, whatever is asked for; a dump of one kind of object of one
table costs a fiftieth of that.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator, Mapping

NETLINK_NETFILTER = 12
CONNTRACK, NFTABLES = 1, 10
"""Subsystems."""
_ERROR, _DONE = 2, 3
_REQUEST, _ACK, _DUMP = 1, 4, 0x300
_HEADER = struct.Struct("=IHHII")
_FAMILY = struct.Struct("!BBH")
"""``nfgenmsg``: family, version, resource."""
_ATTRIBUTE = struct.Struct("=HH")
_ERROR_CODE = struct.Struct("=i")
_NESTED, _TYPE = 0x8000, 0x3FFF
_ANSWER_BYTES = 1 << 17
_TIMEOUT_SECONDS = 10.0

Attributes = Mapping[int, bytes]


def attribute(number: int, value: bytes) -> bytes:
    """One attribute, padded."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), number) + value + bytes(-len(value) % 4)


def nested(number: int, *values: bytes) -> bytes:
    """An attribute that holds attributes."""
    return attribute(number | _NESTED, b"".join(values))


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes in a payload, by number."""
    return dict(all_attributes(data))


def all_attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes in a payload, in order; a list repeats its number."""
    place = 0
    while place + _ATTRIBUTE.size <= len(data):
        length, number = _ATTRIBUTE.unpack_from(data, place)
        if length < _ATTRIBUTE.size:
            return
        yield number & _TYPE, data[place + _ATTRIBUTE.size : place + length]
        place += length + (-length % 4)


class Netfilter:
    """A connection to netfilter in this network namespace. Use as a context manager; not safe for several threads.

    Calls block, and raise :class:`OSError` with the kernel's error.
    """

    def __enter__(self) -> "Netfilter":
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_NETFILTER)
        self._socket.settimeout(_TIMEOUT_SECONDS)
        self._number = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def dump(self, subsystem: int, kind: int, *, family: int = 0, payload: bytes = b"") -> Iterator[Attributes]:
        """All objects that match, as their attributes."""
        return self._ask(subsystem, kind, _REQUEST | _DUMP, family, payload)

    def get(self, subsystem: int, kind: int, *, family: int = 0, payload: bytes = b"") -> Attributes:
        """One object."""
        return next(iter(tuple(self._ask(subsystem, kind, _REQUEST | _ACK, family, payload))), {})

    def do(self, subsystem: int, kind: int, *, family: int = 0, payload: bytes = b"") -> None:
        """A request that is answered with success or an error alone."""
        for _ in self._ask(subsystem, kind, _REQUEST | _ACK, family, payload):
            pass

    def _ask(self, subsystem: int, kind: int, flags: int, family: int, payload: bytes) -> Iterator[Attributes]:
        self._number += 1
        body = _FAMILY.pack(family, 0, 0) + payload
        head = _HEADER.pack(_HEADER.size + len(body), subsystem << 8 | kind, flags, self._number, 0)
        self._socket.send(head + body)
        while True:
            for kind_, content in self._messages():
                if kind_ in (_DONE, _ERROR):
                    _raise_error(content)
                    return
                yield attributes(content[_FAMILY.size :])

    def _messages(self) -> Iterator[tuple[int, bytes]]:
        data = self._socket.recv(_ANSWER_BYTES)
        place = 0
        while place + _HEADER.size <= len(data):
            length, kind, _, number, _ = _HEADER.unpack_from(data, place)
            if length < _HEADER.size:
                raise OSError(errno.EPROTO, "netlink answered something else")
            # what remains of a dump that was not read to its end has another number
            if number == self._number:
                yield kind, data[place + _HEADER.size : place + length]
            place += length + (-length % 4)


def _raise_error(content: bytes) -> None:
    code = _ERROR_CODE.unpack_from(content)[0] if len(content) >= _ERROR_CODE.size else 0
    if code:
        raise OSError(-code, os.strerror(-code))
