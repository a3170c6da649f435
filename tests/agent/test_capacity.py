"""What an agent tells of capacity, on a clock that the test moves."""

import asyncio
from collections.abc import Collection, Mapping

from evenkeel.agent.capacity import CapacityGauge
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.devices.noop import NoopGroup, NoopMemory
from tests.clock import HandClock

POLICY = {"tenant_count": 10.0, "ssltps": 100.0}


class Gauged(NoopGroup):
    """Counts how often it was asked."""

    def __init__(self, memory: NoopMemory) -> None:
        super().__init__(memory)
        self.asked: list[tuple[str, ...]] = []

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        self.asked.append(tuple(metrics))
        return await super().capacity(metrics)


def scene(policy: Mapping[str, float]) -> tuple[CapacityGauge, Gauged, NoopMemory, HandClock]:
    memory, clock = NoopMemory(), HandClock()
    memory.figures = {"tenant_count": 4.0}
    device = Gauged(memory)
    return CapacityGauge(policy, device, clock, interval_seconds=10.0), device, memory, clock


async def test_without_a_policy_no_device_is_queried() -> None:
    gauge, device, _, _ = scene({})
    measured = await gauge.measure()
    assert (measured.figures, measured.score, measured.unknown, device.asked) == ({}, 0.0, False, [])


async def test_figures_stand_beside_their_limits() -> None:
    gauge, device, memory, _ = scene(POLICY)
    memory.figures["vlan_count"] = 3.0
    measured = await gauge.measure()
    assert measured.figures == {"tenant_count": CapacityFigure(value=4.0, limit=10.0)}
    assert (measured.score, measured.seconds_ago, measured.unknown) == (0.4, 0.0, False)
    assert device.asked == [("tenant_count", "ssltps")]


async def test_capacity_is_measured_once_an_interval() -> None:
    gauge, device, memory, clock = scene(POLICY)
    await gauge.measure()
    memory.figures["tenant_count"] = 8.0
    clock.now += 3.0
    again = await gauge.measure()
    assert (again.score, again.seconds_ago, len(device.asked)) == (0.4, 3.0, 1)
    clock.now += 7.0
    later = await gauge.measure()
    assert (later.score, later.seconds_ago, len(device.asked)) == (0.8, 0.0, 2)


async def test_while_devices_are_away_the_last_figures_stand_with_their_age() -> None:
    gauge, _, memory, clock = scene(POLICY)
    memory.reachable = False
    assert (await gauge.measure()).unknown
    memory.reachable = True
    clock.now += 10.0
    assert not (await gauge.measure()).unknown
    memory.reachable = False
    for age in (10.0, 20.0):
        clock.now += 10.0
        measured = await gauge.measure()
        assert (measured.score, measured.seconds_ago, measured.unknown) == (0.4, age, False)


async def test_after_an_unexpected_error_the_last_figures_stand() -> None:
    class Broken(Gauged):
        async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
            if self.asked:
                raise AttributeError("'str' object has no attribute 'values'")
            return await super().capacity(metrics)

    memory, clock = NoopMemory(), HandClock()
    memory.figures = {"tenant_count": 4.0}
    gauge = CapacityGauge(POLICY, Broken(memory), clock, interval_seconds=10.0)
    await gauge.measure()
    clock.now += 10.0
    measured = await gauge.measure()
    assert (measured.score, measured.seconds_ago, measured.unknown) == (0.4, 10.0, False)


async def test_a_device_that_does_not_answer_costs_the_report_no_more_than_an_interval() -> None:
    class Silent(NoopGroup):
        async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
            await asyncio.Event().wait()
            raise DeviceUnavailable("noop", "unreachable")

    gauge = CapacityGauge(POLICY, Silent(NoopMemory()), HandClock(), interval_seconds=0.05)
    assert (await gauge.measure()).unknown
