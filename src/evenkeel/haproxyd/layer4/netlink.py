"""Requests to netfilter over netlink (netlink(7); the kernel's ``nfnetlink.h``): dumps, single requests, and batches,
which are transactions of nftables. Linux only.

The library and the command of nftables read the whole ruleset of the host before each change and each listing; nothing
of that is needed here.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping

NETLINK_NETFILTER = 12
CONNTRACK, NFTABLES = 1, 10
"""Numbers of netfilter's subsystems."""
_ERROR, _DONE = 2, 3
_BATCH_BEGIN, _BATCH_END = 16, 17
_REQUEST, _ACK, _DUMP = 1, 4, 0x300
_HEADER_STRUCT = struct.Struct("=IHHII")
_FAMILY_STRUCT = struct.Struct("!BBH")
"""The kernel's ``struct nfgenmsg``: family, version, resource."""
_ATTRIBUTE_STRUCT = struct.Struct("=HH")
_ERROR_CODE = struct.Struct("=i")
_NESTED, _TYPE = 0x8000, 0x3FFF
_ANSWER_BYTES = 1 << 17
_TIMEOUT_SECONDS = 10.0

_INET_FAMILY = 1
_SO_SNDBUFFORCE = 32
_BUFFER_BYTES = 1 << 17

NetlinkAttributes = Mapping[int, bytes]
NetlinkMessage = tuple[int, int, bytes]
"""Kind, flags and encoded attributes of a message to nftables."""


def bytes_attribute(number: int, value: bytes) -> bytes:
    """Encode one netlink attribute with this number and value, padded to 4 bytes."""
    return _ATTRIBUTE_STRUCT.pack(_ATTRIBUTE_STRUCT.size + len(value), number) + value + bytes(-len(value) % 4)


def text_attribute(number: int, text: str) -> bytes:
    """Encode a netlink attribute whose value is a text that ends with a zero byte."""
    return bytes_attribute(number, text.encode() + b"\0")


def number32_attribute(number: int, value: int) -> bytes:
    """Encode a netlink attribute whose value is a number of 32 bits, in network byte order."""
    return bytes_attribute(number, struct.pack("!I", value))


def number64_attribute(number: int, value: int) -> bytes:
    """Encode a netlink attribute whose value is a number of 64 bits, in network byte order."""
    return bytes_attribute(number, struct.pack("!Q", value))


def nested_attribute(number: int, *values: bytes) -> bytes:
    """Encode a netlink attribute that contains the given encoded attributes."""
    return bytes_attribute(number | _NESTED, b"".join(values))


def decode_attributes(data: bytes) -> dict[int, bytes]:
    """Decode the netlink attributes in a payload, ``{number: value}``; of several with one number the last."""
    return dict(iterate_attributes(data))


