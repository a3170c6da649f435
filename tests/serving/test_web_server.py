"""The server of an aiohttp application on sockets, with limits."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from evenkeel.metrics.server import ScrapeLimits
from evenkeel.serving.web_server import WebServer


async def _hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


@asynccontextmanager
async def serving(sockets: int = 1, **options: Any) -> AsyncIterator[tuple[WebServer, list[str]]]:
    app = web.Application()
    app.router.add_get("/", _hello)
    listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(sockets)]
    server = WebServer(app, name="test", limits=ScrapeLimits(), **{"connections_max": 8, **options})
    await server.start(listening)
    try:
        yield server, [f"http://127.0.0.1:{each.getsockname()[1]}/" for each in listening]
    finally:
        await server.stop()


async def test_application_is_served_on_all_sockets() -> None:
    async with serving(sockets=2) as (_, urls), aiohttp.ClientSession() as session:
        for url in urls:
            async with session.get(url) as answer:
                assert (answer.status, await answer.text()) == (200, "hello")


async def test_nothing_is_served_after_the_stop() -> None:
    async with serving() as (server, (url,)), aiohttp.ClientSession() as session:
        await server.stop()
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(url)


async def test_input_that_is_not_http_gets_the_response_of_the_server() -> None:
    def bad_request(status: int) -> web.Response:
        return web.Response(status=status, text="speak HTTP")

    async with (
        serving(bad_request=bad_request) as (_, (url,)),
        aiohttp.ClientSession() as session,
        session.get(url, headers={"Content-Length": "-1"}) as answer,
    ):
        assert (answer.status, await answer.text()) == (400, "speak HTTP")
