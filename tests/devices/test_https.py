"""What every device client has of the one transport: limits, turns, and failures as errors of the core."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from structlog.testing import capture_logs
from yarl import URL

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.kit.values import Value
from evenkeel.devices import https
from evenkeel.devices.errors import NoAnswer, RequestNotSent
from evenkeel.devices.https import HttpsTransport, tls_context
from tests.devices.haproxy.fake import FakeDaemon, fake_daemon, silence, text
from tests.waiting import eventually


class Options(Value):
    ca_file: str
    verify_tls: bool = True
    connect_timeout_seconds: float = 60.0
    agent_host: str = "host-1"


@pytest.fixture
async def device(tmp_path: Path) -> AsyncIterator[FakeDaemon]:
    async with fake_daemon(tmp_path) as running:
        yield running


@pytest.fixture
async def transport(device: FakeDaemon) -> AsyncIterator[HttpsTransport]:
    made = HttpsTransport(device.host, Options(ca_file=str(device.ca_file)), requests_max=1)
    yield made
    await made.close()


async def test_status_and_body_are_given_whatever_they_say(device: FakeDaemon, transport: HttpsTransport) -> None:
    device.answer = text("no", 418)
    assert await transport.exchange("POST", "/a?b=%2Fc", b"{}", timeout_seconds=60) == (418, b"no")
    assert device.asked == [("POST", "/a?b=%2Fc", b"{}")]


async def test_an_answer_that_is_too_large_is_given_up(
    device: FakeDaemon, transport: HttpsTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(https, "ANSWER_BYTES_MAX", 100)
    device.answer = text("x" * 101, 200)
    with pytest.raises(DeviceUnavailable, match="more than 100 bytes"):
        await transport.exchange("GET", "/", timeout_seconds=60)


async def test_waiting_for_a_turn_does_not_count_and_liveness_needs_none(
    device: FakeDaemon, transport: HttpsTransport
) -> None:
    device.answer = silence
    silent = asyncio.create_task(transport.exchange("GET", "/slow", timeout_seconds=60))
    await eventually(lambda: len(device.asked) == 1)
    queued = asyncio.create_task(transport.exchange("GET", "/queued", timeout_seconds=60))
    device.answer = text("here", 200)
    assert await transport.is_responding("/alive", timeout_seconds=60)
    assert not queued.done()
    silent.cancel()
    assert await queued == (200, b"here")


async def test_silence_is_distinguished_from_what_was_never_sent(device: FakeDaemon, transport: HttpsTransport) -> None:
    device.answer = silence
    with pytest.raises(NoAnswer, match=r"within 0\.2 s"):
        await transport.exchange("GET", "/", timeout_seconds=0.2)
    stranger = HttpsTransport(device.host, Options(ca_file=""), requests_max=1)
    with pytest.raises(RequestNotSent, match="certificate is not accepted"):
        await stranger.exchange("GET", "/", timeout_seconds=60)
    await stranger.close()


async def test_another_authority_and_other_credentials_count_from_the_next_request(device: FakeDaemon) -> None:
    authorizations: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        authorizations.append(request.headers.get("Authorization", ""))
        return web.Response()

    device.answer = answer
    transport = HttpsTransport(device.host, Options(ca_file=""), requests_max=1)
    with pytest.raises(RequestNotSent):
        await transport.exchange("GET", "/", timeout_seconds=60)
    transport.use_tls_context(tls_context(Options(ca_file=str(device.ca_file))))
    await transport.exchange("GET", "/", timeout_seconds=60)
    transport.authenticate("Basic x")
    await transport.exchange("GET", "/", timeout_seconds=60)
    transport.use_tls_context(tls_context(Options(ca_file="")))
    with pytest.raises(RequestNotSent):
        await transport.exchange("GET", "/", timeout_seconds=60)
    assert authorizations == ["", "Basic x"]
    await transport.close()


async def test_debug_shows_each_request_without_its_secrets(device: FakeDaemon, transport: HttpsTransport) -> None:
    transport.authenticate("Basic c2VjcmV0")
    with capture_logs() as logs:
        await transport.exchange("POST", "/a", b"{}", timeout_seconds=60)
        await transport.exchange("DELETE", "/tokens/c2VjcmV0", timeout_seconds=60, logged_path="/tokens/...")
        device.answer = silence
        with pytest.raises(NoAnswer):
            await transport.exchange("GET", "/b?c=d", timeout_seconds=0.2)
    told = [(entry["method"], entry["path"], entry["status"], entry["sent_bytes"]) for entry in logs]
    assert told == [("POST", "/a", 200, 2), ("DELETE", "/tokens/...", 200, 0), ("GET", "/b?c=d", "no answer", 0)]
    assert {entry["log_level"] for entry in logs} == {"debug"} and "c2VjcmV0" not in str(logs)


@pytest.mark.parametrize(("attempts_max", "sent"), [(1, 1), (2, 2)])
async def test_a_request_over_a_closed_connection_is_repeated_only_where_that_is_harmless(
    device: FakeDaemon, attempts_max: int, sent: int
) -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    device.answer = hang_up
    transport = HttpsTransport(
        device.host, Options(ca_file=str(device.ca_file)), requests_max=1, attempts_max=attempts_max
    )
    with pytest.raises(DeviceUnavailable, match="connection lost"):
        await transport.exchange("POST", "/", timeout_seconds=60)
    assert len(device.asked) == sent
    await transport.close()


async def test_the_wire_is_all_that_a_twin_has_to_replace() -> None:
    class Twin(HttpsTransport):
        async def _send_request(self, method: str, url: URL, body: bytes | None, headers: object) -> tuple[int, bytes]:
            if url.path == "/lost":
                raise aiohttp.ServerDisconnectedError
            return 200, url.path.encode()

    twin = Twin("bigip-1", Options(ca_file=""), requests_max=1)
    assert await twin.exchange("GET", "/x", timeout_seconds=1) == (200, b"/x")
    with pytest.raises(DeviceUnavailable, match="connection lost"):
        await twin.exchange("GET", "/lost", timeout_seconds=1)
