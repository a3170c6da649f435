"""Something between agents and the daemon beside HAProxy that delays writes of one of them, as a network may."""

import asyncio
import base64
from pathlib import Path

import aiohttp
from aiohttp import web

from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.haproxy import DAEMON_PROCESS, HaproxyDevices
from evenkeel.haproxyd.api.tls import CertificateFiles, server_context

BODY_BYTES_MAX = 64 * 1024 * 1024


class Gate:
    """Listens with the daemon's own certificate, so that the agent notices nothing, and forwards every request."""

    def __init__(self, cluster: Cluster) -> None:
        assert isinstance(cluster.side, HaproxyDevices)
        self._side = cluster.side
        self._files = CertificateFiles(folder=Path(cluster.directory) / "etc" / DAEMON_PROCESS)
        self._open = asyncio.Event()
        self._open.set()
        self._host = ""
        self.held = 0
        self.url = ""

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        trust = self._side.daemon.tls_context()
        self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust))
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        app.router.add_route("*", "/{path:.*}", self._forward)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        context = server_context(self._files.certificate, self._files.key)
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        self.url = f"https://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        """Forward nothing more."""
        self._open.set()
        await self._runner.cleanup()
        await self._http.close()

    def hold(self, host: str) -> None:
        """Keep the writes of the agent of ``host`` back from now on."""
        self._host = host
        self._open.clear()

    def release(self) -> None:
        """Let all pass."""
        self._open.set()

    async def _forward(self, request: web.Request) -> web.Response:
        body = await request.read()
        if request.method in ("PUT", "PATCH") and agent_of(request) == self._host and not self._open.is_set():
            self.held += 1
            await self._open.wait()
            self.held -= 1
        headers = {name: request.headers[name] for name in ("Authorization", "Content-Type")}
        url = self._side.daemon.url + request.path_qs
        async with self._http.request(request.method, url, data=body, headers=headers) as answer:
            return web.Response(
                status=answer.status, body=await answer.read(), headers={"Content-Type": "application/json"}
            )


def agent_of(request: web.Request) -> str:
    """The name in its credential."""
    encoded = request.headers["Authorization"].removeprefix("Basic ")
    return base64.b64decode(encoded).decode().partition(":")[0]
