"""A virtual-time loop for unchanged code: TCP in memory, and jobs of thread pools that are done at once.

Sockets of other kinds, files that are watched and processes raise :class:`NotImplementedError`.
"""

import asyncio
import itertools
import socket
from collections.abc import Callable
from typing import Any

from tests.sim.loop import SimLoop
from tests.virtual.tcp import Network

TURN_SECONDS = 1e-6
"""Time that one turn of the loop takes: code that only yields to others lets time pass, too."""


class _Selector:
    """Never blocks: lets the time pass instead."""

    def __init__(self, loop: "VirtualLoop", waiting: Any) -> None:
        self._loop = loop
        self._waiting = waiting

    def select(self, timeout: float | None) -> list[Any]:
        self._loop.turns += 1
        if timeout == 0:
            self._loop.now += TURN_SECONDS
            return []
        found: list[Any] = self._waiting.select(timeout)
        return found


class VirtualLoop(SimLoop):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0
        """How often the loop went round: two runs of one test have the same number."""
        self.numbers = itertools.count(1)
        """For whatever needs a name that is unique in this loop."""
        self._selector = _Selector(self, self._selector)  # type: ignore[assignment]
        self._network = Network(self)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":
        """The job is done before this returns."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    call_exception_handler = asyncio.BaseEventLoop.call_exception_handler

    def deaf_address(self) -> str:
        """Host and port of a server that answers no SYN."""
        return self._network.deaf_address()

    # -- TCP: asyncio's own functions do the rest

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> asyncio.Server:
        """A server in memory, on one address. Raises :class:`OSError` if another has it."""
        return self._network.serve(protocol_factory, str(host or "127.0.0.1"), int(port or 0), options)

    def _start_serving(self, protocol_factory: Any, sock: Any, *options: Any) -> None:
        self._network.listen(protocol_factory, sock, *options)

    def _stop_serving(self, sock: Any) -> None:
        self._network.stop_listening(sock)

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Raises :class:`ConnectionRefusedError` if there is no server in memory."""
        await asyncio.sleep(0)
        if self._network.is_deaf(address):
            await self.create_future()
        self._network.connect(sock, address)

    def _make_socket_transport(self, sock: Any, protocol: Any, waiter: Any = None, **_: Any) -> asyncio.Transport:
        return self._network.transport(sock, protocol, waiter)

    def _make_ssl_transport(
        self, rawsock: Any, protocol: Any, sslcontext: Any, waiter: Any = None, **options: Any
    ) -> asyncio.Transport:
        return self._network.tls_transport(rawsock, protocol, sslcontext, waiter, options)


def is_virtual() -> bool:
    """Whether the running loop is a virtual one."""
    return isinstance(asyncio.get_running_loop(), VirtualLoop)