def iterate_attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Decode the netlink attributes in a payload, in order, as (number, value); the items of a list have the
    same number. Stops at a malformed one.
    """
    place = 0
    while place + _ATTRIBUTE_STRUCT.size <= len(data):
        length, number = _ATTRIBUTE_STRUCT.unpack_from(data, place)
        if length < _ATTRIBUTE_STRUCT.size:
            return
        yield number & _TYPE, data[place + _ATTRIBUTE_STRUCT.size : place + length]
        place += length + (-length % 4)


class TransactionRefused(OSError):
    """The kernel refused one message of a transaction, and carried out none. ``place``: index of that message; -1: the
    kernel refused the commit.
    """

    def __init__(self, code: int | None, text: str, message_index: int) -> None:
        super().__init__(code, text)
        self.place = message_index

    def __str__(self) -> str:
        return str(self.strerror)


class NetfilterSocket:
    """A connection to netfilter in this network namespace. Use as a context manager; not safe for several
    threads.

    Calls block, at most 10 s for each answer, and raise :class:`OSError` with the kernel's error.
    """

    def __enter__(self) -> "NetfilterSocket":
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_NETFILTER)
        self._socket.settimeout(_TIMEOUT_SECONDS)
        self._number = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def dump(self, subsystem: int, kind: int, *, family: int = 0, payload: bytes = b"") -> Iterator[NetlinkAttributes]:
        """Yield the decoded attributes of each object of a kind that matches ``payload``. Raises
        :class:`OSError`.
        """
        return map(decode_attributes, self.dump_contents(subsystem, kind, family=family, payload=payload))

    def dump_contents(self, subsystem: int, kind: int, *, family: int = 0, payload: bytes = b"") -> Iterator[bytes]:
        """Yield the attributes of each object of a kind that matches ``payload``, as the kernel encodes them.
        Raises :class:`OSError`.
        """
        return self._send_and_receive(subsystem, kind, _REQUEST | _DUMP, family, payload)

    def get(self, subsystem: int, kind: int, *, family: int = 0, payload: bytes = b"") -> NetlinkAttributes:
        """Return the decoded attributes of one object; empty if the kernel sent none. Raises
        :class:`OSError`.
        """
        found = tuple(self._send_and_receive(subsystem, kind, _REQUEST | _ACK, family, payload))
        return decode_attributes(found[0]) if found else {}

    def execute(self, subsystem: int, kind: int, *, family: int = 0, payload: bytes = b"") -> None:
        """Send a request that the kernel answers only with success or an error. Raises :class:`OSError` for
        an error.
        """
        for _ in self._send_and_receive(subsystem, kind, _REQUEST | _ACK, family, payload):
            pass

    def transact(self, messages: Iterable[NetlinkMessage], *, dry_run: bool = False) -> None:
        """Have nftables carry out all messages in one transaction, so that no packet meets a part of it;
        without messages, nothing is sent.

        ``dry_run``: the kernel checks the messages and changes nothing. Raises :class:`TransactionRefused` if
        it refuses one, and none was carried out; :class:`OSError`.
        """
        marker = _FAMILY_STRUCT.pack(0, 0, NFTABLES)
        parts = [self._build_message(_BATCH_BEGIN, _REQUEST, marker)]
        begin = self._number
        for kind, flags, payload in messages:
            parts.append(
                self._build_message(
                    NFTABLES << 8 | kind, flags | _REQUEST, _FAMILY_STRUCT.pack(_INET_FAMILY, 0, 0) + payload
                )
            )
        if self._number == begin:
            return
        # answers come after the commit: all errors, and the one acknowledgement that is asked for
        parts[-1] = _request_acknowledgement(parts[-1])
        last = self._number
        # the kernel takes back a batch without its end
        parts += [] if dry_run else [self._build_message(_BATCH_END, _REQUEST, marker)]
        data = b"".join(parts)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, len(data) + _BUFFER_BYTES)
        self._socket.send(data)
        while True:
            for number, kind, content in self._receive_messages():
                if kind == _ERROR and begin <= number <= last:
                    if code := _error_code(content):
                        # an error of the commit has the first message's number
                        raise TransactionRefused(code, os.strerror(code), number - begin - 1)
                    if number == last:
                        return

    def _build_message(self, kind: int, flags: int, body: bytes) -> bytes:
        self._number += 1
        return _HEADER_STRUCT.pack(_HEADER_STRUCT.size + len(body), kind, flags, self._number, 0) + body

    def _send_and_receive(self, subsystem: int, kind: int, flags: int, family: int, payload: bytes) -> Iterator[bytes]:
        self._socket.send(
            self._build_message(subsystem << 8 | kind, flags, _FAMILY_STRUCT.pack(family, 0, 0) + payload)
        )
        while True:
            for number, kind_, content in self._receive_messages():
                # what remains of a dump that was not read to its end has another number
                if number != self._number:
                    continue
                if kind_ in (_DONE, _ERROR):
                    _raise_error(content)
                    return
                yield content[_FAMILY_STRUCT.size :]

    def _receive_messages(self) -> Iterator[tuple[int, int, bytes]]:
        """Wait for the kernel's next datagram, and yield the sequence number, kind and content of each
        message in it. Raises :class:`OSError`.
        """
        data = self._socket.recv(_ANSWER_BYTES)
        place = 0
        while place + _HEADER_STRUCT.size <= len(data):
            length, kind, _, number, _ = _HEADER_STRUCT.unpack_from(data, place)
            if length < _HEADER_STRUCT.size:
                raise OSError(errno.EPROTO, "netlink answered something else")
            yield number, kind, data[place + _HEADER_STRUCT.size : place + length]
            place += length + (-length % 4)


def _request_acknowledgement(message: bytes) -> bytes:
    length, kind, flags, number, port = _HEADER_STRUCT.unpack_from(message)
    return _HEADER_STRUCT.pack(length, kind, flags | _ACK, number, port) + message[_HEADER_STRUCT.size :]


def _error_code(content: bytes) -> int:
    """Return the error number in a netlink answer; 0: success."""
    return -_ERROR_CODE.unpack_from(content)[0] if len(content) >= _ERROR_CODE.size else 0


def _raise_error(content: bytes) -> None:
    if code := _error_code(content):
        raise OSError(code, os.strerror(code))
