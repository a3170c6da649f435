"""One ICMP echo request, with any kind of socket that this host allows.

Unprivileged sockets are used where the host allows them (``net.ipv4.ping_group_range``), else raw sockets
(CAP_NET_RAW). Local failures (no socket, memory or permission) are independent of the server, and raise an
error of their own.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable

import icmplib
from icmplib.utils import unique_identifier

NO_SOCKET_PERMITTED_TEXT = "no socket permitted; allow net.ipv4.ping_group_range, or give CAP_NET_RAW"
LOCAL_ERROR_NUMBERS = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN, errno.EPERM, errno.EACCES}
)
"""Error numbers (``errno``) of this host's own failures, after which a probe says nothing about the server. Others mean
that the server cannot be reached; for UDP probes, ENETUNREACH is this host's failure, too.
"""

PACKET_BYTES_MAX = 1024

SendPing = Callable[[str, float], Awaitable[bool]]
"""Pings an address with a timeout in seconds; returns whether it answered. Raises :class:`PingImpossible`."""


class PingImpossible(Exception):
    """This host cannot send a ping now; the text gives the reason. The server's health is unknown."""


class PingNotPermitted(PingImpossible):
    """The host allows this process no socket for the check, until an operator changes that."""


class IcmpPing:
    """Sends ICMP echo requests, with a socket of the kind (unprivileged or raw) that the host allows."""

    def __init__(self) -> None:
        self._privileged = False

    async def __call__(self, address: str, timeout_seconds: float) -> bool:
        """Return whether the address answered within ``timeout_seconds``. Raises :class:`PingImpossible` if
        this host cannot send the ping now, :class:`PingNotPermitted` if it allows no ICMP socket.
        """
        # First the kind of socket that worked last time.
        for privileged in (self._privileged, not self._privileged):
            try:
                kind = icmplib.ICMPv6Socket if icmplib.is_ipv6_address(address) else icmplib.ICMPv4Socket
                with EchoSocket(kind(privileged=privileged)) as icmp:
                    self._privileged = privileged
                    return await _answers_echo(icmp, address, timeout_seconds)
            except TimeoutError:
                return False
            except icmplib.SocketPermissionError:
                # The host may permit the other kind of socket.
                continue
            except icmplib.ICMPLibError as error:
                _raise_if_local(error)
                return False
        raise PingNotPermitted(NO_SOCKET_PERMITTED_TEXT)


class EchoSocket(icmplib.AsyncSocket):  # type: ignore[misc]  # icmplib has no types
    """A socket that waits by the event loop's clock, which is monotonic.

    icmplib's own ``receive`` computes the remaining time from the wall clock: set back, it would wait for as long as
    the jump.
    """

    async def answer_to(self, request: icmplib.ICMPRequest) -> icmplib.ICMPReply:
        """Wait, without a limit, for the reply to this request, and return it. Raises
        :class:`icmplib.ICMPSocketError` if the socket fails.
        """
        while True:
            reply = self._parse_reply(packet=await self._build_packet(), source=None, current_time=0.0)
            if reply and (reply.id, reply.sequence) == (request.id, request.sequence):
                return reply
            await asyncio.sleep(0)  # raw sockets get the answers of all pings, and others have to run, too

    async def _build_packet(self) -> bytes:
        try:
            return await asyncio.get_running_loop().sock_recv(self.sock, PACKET_BYTES_MAX)
        except OSError as error:
            raise icmplib.ICMPSocketError(str(error)) from error


async def _answers_echo(icmp: EchoSocket, address: str, timeout_seconds: float) -> bool:
    """Send one echo request, and return True when the address answers it. Raises :class:`TimeoutError` if it
    does not in time, :class:`icmplib.ICMPLibError` for an ICMP error or a failure to send.
    """
    request = icmplib.ICMPRequest(destination=address, id=unique_identifier(), sequence=0)
    icmp.send(request)
    async with asyncio.timeout(timeout_seconds):
        reply = await icmp.answer_to(request)
    reply.raise_for_status()
    return True


def _raise_if_local(error: icmplib.ICMPLibError) -> None:
    """Raise :class:`PingImpossible` if the error is one of this host; the kernel's error is its context."""
    cause = error.__context__
    if isinstance(cause, OSError) and cause.errno in LOCAL_ERROR_NUMBERS:
        raise PingImpossible(cause.strerror or "no socket") from error
