"""A daemon that answers what a test tells it to, over real TLS."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import trustme
from aiohttp import web

from evenkeel.devices.haproxy.client import DaemonClient
from evenkeel.devices.haproxy.options import parse_options
from evenkeel.haproxyd import wire

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FakeDaemon:
    """``answer`` works on every request; ``asked`` says what came: method, path and query, body."""

    def __init__(self, host: str, ca_file: Path) -> None:
        self.host = host
        self.ca_file = ca_file
        self.asked: list[tuple[str, str, bytes]] = []
        self.authorization = ""
        self.answer: Answer = about

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path_qs, await request.read()))
        self.authorization = request.headers.get("Authorization", "")
        return await self.answer(request)

    def client(self, **changes: object) -> DaemonClient:
        given = {
            "haproxyd_url": f"https://{self.host}",
            "haproxyd_username": "agent",
            "haproxyd_password": "s3cret",
            "ca_file": str(self.ca_file),
            "connect_timeout": "60",  # where nobody is, the kernel says so at once
        }
        options = parse_options(given, environment="dev", group_number=1, host="host-1")
        return DaemonClient(self.host, msgspec.structs.replace(options, **changes))


def json(value: object, status: int = 200) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")

    return answer


def refusal(code: str, status: int, *, reason: str = "because", epoch: int | None = None) -> Answer:
    return json(wire.DaemonRefusal(code=code, reason=reason, epoch=epoch), status)  # type: ignore[arg-type]


def text(body: str, status: int) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=body, status=status)

    return answer


async def silence(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


about = json(wire.About(name="one", daemon_version="1", haproxy_version="2.6.12"))


@asynccontextmanager
async def fake_daemon(folder: Path) -> AsyncIterator[FakeDaemon]:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    daemon = FakeDaemon("", folder / "ca.pem")
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", daemon.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    daemon.host = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield daemon
    finally:
        await runner.cleanup()
