"""TCP in memory, as asyncio's streams and aiohttp use it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import trustme
from aiohttp import web

HOST = "127.0.0.1"


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.read())
    writer.close()


@asynccontextmanager
async def serving(handle: object, **options: object) -> AsyncIterator[int]:
    """The port."""
    server = await asyncio.start_server(handle, HOST, 0, **options)  # type: ignore[arg-type]
    async with server:
        port: int = server.sockets[0].getsockname()[1]
        yield port


@pytest.mark.parametrize("size", [0, 1, 10_000_000])
async def test_all_that_is_written_arrives_in_order(size: int) -> None:
    sent = bytes(number % 251 for number in range(size))
    async with serving(echo) as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        for start in range(0, size, 70_000):
            writer.write(sent[start : start + 70_000])
        writer.write_eof()
        assert await reader.read() == sent
        writer.close()


async def test_port_refuses_connections_before_and_after_its_server() -> None:
    async with serving(echo) as port:
        pass
    for closed in (port, port + 1):
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(HOST, closed)


async def test_a_port_has_one_server() -> None:
    async with serving(echo) as port:
        with pytest.raises(OSError, match="in use"):
            await asyncio.start_server(echo, HOST, port)


async def test_an_aborted_connection_is_reset_at_the_other_end() -> None:
    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with serving(reset) as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()


async def test_unread_data_waits() -> None:
    async with serving(echo) as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        transport = writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        writer.write(b"later")
        writer.write_eof()
        await asyncio.sleep(60.0)
        assert not reader.at_eof()
        transport.resume_reading()
        assert await reader.read() == b"later"
        writer.close()


async def test_https_requests_are_answered_and_unknown_authorities_refused() -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.configure_trust(here)
    authority.issue_cert(HOST).configure_cert(there)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0, ssl_context=there).start()
    url = f"https://{HOST}:{runner.addresses[0][1]}/"
    async with aiohttp.ClientSession() as http:
        for _ in range(2):  # on one connection
            async with http.post(url, data=b"x" * 500_000, ssl=here) as got:
                assert await got.read() == b"x" * 500_000
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await http.post(url, ssl=ssl.create_default_context())
    await asyncio.sleep(1.0)  # the session's connections close by and by
    await runner.cleanup()
