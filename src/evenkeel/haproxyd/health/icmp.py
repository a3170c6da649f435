"""One ICMP echo request, with any kind of socket that this host allows.

Unprivileged sockets where the host allows them (``net.ipv4.ping_group_range``), else raw ones (CAP_NET_RAW). Local
failures (no socket, memory or permission) say nothing about the server, and raise an error of their own.
"""

import errno
from collections.abc import Awaitable, Callable

import icmplib
from icmplib.utils import unique_identifier

NOT_PERMITTED = "no socket permitted; allow net.ipv4.ping_group_range, or give CAP_NET_RAW"
LOCAL_ERRORS = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN, errno.EPERM, errno.EACCES}
)
"""Errors of this host; others, such as a missing route, mean that the server cannot be reached."""

SendPing = Callable[[str, float], Awaitable[bool]]
"""Takes an address and a timeout in seconds; returns whether it answered. Raises :class:`PingImpossible`."""


class PingImpossible(Exception):
    """This host cannot send a ping now; the text gives the reason. The server's health is unknown."""


class IcmpPing:
    """Sends one echo request. Remembers which kind of socket the host allows."""

    def __init__(self) -> None:
        self._privileged = False

    async def __call__(self, address: str, timeout_seconds: float) -> bool:
        """Whether the address answered. Raises :class:`PingImpossible`."""
        for privileged in (self._privileged, not self._privileged):
            try:
                kind = icmplib.ICMPv6Socket if icmplib.is_ipv6_address(address) else icmplib.ICMPv4Socket
                with icmplib.AsyncSocket(kind(privileged=privileged)) as icmp:
                    self._privileged = privileged
                    return await _answers(icmp, address, timeout_seconds)
            except icmplib.SocketPermissionError:
                continue
            except icmplib.ICMPLibError as error:
                _raise_if_local(error)
                return False
        raise PingImpossible(NOT_PERMITTED)


async def _answers(icmp: icmplib.AsyncSocket, address: str, timeout_seconds: float) -> bool:
    request = icmplib.ICMPRequest(destination=address, id=unique_identifier(), sequence=0)
    icmp.send(request)
    reply = await icmp.receive(request, timeout_seconds)
    reply.raise_for_status()
    return True


def _raise_if_local(error: icmplib.ICMPLibError) -> None:
    """Raises :class:`PingImpossible` if the error is local; the kernel's error is its context."""
    cause = error.__context__
    if isinstance(cause, OSError) and cause.errno in LOCAL_ERRORS:
        raise PingImpossible(cause.strerror or "no socket") from error
