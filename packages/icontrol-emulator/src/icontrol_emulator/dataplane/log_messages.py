"""Messages of `HSL::send` to log servers: a datagram each, or bytes of a connection that stays while there are some."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from dataclasses import dataclass, field

from icontrol_emulator.dataplane import streams
from icontrol_emulator.dataplane.networks import Network

WAITING_MAX = 10_000
"""Messages that wait for a connection to one server; more are lost."""


@dataclass(slots=True)
class LogMessages:
    """The messages of one device."""

    _waiting: dict[tuple[str, int], deque[bytes]] = field(default_factory=dict)
    _senders: set[asyncio.Task[None]] = field(default_factory=set)

    def send(self, protocol: str, place: tuple[str, int], network: Network, data: bytes) -> None:
        """Send a message; one that cannot be delivered is lost."""
        if protocol == "UDP":
            with contextlib.suppress(OSError):
                self._datagram(place, network, data)
            return
        if place in self._waiting:
            if len(self._waiting[place]) < WAITING_MAX:
                self._waiting[place].append(data)
            return
        self._waiting[place] = deque([data])
        task = asyncio.get_running_loop().create_task(self._stream(place, network))
        self._senders.add(task)
        task.add_done_callback(self._senders.discard)

    def _datagram(self, place: tuple[str, int], network: Network, data: bytes) -> None:
        family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        with network.make_socket(family, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            network.bind(sock, None)
            sock.sendto(data, place)

    async def _stream(self, place: tuple[str, int], network: Network) -> None:
        waiting = self._waiting[place]
        try:
            with contextlib.suppress(OSError), await streams.dial(*place, network=network) as sock:
                while waiting:
                    await asyncio.get_running_loop().sock_sendall(sock, waiting.popleft())
        finally:
            del self._waiting[place]

    async def stop(self) -> None:
        """End the connections; what still waits is lost."""
        for task in list(self._senders):
            task.cancel()
        await asyncio.gather(*self._senders, return_exceptions=True)
