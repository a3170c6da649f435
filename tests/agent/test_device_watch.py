"""What one agent itself sees of its devices."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent.device_watch import DevicesUnfit, DeviceWatch, device_identities
from evenkeel.core.devices.device import DeviceFacts, DeviceState
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from tests.agent.fakes import SETTINGS
from tests.clock import HandClock
from tests.waiting import eventually

FIT = DeviceState(name="a", reachable=True)
UNFIT = DeviceState(name="a", reachable=True, problem="too old")
AWAY = DeviceState(name="b", reachable=False, problem="no connection")


class Devices:
    """Answers one check after the other, or fails; the last one for ever."""

    facts = DeviceFacts(driver="x", ha_type=HaType.PAIR, reschedule=RescheduleMode.CONTROL, endpoints=("a", "b"))

    def __init__(self, *checks: tuple[DeviceState, ...] | Exception) -> None:
        self.checks = list(checks)
        self.asked = 0

    async def check(self) -> tuple[DeviceState, ...]:
        self.asked += 1
        await asyncio.sleep(0)
        answer = self.checks.pop(0) if len(self.checks) > 1 else self.checks[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def watch(*checks: tuple[DeviceState, ...] | Exception) -> tuple[DeviceWatch, Devices, list[int]]:
    devices: Any = Devices(*checks)
    told: list[int] = []
    watched = DeviceWatch(devices, HandClock(), SETTINGS, on_change=lambda: told.append(1), on_renewed=lambda: None)
    return watched, devices, told


async def test_watch_waits_until_one_device_answers_and_all_that_answer_are_fit() -> None:
    watched, devices, _ = watch((UNFIT, AWAY), (AWAY,), (FIT, AWAY))
    await watched.wait_until_fit()
    assert devices.asked == 3 and watched.states == (FIT, AWAY)


async def test_devices_that_stay_unfit_are_named_in_the_end() -> None:
    watched, _, _ = watch((UNFIT,))
    with pytest.raises(DevicesUnfit, match="a: too old"):
        await watched.wait_until_fit()


async def test_devices_in_doubt_are_checked_at_once_though_this_agent_observes_them() -> None:
    watched, devices, told = watch((FIT,))
    running = asyncio.create_task(watched.run(lambda: (FIT,)))
    await eventually(lambda: watched._clock.now > 60.0)
    assert devices.asked == 0  # settled: they may never be asked
    watched.check_now()
    await eventually(lambda: devices.asked == 1)
    running.cancel()
    assert told[:1] == [1]


class ProbedDevices(Devices):
    """Devices whose silence is known apart from their checks."""

    def __init__(self, *checks: tuple[DeviceState, ...] | Exception) -> None:
        super().__init__(*checks)
        self.away: dict[str, str] = {}

    async def probe_silent_devices(self) -> dict[str, str]:
        await asyncio.sleep(0)
        return dict(self.away)


async def test_device_that_falls_silent_is_unreachable_without_a_check_and_whatever_was_observed() -> None:
    devices: Any = ProbedDevices((FIT, AWAY))
    told: list[int] = []
    watched = DeviceWatch(devices, HandClock(), SETTINGS, on_change=lambda: told.append(1), on_renewed=lambda: None)
    await watched.wait_until_fit()
    checking = asyncio.Event()
    devices.check = checking.wait  # a check that never ends holds nothing up
    running = asyncio.create_task(watched.run(lambda: None))
    devices.away = {"a": "silent for 3 s"}
    await eventually(lambda: told)
    # settled: changes are told after the states are set
    assert [one.reachable for one in watched.states] == [False, False]
    (state,) = watched.current_states((FIT,))
    assert not state.reachable and state.problem == "device a: silent for 3 s"
    devices.away = {}
    await eventually(lambda: watched.states[0].reachable)
    running.cancel()


async def test_a_device_that_goes_or_comes_back_is_reported_once() -> None:
    back = DeviceState(name="b", reachable=True)
    watched, devices, told = watch((FIT, AWAY), (FIT, AWAY), (FIT, back), (FIT, back))
    running = asyncio.create_task(watched.run(lambda: None))
    await eventually(lambda: devices.asked > 4)
    running.cancel()
    assert len(told) == 2  # the first look, and the one after which b was back


async def test_a_check_that_fails_unexpectedly_ends_nothing_and_is_a_problem() -> None:
    watched, devices, told = watch(KeyError("entries"), (FIT, AWAY), KeyError("entries"), (FIT, AWAY))
    await watched.wait_until_fit()
    assert devices.asked == 2 and watched.states == (FIT, AWAY)
    seen: list[DeviceState] = []

    def observed() -> None:
        seen.extend(watched.states)

    running = asyncio.create_task(watched.run(observed))
    await eventually(lambda: devices.asked > 4)
    # settled: neither may happen, and several looks are over
    assert not running.done() and not told, "what was reached may be so still"
    running.cancel()
    failed = [one for one in seen if "KeyError" in one.problem]
    assert [(one.name, one.reachable) for one in failed] == [("a", True), ("b", False)]


async def test_devices_that_never_could_be_checked_are_named_in_the_end() -> None:
    watched, _, _ = watch(KeyError("entries"))
    with pytest.raises(DevicesUnfit, match=r"a: .*KeyError.*b: .*KeyError"):
        await watched.wait_until_fit()


async def test_a_device_that_was_restored_is_reported_by_whoever_does_not_observe() -> None:
    """Its content may be what it was, so that nobody misses anything, and its guard one of a former owner."""
    before, after = (replace(FIT, incarnation=name) for name in ("before", "after"))
    devices: Any = Devices((before,), (before,), (after,))
    renewed: list[int] = []
    watched = DeviceWatch(
        devices, HandClock(), SETTINGS, on_change=lambda: None, on_renewed=lambda: renewed.append(devices.asked)
    )
    await watched.wait_until_fit()
    running = asyncio.create_task(watched.run(lambda: None))
    await eventually(lambda: devices.asked > 5)
    running.cancel()
    assert renewed == [3]


async def test_restart_that_the_observer_saw_is_no_news_to_the_watch() -> None:
    before, after = (replace(FIT, incarnation=name) for name in ("before", "after"))
    devices: Any = Devices((before,), (after,))
    renewed: list[int] = []
    watched = DeviceWatch(
        devices, HandClock(), SETTINGS, on_change=lambda: None, on_renewed=lambda: renewed.append(devices.asked)
    )
    await watched.wait_until_fit()
    observed: list[tuple[DeviceState, ...] | None] = [(after,), None]
    running = asyncio.create_task(watched.run(lambda: observed.pop(0) if len(observed) > 1 else observed[0]))
    await eventually(lambda: devices.asked > 3)
    running.cancel()
    assert not renewed


def test_identities_stand_by_endpoint() -> None:
    one, two = DeviceState(name="a", reachable=True, identity="x"), DeviceState(name="b", reachable=True)
    assert device_identities(("h1", "h2"), (one, two)) == {"h1": "x"}
    assert device_identities(("h1",), (one, two)) == {}
