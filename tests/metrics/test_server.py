"""``/metrics`` over HTTP and HTTPS, to Prometheus and to strangers."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from evenkeel.haproxyd.api.tls import make_certificates, server_context
from evenkeel.metrics.server import ScrapeLimits, ScrapeServer, expose_registry
from tests.waiting import eventually

LIMITS = ScrapeLimits()


@asynccontextmanager
async def serving(
    tls: ssl.SSLContext | None = None, limits: ScrapeLimits = LIMITS, calls: list[int] | None = None
) -> AsyncIterator[tuple[str, ScrapeServer]]:
    """A server with one counter; yields host:port."""
    registry = CollectorRegistry()
    counter = Counter("takeovers_total", "Takeovers.", registry=registry)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))

    async def before() -> None:
        counter.inc()
        if calls is not None:
            calls.append(1)

    server = ScrapeServer(listening, tls=tls, expose=expose_registry(registry, before), limits=limits)
    await server.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}", server
    finally:
        await server.stop()


async def test_the_exposition_is_what_was_set_just_before() -> None:
    async with serving() as (place, _), aiohttp.ClientSession() as session:
        for expected in (1.0, 2.0):
            async with session.get(f"http://{place}/metrics") as answer:
                assert answer.status == 200
                assert answer.headers["Content-Type"].startswith("text/plain")
                families = {each.name: each for each in text_string_to_metric_families(await answer.text())}
            assert families["takeovers"].samples[0].value == expected


async def test_openmetrics_for_those_who_request_it() -> None:
    accept = {"Accept": "application/openmetrics-text;version=1.0.0"}
    async with (
        serving() as (place, _),
        aiohttp.ClientSession(headers=accept) as session,
        session.get(f"http://{place}/metrics") as answer,
    ):
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        assert [each.name for each in read_openmetrics(await answer.text())] == ["takeovers"]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/", 404), ("POST", "/metrics", 405)])
async def test_there_is_nothing_else(method: str, path: str, status: int) -> None:
    calls: list[int] = []
    async with (
        serving(calls=calls) as (place, _),
        aiohttp.ClientSession() as session,
        session.request(method, f"http://{place}{path}") as answer,
    ):
        assert answer.status == status
    assert not calls


async def test_a_connection_without_a_request_is_closed() -> None:
    async with serving(limits=ScrapeLimits(header_seconds=0.1)) as (place, server):
        host, port = place.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /met")
        assert await asyncio.wait_for(reader.read(), timeout=60) == b""
        writer.close()
        await eventually(lambda: not len(server._server._connections))


async def test_over_tls_and_with_another_certificate_later(tmp_path: Path) -> None:
    first = make_certificates(tmp_path / "first", ["127.0.0.1"])
    second = make_certificates(tmp_path / "second", ["127.0.0.1"])

    async def scrape(place: str, authority: Path) -> int:
        trust = ssl.create_default_context(cafile=authority)
        async with aiohttp.ClientSession() as session, session.get(f"https://{place}/metrics", ssl=trust) as answer:
            return answer.status

    async with serving(server_context(first.certificate, first.key)) as (place, server):
        assert await scrape(place, first.authority) == 200
        server.use_tls(server_context(second.certificate, second.key))
        assert await scrape(place, second.authority) == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await scrape(place, first.authority)
