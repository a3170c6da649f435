"""``wait_for_change()``: what wakes an agent up, and what does not."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.ports import Device
from evenkeel.devices.haproxy import open_group
from evenkeel.devices.haproxy.observe import watching
from evenkeel.haproxyd import wire
from tests.devices.haproxy.fake import FakeDaemon, about, fake_daemon, json, refusal, silence
from tests.waiting import eventually


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[FakeDaemon]:
    async with fake_daemon(tmp_path) as running:
        yield running


@pytest.fixture
async def group(daemon: FakeDaemon) -> AsyncIterator[Device]:
    options = {
        "haproxyd_url": f"https://{daemon.host}",
        "haproxyd_username": "agent",
        "haproxyd_password": "s3cret",
        "ca_file": str(daemon.ca_file),
        "connect_timeout": "60",
    }
    opened = open_group(options, environment="dev", group_number=1, host="host-1")
    yield opened
    await opened.close()


def event(number: int, partition: str) -> wire.DaemonEvent:
    return wire.DaemonEvent(number=number, time=0.0, partition=partition)


def script(daemon: FakeDaemon, *answers: object) -> None:
    """Observations say 10; questions for events are answered one after the other, and then not at all."""
    left = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/v1/observation":
            return await json(wire.DaemonObservation(event=10))(request)
        if request.path != "/v1/events":
            return await about(request)
        if not left:
            return await silence(request)
        next_one = left.pop(0)
        return await (json(next_one) if isinstance(next_one, wire.DaemonEvents) else refusal("busy", 503))(request)

    daemon.answer = answer


def questions(daemon: FakeDaemon) -> list[str]:
    return [path for _, path, _ in daemon.asked if path.startswith("/v1/events")]


@pytest.mark.parametrize(
    "news",
    [
        wire.DaemonEvents(newest=11, events=(event(11, "dev_p"),)),
        wire.DaemonEvents(newest=11, missed=True),
        wire.DaemonEvents(newest=3),
    ],
    ids=["an event of ours", "some are no longer kept", "another life of the daemon"],
)
async def test_watch_returns_at_an_event(daemon: FakeDaemon, group: Device, news: wire.DaemonEvents) -> None:
    script(daemon, news)
    await group.observe()
    async with asyncio.timeout(60):
        await group.wait_for_change()
    assert questions(daemon) == ["/v1/events?after=10&wait=25"]


def observations(daemon: FakeDaemon) -> list[str]:
    return [path for _, path, _ in daemon.asked if path.startswith("/v1/observation")]


async def test_an_observation_because_of_an_event_takes_recent_statuses_of_partitions_without_one(
    daemon: FakeDaemon, group: Device
) -> None:
    script(daemon, wire.DaemonEvents(newest=11, events=(event(11, "dev_p"),)))
    await group.observe()
    await group.wait_for_change()
    await group.observe()
    await group.observe()
    assert observations(daemon) == ["/v1/observation", "/v1/observation?within=5", "/v1/observation"]


@pytest.mark.parametrize("news", [wire.DaemonEvents(newest=11, missed=True), wire.DaemonEvents(newest=3)])
async def test_an_observation_after_missed_events_reads_everything(
    daemon: FakeDaemon, group: Device, news: wire.DaemonEvents
) -> None:
    script(daemon, news)
    await group.observe()
    await group.wait_for_change()
    await group.observe()
    assert observations(daemon) == ["/v1/observation"] * 2


async def test_watch_goes_on_while_events_concern_other_environments(daemon: FakeDaemon, group: Device) -> None:
    script(daemon, wire.DaemonEvents(newest=10), wire.DaemonEvents(newest=12, events=(event(12, "dev_a_p"),)))
    await group.observe()
    waiting = asyncio.create_task(group.wait_for_change())
    await eventually(lambda: len(questions(daemon)) == 3)
    # settled: the question may not be answered
    assert questions(daemon)[-1] == "/v1/events?after=12&wait=25" and not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_daemon_that_is_back_has_something_to_tell(
    daemon: FakeDaemon, group: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "POLL_RETRY", Backoff(initial_seconds=0.01, max_seconds=0.01))
    script(daemon, "busy", "busy", wire.DaemonEvents(newest=10))
    await group.observe()
    async with asyncio.timeout(60):
        await group.wait_for_change()
    assert len(questions(daemon)) == 3


async def test_before_the_first_observation_there_is_something_to_see(
    daemon: FakeDaemon, group: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "POLL_RETRY", Backoff(initial_seconds=0.01, max_seconds=0.01))
    script(daemon, wire.DaemonEvents(newest=10))
    async with asyncio.timeout(60):
        await group.wait_for_change()
