"""A daemon's process with its HAProxys on the lab's host, and an agent that speaks to it."""

import contextlib
import socket
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp

from evenkeel.haproxyd import wire
from tests.haproxyd.daemonworld import Client, Daemon
from tests.haproxyd.layer4.lab import Lab, in_namespace


class HostDaemon(Daemon):
    """``evenkeel-haproxyd`` in the host's network namespace, which is not a member's own host."""

    def __init__(self, folder: Path, lab: Lab, **options: object) -> None:
        super().__init__(folder, allow_loopback_addresses=False, **options)
        self.prefix = ("ip", "netns", "exec", lab.host)
        self._lab = lab

    def client(self, name: str = "agent-1", password: str = "correct horse battery") -> "HostClient":
        return HostClient(self.endpoint_file.read_text().strip(), self._context, name, password, self._lab)


class HostClient(Client):
    """Reaches the daemon's loopback address, in its namespace."""

    def __init__(self, *arguments: object) -> None:
        *others, lab = arguments
        super().__init__(*others)  # type: ignore[arg-type]
        self._lab = lab

    async def __aenter__(self) -> "HostClient":
        def opened(info: tuple[int, int, int, str, object]) -> socket.socket:
            return in_namespace(self._lab.host, lambda: socket.socket(*info[:3]))  # type: ignore[attr-defined]

        connector = aiohttp.TCPConnector(ssl=self._context, socket_factory=opened)  # type: ignore[arg-type]
        self._http = aiohttp.ClientSession(headers=self._headers, connector=connector)
        return self

    async def server(self, partition: str, name: str) -> wire.ServerStatus:
        """Status of a server."""
        seen = await self.observe(partition)
        return next(one for backend in seen.backends for one in backend.servers if one.name == name)

    async def listener(self, partition: str, name: str) -> wire.FrontendStatus:
        """Status of a listener."""
        seen = await self.observe(partition)
        return next(one for one in seen.frontends if one.name == name)


@contextlib.asynccontextmanager
async def running(lab: Lab) -> AsyncIterator[HostDaemon]:
    """A daemon that serves."""
    with tempfile.TemporaryDirectory() as folder:
        daemon = HostDaemon(Path(folder), lab)
        try:
            await daemon.start()
            yield daemon
        finally:
            daemon.clean_up()
