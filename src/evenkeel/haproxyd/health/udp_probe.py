"""One UDP check: an empty datagram from a connected socket, and what comes back.

An answer, or nothing within the time-out, counts as up, as in Octavia's UDP-CONNECT: most servers do not answer what
they do not understand. "Port unreachable" and "host unreachable" count as down; only connected sockets receive them.
Hosts limit how many of these they send: six at once, then one in a second for each host that asks. So an address is
asked at most once in a second, whatever the number of its ports. Clients' datagrams, which come from this host too, use
up these errors; so silence counts as down while the kernel sees a server refuse them.
"""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Awaitable, Callable

from evenkeel.haproxyd.health.icmp import LOCAL_ERROR_NUMBERS, PingImpossible

PROBE_INTERVAL_SECONDS = 1.0
ADDRESSES_MAX = 100_000
DATAGRAM_BYTES_MAX = 2048

SendProbe = Callable[[str, int, float], Awaitable[bool]]
"""Probes address and port with a timeout in seconds; returns whether the server is up. Raises
:class:`PingImpossible`.
"""


RefusesDatagrams = Callable[[str, int], Awaitable[bool]]
"""Returns whether the server at this address and port has refused a client's datagram in the last seconds."""


async def _never_refuses(_address: str, _port: int) -> bool:
    return False


class UdpProbe:
    """Checks servers over UDP; checks of one address begin at least ``interval_seconds`` apart. ``refuses``:
    whether a server has just refused a client's datagram.
    """

    def __init__(
        self, interval_seconds: float = PROBE_INTERVAL_SECONDS, refuses: RefusesDatagrams = _never_refuses
    ) -> None:
        self._interval_seconds = interval_seconds
        self._refuses = refuses
        self._next_at_seconds: dict[str, float] = {}
        """``{address: time from which it may be probed again}``."""

    async def __call__(self, address: str, port: int, timeout_seconds: float) -> bool:
        """Return whether the server is up: it answers an empty datagram, or refuses neither that nor a
        client's datagram within ``timeout_seconds``. Raises :class:`PingImpossible` if this host cannot
        send the probe.
        """
        await self._wait_for_turn(address)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        loop = asyncio.get_running_loop()
        try:
            with contextlib.closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
                probe.setblocking(False)
                probe.connect((address, port))
                probe.send(b"")
                async with asyncio.timeout(timeout_seconds):
                    await loop.sock_recv(probe, DATAGRAM_BYTES_MAX)
        except TimeoutError:
            return not await self._refuses(address, port)
        except OSError as error:
            # without a route, the fault is this host's
            if error.errno in LOCAL_ERROR_NUMBERS or error.errno == errno.ENETUNREACH:
                raise PingImpossible(error.strerror or "no socket") from error
            return False
        return True

    async def _wait_for_turn(self, address: str) -> None:
        now = asyncio.get_running_loop().time()
        at = max(now, self._next_at_seconds.get(address, now))
        if len(self._next_at_seconds) >= ADDRESSES_MAX:
            self._next_at_seconds = {one: when for one, when in self._next_at_seconds.items() if when > now}
        self._next_at_seconds[address] = at + self._interval_seconds
        if at > now:
            await asyncio.sleep(at - now)
