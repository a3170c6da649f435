"""How a daemon is spoken to, and what its answers become."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, StaleOwner
from evenkeel.core.ports import Reloadable
from evenkeel.devices.errors import NoAnswer, PartitionUnavailable
from evenkeel.devices.haproxy import open_group
from evenkeel.haproxyd import wire
from tests.devices.haproxy.fake import Answer, FakeDaemon, about, fake_daemon, json, refusal, silence, text
from tests.waiting import eventually

CHANGE = wire.PartitionChange(epoch=3)


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[FakeDaemon]:
    async with fake_daemon(tmp_path) as running:
        yield running


async def test_each_operation_is_one_request(daemon: FakeDaemon) -> None:
    client = daemon.client()
    await client.read_about()
    daemon.answer = json(wire.GuardState(epoch=3))
    await client.set_guard("dev_p", wire.GuardState(epoch=3))
    daemon.answer = json(wire.Receipt(outcomes=(), how="nothing"))
    await client.put("dev_p", CHANGE)
    await client.patch("dev_p", CHANGE)
    daemon.answer = json(wire.DaemonObservation(event=7))
    assert (await client.read_observation()).event == 7
    assert (await client.read_observation(5.0)).event == 7
    daemon.answer = json(wire.DaemonEvents(newest=9))
    assert (await client.wait_for_events(7, 25)).newest == 9
    assert daemon.asked == [
        ("GET", "/v1", b""),
        ("POST", "/v1/partitions/dev_p/guard", b'{"epoch":3}'),
        ("PUT", "/v1/partitions/dev_p", b'{"epoch":3}'),
        ("PATCH", "/v1/partitions/dev_p", b'{"epoch":3}'),
        ("GET", "/v1/observation", b""),
        ("GET", "/v1/observation?within=5", b""),
        ("GET", "/v1/events?after=7&wait=25", b""),
    ]
    assert daemon.authorization == "Basic YWdlbnQ6czNjcmV0"
    await client.close()


async def test_a_partition_that_does_not_exist_holds_nothing(daemon: FakeDaemon) -> None:
    client = daemon.client()
    daemon.answer = refusal("not_found", 404)
    assert await client.held_load_balancers("dev_p") == ()
    one = wire.LoadBalancerConfig(id="lb", revision=1)
    daemon.answer = json(wire.PartitionConfig(name="dev_p", epoch=1, load_balancers=(one,)))
    assert await client.held_load_balancers("dev_p") == (one,)
    await client.close()


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (refusal("stale_owner", 409, epoch=8), StaleOwner, "dev_p is guarded by epoch 8"),
        (refusal("invalid", 400, reason="epoch: 'x': a number"), DeviceRejected, "epoch: 'x': a number"),
        (refusal("too_large", 413), DeviceRejected, "because"),
        (refusal("unauthorized", 401), DeviceUnavailable, "user agent or its password is not accepted"),
        (refusal("failed", 500), PartitionUnavailable, "because"),
        (refusal("busy", 503), DeviceUnavailable, "because"),
        (refusal("failed", 500, reason="x" * 9_999), PartitionUnavailable, "x" * 500),
        (text("<html>gateway</html>", 502), DeviceUnavailable, "answered 502"),
        (text("not found", 404), DeviceUnavailable, "answered 404"),
        (text("hello", 200), DeviceUnavailable, "answered something else than Receipt"),
        (text("", 301), DeviceUnavailable, "answered 301"),
    ],
)
async def test_answers_that_are_errors(daemon: FakeDaemon, answer: Answer, error: type[Exception], words: str) -> None:
    client = daemon.client()
    daemon.answer = answer
    with pytest.raises(error) as found:
        await client.put("dev_p", CHANGE)
    assert found.type is error
    assert words in str(found.value) and "s3cret" not in str(found.value) and len(str(found.value)) < 600
    await client.close()


async def test_failure_without_a_partition_makes_the_daemon_unavailable(daemon: FakeDaemon) -> None:
    client = daemon.client()
    daemon.answer = refusal("failed", 500)
    with pytest.raises(DeviceUnavailable, match="because") as found:
        await client.read_observation()
    assert found.type is DeviceUnavailable
    await client.close()


async def test_silence_ends(daemon: FakeDaemon) -> None:
    client = daemon.client(request_timeout_seconds=0.2)
    daemon.answer = silence
    with pytest.raises(NoAnswer, match=r"no answer within 0\.2 s"):
        await client.read_about()
    assert not await client.is_alive(0.2)
    await client.close()


async def test_refused_connection_makes_the_daemon_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        client = FakeDaemon(f"127.0.0.1:{port}", Path("/dev/null")).client(ca_file="")
        with pytest.raises(DeviceUnavailable, match="no connection"):
            await client.read_about()
        await client.close()


async def test_an_unknown_authoritys_certificate_is_refused_by_default(daemon: FakeDaemon) -> None:
    client = daemon.client(ca_file="")
    with pytest.raises(DeviceUnavailable, match="certificate"):
        await client.read_about()
    await client.close()
    careless = daemon.client(ca_file="", verify_tls=False)
    assert (await careless.read_about()).name == "one"
    await careless.close()


async def test_a_kept_connection_that_was_closed_is_no_error(daemon: FakeDaemon) -> None:
    client = daemon.client()
    await client.read_about()
    gone = False

    async def vanish(request: web.Request) -> web.StreamResponse:
        nonlocal gone
        if not gone:
            gone = True
            assert request.transport is not None
            request.transport.abort()
        return await about(request)

    daemon.answer = vanish
    assert (await client.read_about()).name == "one"
    await client.close()


async def test_a_wait_for_events_holds_up_nothing_else(daemon: FakeDaemon) -> None:
    client = daemon.client(request_timeout_seconds=30.0)

    async def events_wait(request: web.Request) -> web.StreamResponse:
        return await (silence(request) if request.path == "/v1/events" else about(request))

    daemon.answer = events_wait
    waiting = asyncio.create_task(client.wait_for_events(0, 25))
    await eventually(lambda: daemon.asked)
    for _ in range(20):
        await client.read_about()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await client.close()


async def test_a_group_takes_other_credentials_over(daemon: FakeDaemon) -> None:
    authorizations: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        authorizations.append(request.headers["Authorization"])
        return web.Response(status=401)

    daemon.answer = answer
    options = {
        "haproxyd_url": f"https://{daemon.host}",
        "haproxyd_username": "agent",
        "haproxyd_password": "first",
        "ca_file": str(daemon.ca_file),
        "connect_timeout": "60",
    }
    group = open_group(options, environment="dev", group_number=1, host="host-1")
    assert isinstance(group, Reloadable)
    await group.check()
    group.reload({**options, "haproxyd_password": "second"})
    await group.check()
    assert set(authorizations) == {aiohttp.encode_basic_auth("agent", word) for word in ("first", "second")}
    await group.close()
