"""The HTTP API over a stand-in for the partitions: routes, refusals, limits."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from evenkeel.core.kit.errors import StaleOwner
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api import credentials as credentials_module
from evenkeel.haproxyd.api.credentials import AgentCredentials
from evenkeel.haproxyd.api.handlers import Handlers
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.api.journal import WriteJournal
from evenkeel.haproxyd.api.server import create_app
from evenkeel.haproxyd.errors import InvalidChange, PartitionUnknown
from evenkeel.haproxyd.health.events import EventRing
from evenkeel.haproxyd.ports import PartitionEvent
from tests.haproxyd.quick_credentials import write_agent
from tests.waiting import eventually

PASSWORD = "correct horse battery"
AUTH = {"Authorization": aiohttp.encode_basic_auth("agent-1", PASSWORD)}
CHANGE = wire.PartitionChange(epoch=5, load_balancers=(wire.LoadBalancerConfig(id="lb", revision=1),))


class FakeDevice:
    """One partition, guarded by an epoch."""

    def __init__(self) -> None:
        self.epoch = 3
        self.error: Exception | None = None
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.changes: list[tuple[wire.PartitionChange, bool]] = []

    def names(self) -> tuple[str, ...]:
        return ("p1",)

    def show(self, name: str) -> wire.PartitionConfig:
        if name != "p1":
            raise PartitionUnknown(name)
        return wire.PartitionConfig(name=name, epoch=self.epoch, load_balancers=CHANGE.load_balancers)

    async def take_over(self, name: str, wanted: wire.GuardState) -> wire.GuardState:
        if wanted.epoch < self.epoch:
            raise StaleOwner(name, self.epoch)
        self.epoch = wanted.epoch
        return wanted

    async def change(self, name: str, change: wire.PartitionChange, *, complete: bool) -> wire.Receipt:
        if self.error:
            raise self.error
        await self.take_over(name, wire.GuardState(epoch=change.epoch))
        await self.go_on.wait()
        self.changes.append((change, complete))
        outcomes = tuple(
            wire.LoadBalancerOutcome(load_balancer_id=lb.id, revision=lb.revision) for lb in change.load_balancers
        )
        return wire.Receipt(outcomes=outcomes, how="runtime")


class CountingRing(EventRing):
    """Knows how often it was asked."""

    asked = 0

    async def events_after(self, number: int, wait_seconds: float) -> wire.DaemonEvents:
        self.asked += 1
        return await super().events_after(number, wait_seconds)


class World:
    """The application and what is behind it."""

    def __init__(self, folder: Path) -> None:
        write_agent(folder / "credentials", "agent-1", PASSWORD)
        self.settings = HttpSettings(
            certificate=folder,
            key=folder,
            credentials_file=folder / "credentials",
            body_bytes_max=100_000,
            change_seconds=0.2,
            events_waiting_max=2,
        )
        self.ready = True
        self.device = FakeDevice()
        self.events = CountingRing()
        self.journal = WriteJournal()
        handlers = Handlers(
            self.device,
            about=lambda: wire.About(name="h", daemon_version="1", haproxy_version="2.6"),
            observe=self._observe,
            events=self.events,
            journal=self.journal,
            settings=self.settings,
        )
        self.app = create_app(
            handlers, AgentCredentials(self.settings.credentials_file), self.settings, is_ready=self.is_ready
        )

    def is_ready(self) -> bool:
        return self.ready

    async def _observe(self, within_seconds: float) -> wire.DaemonObservation:
        self.within_seconds = within_seconds
        return wire.DaemonObservation(event=self.events.newest)

    async def ask(self, method: str, path: str, body: object = None, **more) -> tuple[int, bytes]:
        data = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        async with self.client.request(method, path, data=data, **{"headers": AUTH, **more}) as answer:
            assert answer.content_type == "application/json"
            return answer.status, await answer.read()

    async def refused(self, method: str, path: str, body: object = None, **more) -> tuple[int, wire.DaemonRefusal]:
        status, content = await self.ask(method, path, body, **more)
        return status, msgspec.json.decode(content, type=wire.DaemonRefusal)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(credentials_module, "WRONG_PASSWORD_DELAY_SECONDS", 0.01)
    made = World(tmp_path)
    async with TestClient(TestServer(made.app)) as made.client:
        yield made


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1", wire.About),
        ("/v1/partitions", wire.PartitionList),
        ("/v1/partitions/p1", wire.PartitionConfig),
        ("/v1/observation", wire.DaemonObservation),
        ("/v1/events?after=0&wait=0", wire.DaemonEvents),
        ("/v1/journal?after=0", wire.Journal),
    ],
)
async def test_every_read_answers_its_type(world: World, path: str, kind: type) -> None:
    status, content = await world.ask("GET", path)
    assert status == 200
    msgspec.json.decode(content, type=kind)


async def test_an_observation_has_statuses_of_the_requested_age_at_most(world: World) -> None:
    for query, within_seconds in (("", 0.0), ("?within=2.5", 2.5)):
        assert (await world.ask("GET", f"/v1/observation{query}"))[0] == 200
        assert world.within_seconds == within_seconds
    for wrong in ("61", "-1", "soon"):
        status, refusal = await world.refused("GET", f"/v1/observation?within={wrong}")
        assert (status, refusal.reason) == (400, f"within: '{wrong}' is not a number from 0 to 60")


async def test_until_it_knows_what_it_holds_agents_are_ordered_to_retry(world: World) -> None:
    world.ready = False
    for method, path in (("GET", "/v1"), ("GET", "/v1/partitions"), ("PUT", "/v1/partitions/p1")):
        status, refusal = await world.refused(method, path, CHANGE if method == "PUT" else None)
        assert (status, refusal.code) == (503, "busy")
    assert (await world.refused("GET", "/v1", headers={}))[0] == 401
    world.ready = True
    assert (await world.ask("GET", "/v1"))[0] == 200


async def test_put_is_complete_and_patch_is_not(world: World) -> None:
    for method, complete in (("PUT", True), ("PATCH", False)):
        status, content = await world.ask(method, "/v1/partitions/p1", CHANGE)
        assert status == 200
        assert msgspec.json.decode(content, type=wire.Receipt).outcomes[0].load_balancer_id == "lb"
        assert world.device.changes[-1] == (CHANGE, complete)


async def test_a_stale_owner_gets_the_guards_epoch(world: World) -> None:
    for method, path, body in (
        ("PUT", "/v1/partitions/p1", wire.PartitionChange(epoch=2)),
        ("PATCH", "/v1/partitions/p1", wire.PartitionChange(epoch=2)),
        ("POST", "/v1/partitions/p1/guard", wire.GuardState(epoch=2)),
    ):
        status, refusal = await world.refused(method, path, body)
        assert (status, refusal.code, refusal.epoch) == (409, "stale_owner", 3)
    assert world.device.changes == []


async def test_every_write_is_in_the_journal_with_its_agent(world: World) -> None:
    await world.ask("POST", "/v1/partitions/p1/guard", wire.GuardState(epoch=5))
    await world.ask("PUT", "/v1/partitions/p1", CHANGE)
    await world.ask("PATCH", "/v1/partitions/p1", wire.PartitionChange(epoch=1, removed=("x",)))
    entries = world.journal.entries_after(0).entries
    assert [(entry.how, entry.accepted, entry.epoch, entry.agent) for entry in entries] == [
        ("guard", True, 5, "agent-1"),
        ("runtime", True, 5, "agent-1"),
        ("stale_owner", False, 1, "agent-1"),
    ]
    assert [entry.load_balancer_ids for entry in entries] == [(), ("lb",), ("x",)]


@pytest.mark.parametrize("given", [None, ("agent-1", "wrong"), ("x", PASSWORD)])
async def test_without_the_right_password_nothing_is_answered(world: World, given: tuple[str, str] | None) -> None:
    headers = {"Authorization": aiohttp.encode_basic_auth(*given)} if given else {}
    for method, path in (("GET", "/v1"), ("PUT", "/v1/partitions/p1"), ("GET", "/nowhere")):
        status, refusal = await world.refused(method, path, CHANGE if method == "PUT" else None, headers=headers)
        assert (status, refusal.code) == (401, "unauthorized")
    assert world.device.changes == []


@pytest.mark.parametrize(
    ("method", "path", "body", "named"),
    [
        ("PUT", "/v1/partitions/p1", b'{"epoch": 1, "colour": "red"}', "colour"),
        ("PUT", "/v1/partitions/p1", b'{"epoch": "x"}', "epoch"),
        ("PUT", "/v1/partitions/p1", b"nonsense", "not JSON"),
        ("PUT", "/v1/partitions/p1", b"", "not JSON"),
        ("PUT", "/v1/partitions/p%201", b'{"epoch": 1}', "partition: 'p 1'"),
        ("PUT", "/v1/partitions/..%2fx", b'{"epoch": 1}', "partition: '../x'"),
        ("GET", "/v1/events?after=-1", None, "after: '-1' is not an integer from 0"),
        ("GET", "/v1/events?after=1.5", None, "after: '1.5' is not an integer from 0"),
        ("GET", "/v1/events?after=1&wait=61", None, "wait: '61' is not a number from 0 to 60"),
        ("GET", "/v1/journal?after=x", None, "after: 'x'"),
        ("GET", "/v1/journal?after=%D9%A1", None, "after: "),
    ],
)
async def test_bad_input_is_refused_by_name(
    world: World, method: str, path: str, body: bytes | None, named: str
) -> None:
    status, refusal = await world.refused(method, path, body)
    assert (status, refusal.code) == (400, "invalid")
    assert named in refusal.reason


async def test_a_change_that_the_device_does_not_understand_is_invalid(world: World) -> None:
    world.device.error = InvalidChange("load_balancers[0].id: 'a b' is not a name")
    status, refusal = await world.refused("PUT", "/v1/partitions/p1", CHANGE)
    assert (status, refusal.code, refusal.reason) == (400, "invalid", "load_balancers[0].id: 'a b' is not a name")


async def test_unexpected_error_is_a_refusal_without_details(world: World) -> None:
    world.device.error = RuntimeError("-----BEGIN PRIVATE KEY-----")
    status, refusal = await world.refused("PUT", "/v1/partitions/p1", CHANGE)
    assert (status, refusal.code) == (500, "failed")
    assert "KEY" not in refusal.reason
    assert (await world.ask("GET", "/v1"))[0] == 200


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/partitions/p2"), ("GET", "/v2"), ("DELETE", "/v1")])
async def test_unknown_path_or_partition_is_not_found(world: World, method: str, path: str) -> None:
    status, refusal = await world.refused(method, path)
    assert (status, refusal.code) == (404, "not_found")


async def test_a_body_over_the_limit_is_refused_whether_announced_or_not(world: World) -> None:
    body = b" " * (world.settings.body_bytes_max + 1)

    async def in_parts() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 10_000):
            yield body[start : start + 10_000]

    status, refusal = await world.refused("PUT", "/v1/partitions/p1", body)
    assert (status, refusal.code) == (413, "too_large")
    async with world.client.put("/v1/partitions/p1", data=in_parts(), headers=AUTH) as answer:
        assert answer.status == 413
    fits = msgspec.json.encode(CHANGE).ljust(world.settings.body_bytes_max)
    assert (await world.ask("PUT", "/v1/partitions/p1", fits))[0] == 200


async def test_a_change_that_takes_too_long_goes_on(world: World) -> None:
    world.device.go_on.clear()
    status, refusal = await world.refused("PUT", "/v1/partitions/p1", CHANGE)
    assert (status, refusal.code) == (503, "busy")
    world.device.go_on.set()
    await eventually(lambda: world.device.changes)
    await eventually(lambda: world.journal.entries_after(0).entries)


async def test_waiting_for_events_is_limited_and_ends_with_an_event(world: World) -> None:
    path = f"/v1/events?after={world.events.newest}&wait=60"
    waiting = [asyncio.create_task(world.ask("GET", path)) for _ in range(2)]
    await eventually(lambda: world.events.asked == 2)
    assert (await world.refused("GET", path))[1].code == "busy"  # settled: questions count before they wait
    world.events.add(PartitionEvent(partition="p1", text="t"))
    for status, content in await asyncio.gather(*waiting):
        assert status == 200
        assert msgspec.json.decode(content, type=wire.DaemonEvents).events[0].text == "t"
