"""The common shard's worker: what is seen on the devices, what that says of load balancers, and who is told."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
from msgspec.structs import replace

from evenkeel.agent import common_shard
from evenkeel.agent.common_shard import (
    LATE_SECONDS,
    CommonShardWorker,
    _split_findings_by_size,
    degrade_while_unreachable,
)
from evenkeel.agent.inventory import Findings
from evenkeel.cmd.process.runtime import SystemClock
from evenkeel.core.devices.device import DeviceState, Observation
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.resources.statuses import OperatingStatus as S
from evenkeel.core.status.outcomes import ObservedStatistics, ObservedStatus
from evenkeel.metrics.agent import DRIFT_FOUND
from tests.agent.fakes import SETTINGS, FakeControllers
from tests.waiting import eventually

AWAY = "device bigip-b is out of reach"


def load_balancer(number: int = 1, status: S = S.ONLINE, reason: str = "") -> ObservedStatus:
    return ObservedStatus(kind="loadbalancer", id=f"lb-{number}", status=status, reason=reason)


def devices(*, second: bool) -> tuple[DeviceState, ...]:
    return DeviceState(name="bigip-a", reachable=True), DeviceState(name="bigip-b", reachable=second)


class Watched:
    """A device group that shows what the test says."""

    def __init__(self) -> None:
        self.seen: Observation | None = Observation(statuses=(load_balancer(),), devices=devices(second=True))

        self.news = asyncio.Event()

    async def wait_for_change(self) -> None:
        await self.news.wait()

    async def observe(self) -> Observation:
        if self.seen is None:
            raise DeviceUnavailable("bigip-a", "no connection")
        return self.seen


class Clock(SystemClock):
    """That is set forward."""

    ahead_seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_seconds


class Bench:
    def __init__(self, *, status_interval_seconds: float = 0.01) -> None:
        self.controllers = FakeControllers({})
        self.device = Watched()
        self.clock = Clock()
        self.told: list[str] = []
        self.worker = CommonShardWorker(
            m.Assignment(shard_id="common", project_id="", epoch=1),
            session_id="s1",
            controllers=self.controllers,  # type: ignore[arg-type]
            device=self.device,  # type: ignore[arg-type]
            clock=self.clock,
            settings=replace(SETTINGS, status_interval_seconds=status_interval_seconds),
            on_device_trouble=lambda: self.told.append("trouble"),
            on_device_back=lambda: self.told.append("back"),
        )

    @property
    def reported(self) -> list[ObservedStatus]:
        return [status for report in self.controllers.statuses for status in report]


def drift_found(kind: str) -> float:
    return float(DRIFT_FOUND.labels(kind)._value.get())


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    task = asyncio.create_task(made.worker.run())
    await eventually(lambda: made.reported == [load_balancer()])
    yield made
    made.worker.finish()
    await asyncio.wait_for(task, 30)


async def test_a_missing_device_degrades_what_the_others_serve_until_it_is_back(bench: Bench) -> None:
    up, away = bench.device.seen, replace(bench.device.seen, devices=devices(second=False))  # type: ignore[type-var]
    bench.device.seen = away
    degraded = load_balancer(status=S.DEGRADED, reason=AWAY)
    await eventually(lambda: bench.reported[1:] == [degraded] and bench.told == ["trouble"])
    bench.device.seen = up
    await eventually(lambda: bench.reported[2:] == [load_balancer()] and bench.told == ["trouble", "trouble", "back"])


async def test_devices_that_all_went_are_reported_once_and_their_return_too(bench: Bench) -> None:
    seen, bench.device.seen = bench.device.seen, None
    await eventually(lambda: bench.told == ["trouble"] and not bench.worker.devices)
    bench.device.seen = seen
    # controllers have shown all of it as out of reach meanwhile
    again = [load_balancer(), load_balancer()]
    await eventually(lambda: bench.told == ["trouble", "trouble", "back"] and bench.reported == again)


async def test_unanswered_report_is_corrected_though_the_status_is_as_before(bench: Bench) -> None:
    before, after = (
        ObservedStatistics(listener_id="listener", statistics=ListenerStatistics(active_connections=number))
        for number in (1, 2)
    )
    up = replace(bench.device.seen, statistics=(before,))  # type: ignore[type-var]
    bench.device.seen = up
    await eventually(lambda: bench.controllers.statistics == [before])
    bench.controllers.answers_reports = False
    bench.device.seen = replace(up, devices=devices(second=False), statistics=(after,))
    away = load_balancer(status=S.DEGRADED, reason=AWAY)
    await eventually(lambda: bench.reported[-1] == away and bench.controllers.statistics[-1] == after)
    bench.controllers.answers_reports = True
    bench.device.seen = up
    await eventually(lambda: bench.reported[-1] == load_balancer() and bench.controllers.statistics[-1] == before)


async def test_overtaken_report_and_its_followers_are_sent_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_shard, "STATUSES_PER_REPORT", 1)
    bench.controllers.overtaken = True
    told = len(bench.reported)
    down = tuple(load_balancer(number, S.ERROR) for number in (1, 2))
    bench.device.seen = replace(bench.device.seen, statuses=down)  # type: ignore[type-var]
    await eventually(lambda: bench.reported[told:][:3] == [down[0]] * 3)  # what follows waits for it
    bench.controllers.overtaken = False
    await eventually(lambda: bench.reported[-2:] == list(down))
    assert not bench.worker.lost  # settled: it may never be lost, and the refusal came before


async def test_unanswered_report_is_sent_once_more(bench: Bench) -> None:
    up = bench.device.seen
    bench.controllers.answers_reports = False
    bench.device.seen = replace(up, devices=devices(second=False))  # type: ignore[type-var]
    away = load_balancer(status=S.DEGRADED, reason=AWAY)
    await eventually(lambda: bench.reported[-1] == away)
    bench.controllers.answers_reports = True
    bench.device.seen = up
    await eventually(lambda: bench.reported[-1] == load_balancer())
    bench.clock.ahead_seconds = LATE_SECONDS
    await eventually(lambda: bench.reported[-2:] == [load_balancer()] * 2)


@pytest.mark.parametrize("answers", [True, False])
async def test_load_balancer_that_was_absent_and_is_back_is_reported_again(bench: Bench, answers: bool) -> None:
    """Controllers showed it and its children as ERROR, also where the report of that got no answer."""
    bench.controllers.expected = ("lb-1",)

    def incarnation(number: int) -> tuple[DeviceState, ...]:
        return (DeviceState(name="bigip-a", reachable=True, incarnation=str(number)),)

    there = replace(bench.device.seen, configurations={"lb-1": "digest"}, devices=incarnation(1))  # type: ignore[type-var]
    bench.device.seen = there
    await eventually(lambda: bench.worker.devices == there.devices)
    bench.controllers.answers_reports = answers
    counted = drift_found("absent")
    bench.device.seen = replace(there, statuses=(), configurations={}, devices=incarnation(2))
    await eventually(lambda: bench.controllers.absent == {"lb-1"})
    if answers:
        await eventually(lambda: drift_found("absent") > counted)
    told = len(bench.reported)
    bench.device.seen = replace(there, devices=incarnation(2))
    bench.controllers.answers_reports = True
    await eventually(lambda: not bench.controllers.absent)
    await eventually(lambda: bench.reported[told:] == [load_balancer()])


async def test_all_is_reported_again_when_an_answer_states_that_the_group_was_out_of_reach_meanwhile(
    bench: Bench,
) -> None:
    """The hint that says so at once may be lost; then there is nothing new on the devices, and yet an answer."""
    for ahead_seconds, reached_count, times in ((61.0, 3, 1), (122.0, 4, 2), (183.0, None, 2), (244.0, 4, 2)):
        asked = len(bench.controllers.statuses)
        bench.controllers.reached_count = reached_count
        bench.clock.ahead_seconds = ahead_seconds
        await eventually(lambda asked=asked: len(bench.controllers.statuses) > asked)
        await eventually(lambda times=times: bench.reported == [load_balancer()] * times)


async def test_all_is_reported_again_when_requested() -> None:
    made = Bench(status_interval_seconds=3600.0)
    task = asyncio.create_task(made.worker.run())
    await eventually(lambda: made.reported == [load_balancer()])
    made.worker.report_all_again()
    await eventually(lambda: made.reported == [load_balancer()] * 2)
    made.worker.finish()
    await asyncio.wait_for(task, 30)


async def test_a_device_that_reports_a_change_is_looked_at_without_waiting_for_the_interval() -> None:
    made = Bench(status_interval_seconds=3600.0)
    task = asyncio.create_task(made.worker.run())
    await eventually(lambda: made.reported == [load_balancer()])
    made.device.seen = Observation(statuses=(load_balancer(status=S.ERROR),), devices=devices(second=True))
    made.device.news.set()
    await eventually(lambda: made.reported[1:] == [load_balancer(status=S.ERROR)])
    made.worker.finish()
    await asyncio.wait_for(task, 30)


async def test_a_driver_that_fails_to_tell_is_looked_at_as_often_as_others() -> None:
    made = Bench()

    async def broken() -> None:
        raise RuntimeError("a bug")

    made.device.changed = broken  # type: ignore[method-assign]
    task = asyncio.create_task(made.worker.run())
    await eventually(lambda: made.reported == [load_balancer()])
    made.device.seen = Observation(statuses=(load_balancer(status=S.ERROR),), devices=devices(second=True))
    await eventually(lambda: made.reported[1:] == [load_balancer(status=S.ERROR)])
    made.worker.finish()
    await asyncio.wait_for(task, 30)


def test_only_load_balancers_that_are_served_change_and_every_missing_device_is_named() -> None:
    others = (
        load_balancer(2, S.ERROR),
        load_balancer(3, S.OFFLINE),
        ObservedStatus(kind="pool", id="p", status=S.ONLINE),
    )
    limping = load_balancer(4, S.DEGRADED, "not in step")
    away = (*devices(second=False), DeviceState(name="bigip-c", reachable=False))
    first, *rest, last = degrade_while_unreachable((load_balancer(), *others, limping), away)
    assert first == load_balancer(status=S.DEGRADED, reason="devices bigip-b, bigip-c are out of reach")
    assert tuple(rest) == others
    assert last == load_balancer(4, S.DEGRADED, first.reason)
    assert degrade_while_unreachable(others, devices(second=True)) == others


def test_whatever_is_found_is_reported_whole() -> None:
    for found in (
        Findings(absent=("lb-1",)),
        Findings(changed=("lb-1",), renewed=("a",)),
        Findings(renewed_before=("a",)),
        Findings(lacking={"lb-1": "a"}, present=("lb-2",)),
    ):
        assert found and list(_split_findings_by_size(found, max_bytes=1_000_000)) == [found]
    assert not list(_split_findings_by_size(Findings(), max_bytes=1_000_000))


def test_findings_that_are_too_large_for_one_report_are_reported_in_several() -> None:
    found = Findings(
        absent=tuple(f"lb-{number}" for number in range(1500)),
        changed=("lb-0",),
        lacking={f"lb-{number}": "bigip-b, " * 50 for number in range(100)},
        renewed=("bigip-b",),
    )
    parts = list(_split_findings_by_size(found, max_bytes=60_000))
    assert len(parts) > 2 and max(len(part.absent) for part in parts) <= 1000
    assert sum((part.absent for part in parts), ()) == found.absent
    assert {id_: names for part in parts for id_, names in part.lacking.items()} == found.lacking
    assert all(len(msgspec.json.encode(part.lacking)) <= 60_000 // 6 + 100 for part in parts)
    assert [part.renewed for part in parts] == [("bigip-b",), *[()] * (len(parts) - 1)]
