"""The daemon's server against strangers that send nothing, half of something, or no HTTP, and hold what they can."""

import asyncio
import contextlib
import gzip
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from structlog.testing import capture_logs

from evenkeel.haproxyd.api import credentials as credentials_module
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.api.server import HttpsServer
from evenkeel.haproxyd.api.tls import CertificateFiles, make_certificates, server_context
from tests.haproxyd.api import test_server
from tests.haproxyd.api.test_server import AUTH
from tests.waiting import eventually

PATIENCE_SECONDS = 60.0


class World:
    """A listening daemon and bare connections to it."""

    def __init__(self, folder: Path, files: CertificateFiles, settings: HttpSettings) -> None:
        behind = test_server.World(folder)
        self.server = HttpsServer(behind.app, server_context(files.certificate, files.key), settings)
        self.trust = ssl.create_default_context(cafile=files.authority)
        self.url = ""
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self, *, tls: bool = True) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A bare connection; without ``tls``: not even a handshake."""
        port = int(self.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=self.trust if tls else None)
        self._writers.append(writer)
        return reader, writer

    @property
    def held(self) -> int:
        """How many connections there are."""
        return len(self.server._server._connections)

    async def status(self, session: aiohttp.ClientSession, **more) -> int:
        async with session.get(f"{self.url}/v1", ssl=self.trust, headers=AUTH, **more) as answer:
            return answer.status

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
        await self.server.stop()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return make_certificates(tmp_path_factory.mktemp("tls") / "made", ["127.0.0.1"])


@contextlib.asynccontextmanager
async def daemon(folder: Path, files: CertificateFiles, **settings) -> AsyncIterator[World]:
    given = HttpSettings(
        certificate=files.certificate,
        key=files.key,
        credentials_file=folder / "credentials",
        host="127.0.0.1",
        port=0,
        **settings,
    )
    world = World(folder, files, given)
    world.url = await world.server.start()
    try:
        yield world
    finally:
        await world.close()


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What comes until the daemon hangs up."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        try:
            return await reader.read()
        except (ConnectionError, ssl.SSLError):
            return b""


async def test_silent_connections_keep_no_agent_out(tmp_path: Path, files: CertificateFiles) -> None:
    """They did for as long as they were held."""
    async with daemon(tmp_path, files, connections_max=20) as world, aiohttp.ClientSession() as agent:
        assert await world.status(agent) == 200
        for _ in range(40):
            await world.connect(tls=False)
        for _ in range(10):
            _, writer = await world.connect()
            writer.write(b"GET /v1 HTTP/1.1\r\n")
        await eventually(lambda: world.held == 20)
        async with aiohttp.ClientSession() as another:  # with a connection of its own
            assert await world.status(another) == 200
        assert await world.status(agent) == 200
        assert world.held <= 20


async def test_unauthenticated_connection_is_closed_in_time(tmp_path: Path, files: CertificateFiles) -> None:
    async with daemon(tmp_path, files, header_seconds=2.0, login_seconds=3.0) as world:
        silent, _ = await world.connect(tls=False)
        half, writer = await world.connect()
        writer.write(b"GET /v1 HTTP/1.1\r\n")
        busy, other = await world.connect()
        other.write(b"GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"401" in await busy.readuntil(b"\r\n")
        for reader in (silent, half, busy):
            await ended(reader)
        await eventually(lambda: world.held == 0)


async def test_half_a_request_on_an_agents_connection_ends_too(tmp_path: Path, files: CertificateFiles) -> None:
    async with daemon(tmp_path, files, header_seconds=2.0) as world:
        reader, writer = await world.connect()
        request = f"GET /v1 HTTP/1.1\r\nHost: x\r\nAuthorization: {AUTH['Authorization']}\r\n\r\n".encode()
        writer.write(request)
        assert b"200" in await reader.readuntil(b"\r\n")
        await reader.readuntil(b"}")
        writer.write(request[:20])
        await ended(reader)
        await eventually(lambda: world.held == 0)


async def test_a_slow_body_is_not_taken_for_a_header(tmp_path: Path, files: CertificateFiles) -> None:
    async with daemon(tmp_path, files, header_seconds=1.0) as world:
        reader, writer = await world.connect()
        body = b'{"epoch": 5, "load_balancers": []}'
        head = f"PUT /v1/partitions/p1 HTTP/1.1\r\nHost: x\r\nAuthorization: {AUTH['Authorization']}\r\n"
        writer.write(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body))
        for begin in range(0, len(body), 4):
            await asyncio.sleep(0.2)
            writer.write(body[begin : begin + 4])
        assert b"200" in await reader.readuntil(b"\r\n")


async def test_no_http_is_refused_without_a_traceback(
    tmp_path: Path, files: CertificateFiles, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials_module, "WRONG_PASSWORD_DELAY_SECONDS", 0.01)
    async with daemon(tmp_path, files) as world:
        with capture_logs() as logs:
            for data in (
                b"\0" * 100 + b"\r\n\r\n",
                b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000 + b"\r\n\r\n",
                b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000 + b"\r\n",
                b"PUT /v1 HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ):
                reader, writer = await world.connect()
                writer.write(data)
                assert (await ended(reader)).startswith((b"HTTP/1.1 400", b""))
        assert not caplog.records
        assert [entry["reason"] for entry in logs] == ["no HTTP request"]  # the others are summed up later


async def test_compressed_bodies_are_refused_unread(tmp_path: Path, files: CertificateFiles) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    async with daemon(tmp_path, files) as world, aiohttp.ClientSession() as agent:
        headers = {**AUTH, "Content-Encoding": "gzip"}
        url = f"{world.url}/v1/partitions/p1"
        async with agent.put(url, data=bomb, headers=headers, ssl=world.trust) as answer:
            assert answer.status == 400
            assert "Content-Encoding: 'gzip'; allowed is identity" in await answer.text()
