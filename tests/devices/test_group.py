"""What all groups of devices do alike."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from evenkeel.core.devices.device import DeviceState, Observation
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, OwnershipGuardLost, StaleOwner
from evenkeel.core.resources.model import Vip
from evenkeel.core.resources.statuses import HaType
from evenkeel.devices.absence import (
    AbsenceOnDevice,
    degraded_statuses_of_absences,
    device_names_by_absent_load_balancer,
)
from evenkeel.devices.errors import NoAnswer, PartitionUnavailable
from evenkeel.devices.group import DeviceGroup, GroupDevice, maximum_by_metric, run_on_all, service_outcomes


class Client:
    """Reached, and answers at once."""

    seconds_since_answer = 0.0

    def __init__(self, host: str) -> None:
        self.host = host

    async def probe(self, timeout_seconds: float) -> None:
        """It answers."""

    async def is_alive(self, timeout_seconds: float) -> bool:
        return True


class Device(GroupDevice[frozenset[str]]):
    """Holds load balancers by id, or fails."""

    def __init__(self, host: str, *held: str, error: Exception | None = None) -> None:
        super().__init__(Client(host), 1.0)
        self.held = frozenset(held)
        self.error = error
        self.closed = False

    async def check(self) -> DeviceState:
        return DeviceState(name=self.host, reachable=self.error is None)

    async def observe(self) -> frozenset[str]:
        async with self.require_reachable():
            if self.error is not None:
                raise self.error
            return self.held

    async def capacity(self, metrics: Collection[str]) -> dict[str, float]:
        return {"held": float(len(self.held))}

    async def close(self) -> None:
        self.closed = True


class Group(DeviceGroup[Device, frozenset[str]]):
    """Says of an observation what it was merged from."""

    def _find_absences(self, readings: Mapping[str, frozenset[str]]) -> frozenset[AbsenceOnDevice]:
        everything = frozenset[str]().union(*readings.values())
        return frozenset(
            AbsenceOnDevice(device=host, load_balancer_id=one)
            for host, held in readings.items()
            for one in everything - held
        )

    def _merge_readings(
        self,
        readings: Mapping[str, frozenset[str]],
        unreachable: Sequence[DeviceState],
        *,
        absent: Collection[AbsenceOnDevice],
        persistent_absences: Collection[AbsenceOnDevice],
    ) -> Observation:
        return Observation(
            statuses=tuple(degraded_statuses_of_absences(persistent_absences)),
            devices=tuple(unreachable),
            lacking=device_names_by_absent_load_balancer(absent),
        )


def service(number: int) -> ServiceDefinition:
    vip = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")
    return ServiceDefinition(load_balancer_id=f"lb-{number}", project_id="t", revision=number, vip=vip)


async def test_a_doubted_device_that_refuses_its_probe_stays_away_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(self: Client, timeout_seconds: float) -> None:
        if self.host == "b":
            raise DeviceRejected("b", "cannot read its configuration")

    monkeypatch.setattr(Client, "probe", refuse)
    first, second = Device("a", "lb"), Device("b", "lb")
    second.reach.doubt = DeviceUnavailable("b", "no connection")
    seen = await Group("x", HaType.PAIR, [first, second]).observe()
    assert [(one.name, one.reachable) for one in seen.devices] == [("b", False)]
    assert "refuses a request: cannot read its configuration" in seen.devices[0].problem
    assert second.reach.doubt is not None


async def test_a_device_that_is_away_is_reported_and_holds_up_nobody() -> None:
    group = Group("x", HaType.PAIR, [Device("a", "lb"), Device("b", error=DeviceUnavailable("b", "no connection"))])
    seen = await group.observe()
    assert [(one.name, one.reachable) for one in seen.devices] == [("b", False)]
    assert group.facts.endpoints == ("a", "b") and group.facts.driver == "x"


async def test_a_device_keeps_its_own_name_while_it_is_out_of_reach() -> None:
    class Named(Device):
        async def check(self) -> DeviceState:
            if self.error is not None:
                raise self.error
            return DeviceState(name=self.host, reachable=True, own_name="lb-1")

    device = Named("192.0.2.1:8443")
    group = Group("x", HaType.STANDALONE, [device])
    (before,) = await group.check()
    device.error = DeviceUnavailable(device.host, "no connection")
    (after,) = await group.check()
    assert (before.reachable, before.title) == (True, "lb-1 (192.0.2.1:8443)")
    assert (after.reachable, after.title) == (False, "lb-1 (192.0.2.1:8443)")


async def test_a_check_that_fails_unexpectedly_is_a_problem_of_that_device_alone() -> None:
    class Broken(Device):
        async def check(self) -> DeviceState:
            raise AttributeError("'str' object has no attribute 'values'")

    one, other = await Group("x", HaType.PAIR, [Device("a"), Broken("b")]).check()
    assert one == DeviceState(name="a", reachable=True)
    assert (other.name, other.reachable) == ("b", True) and "AttributeError" in other.problem


async def test_difference_of_devices_degrades_from_the_second_observation_on() -> None:
    group = Group("x", HaType.PAIR, [Device("a", "lb"), Device("b")])
    first, second = await group.observe(), await group.observe()
    assert first.lacking == second.lacking == {"lb": "b"}
    assert first.statuses == ()
    assert [(one.id, one.reason) for one in second.statuses] == [("lb", "not in step with the other devices: b")]


async def test_the_fullest_device_is_the_groups_and_all_are_closed() -> None:
    devices = [Device("a", "lb-1", "lb-2"), Device("b")]
    group = Group("x", HaType.PAIR, devices)
    assert await group.capacity({"held"}) == {"held": 2.0} == maximum_by_metric([{"held": 2.0}, {"held": 1.0}])
    await group.close()
    assert all(device.closed for device in devices)


@pytest.mark.parametrize(
    ("error", "doubted"), [(NoAnswer("a", "silent"), True), (PartitionUnavailable("a", "disk full"), False)]
)
async def test_a_partitions_trouble_is_no_doubt_in_its_device(error: DeviceUnavailable, doubted: bool) -> None:
    device = Device("a", error=error)
    with pytest.raises(type(error)):
        await device.observe()
    assert (device.reach.doubt is error) is doubted


async def test_newer_owner_outweighs_a_lost_guard_and_a_lost_guard_other_errors() -> None:
    newer, older, lost = StaleOwner("p", 9), StaleOwner("p", 3), OwnershipGuardLost("a", "p", 1)
    for errors, expected in (((lost, older, newer), newer), ((ValueError(), lost), lost)):
        devices = [Device(str(number), error=error) for number, error in enumerate(errors)]
        with pytest.raises(type(expected)) as caught:
            await run_on_all(devices, lambda device: device.observe())
        assert caught.value is expected


def test_the_first_refusal_counts_and_a_problem_before_it() -> None:
    refusals = [{"lb-2": "first"}, {"lb-2": "second", "lb-3": "only"}]
    found = service_outcomes(map(service, (1, 2, 3)), refusals, {"lb-3": "cannot be rendered"})
    assert [(one.load_balancer_id, one.revision, one.error) for one in found] == [
        ("lb-1", 1, ""),
        ("lb-2", 2, "first"),
        ("lb-3", 3, "cannot be rendered"),
    ]
