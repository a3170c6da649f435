"""Questions of operators: answered in the background, a few at a time, whatever goes wrong."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent.plans import WAITING_MAX, PlanService
from evenkeel.core.devices.adoption import SEVERAL_ROUTE_DOMAINS, FoundNetworks
from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.devices.plans import ORPHAN, DevicePlan
from evenkeel.core.kit.errors import CallRefused, DeviceUnavailable
from evenkeel.core.networking.networks import NetworkType, ServiceNetwork
from evenkeel.core.protocol import messages as m
from evenkeel.devices.noop import NoopGroup, NoopMemory
from tests.agent.fakes import SETTINGS, FakeSession
from tests.devices.services import service
from tests.waiting import eventually

SHARD = m.Assignment(shard_id="shard-1", project_id="p1", epoch=3)
PLANS = (DevicePlan(device="noop", more=7),)


class Device(NoopGroup):
    """Waits until it may answer, and fails as told."""

    def __init__(self) -> None:
        super().__init__(NoopMemory())
        self.free = asyncio.Event()
        self.failure: Exception | None = None
        self.batches: list[PartitionBatch] = []
        self.adopted: list[str] = []

    async def adopt(self, project_id: str) -> None:
        self.adopted.append(project_id)

    async def plan(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        self.batches.append(batch)
        await self.free.wait()
        if self.failure is not None:
            raise self.failure
        return PLANS


class Controllers:
    """Have one load balancer."""

    def __init__(self) -> None:
        self.reports: list[m.ReportPlan] = []

    async def services(self, call: m.GetServices) -> m.ServiceDefinitions:
        assert (call.shard_id, call.epoch) == ("shard-1", 3)
        found = tuple(service() for one in call.load_balancer_ids or () if one == "lb-1")
        return m.ServiceDefinitions(services=found)

    async def report_plan(self, report: m.ReportPlan) -> None:
        self.reports.append(report)


@pytest.fixture
def scene() -> tuple[PlanService, Device, Controllers]:
    device, controllers = Device(), Controllers()
    given: Any = {"controllers": controllers, "device": device, "settings": SETTINGS}
    session: Any = FakeSession()
    return PlanService(session, **given), device, controllers


def question(number: int = 1, load_balancer_id: str = "lb-1") -> m.PlanHint:
    return m.PlanHint(shard_id="shard-1", load_balancer_id=load_balancer_id, inquiry_id=f"q{number}")


async def test_the_devices_plans_are_reported_for_the_shard(scene: tuple[PlanService, Device, Controllers]) -> None:
    desk, device, controllers = scene
    device.free.set()
    desk.answer_inquiry(question(), SHARD)
    await eventually(lambda: controllers.reports)
    (report,) = controllers.reports
    assert (report.inquiry_id, report.shard_id, report.epoch) == ("q1", "shard-1", 3)
    assert (report.devices, report.problem) == (PLANS, "")
    assert not device.batches[0].complete and len(device.batches[0].services) == 1


async def test_a_load_balancer_that_is_gone_has_no_plan(scene: tuple[PlanService, Device, Controllers]) -> None:
    desk, _, controllers = scene
    desk.answer_inquiry(question(load_balancer_id="lb-9"), SHARD)
    await eventually(lambda: controllers.reports)
    assert (controllers.reports[0].devices, controllers.reports[0].problem) == ((), "")


@pytest.mark.parametrize(
    ("failure", "told"), [(DeviceUnavailable("bigip-1", "no answer"), "no answer"), (KeyError("x"), "unexpected")]
)
async def test_failure_of_a_plan_is_its_answer(
    scene: tuple[PlanService, Device, Controllers], failure: Exception, told: str
) -> None:
    desk, device, controllers = scene
    device.failure = failure
    device.free.set()
    desk.answer_inquiry(question(), SHARD)
    await eventually(lambda: controllers.reports)
    assert told in controllers.reports[0].problem  # settled: reports come whole


async def test_only_so_many_wait_and_none_outlives_the_session(scene: tuple[PlanService, Device, Controllers]) -> None:
    desk, device, controllers = scene
    for number in range(WAITING_MAX + 3):
        desk.answer_inquiry(question(number), SHARD)
    await eventually(lambda: len(device.batches) == 2)
    desk.end()
    device.free.set()
    await asyncio.sleep(0)
    desk.answer_inquiry(question(99), SHARD)
    await eventually(lambda: controllers.reports)
    assert [report.inquiry_id for report in controllers.reports] == ["q99"]


async def test_a_partition_is_adopted_after_its_plan_was_made(scene: tuple[PlanService, Device, Controllers]) -> None:
    desk, device, controllers = scene
    device.free.set()
    looked: list[str] = []
    for count, adopt in enumerate((False, True), 1):
        hint = replace(question(load_balancer_id=""), adopt=adopt)
        desk.answer_inquiry(hint, SHARD, on_adopted=lambda: looked.append("again"))
        await eventually(lambda count=count: len(controllers.reports) == count)  # type: ignore[misc]
        assert device.adopted == (["p1"] if adopt else [])  # settled: the report comes after the adoption
    assert all(batch.complete and not batch.services for batch in device.batches) and looked == ["again"]


class Returning(Device):
    """Gives partitions back."""

    def __init__(self) -> None:
        super().__init__()
        self.given_back: list[bool] = []

    async def give_back(self, batch: PartitionBatch, *, apply: bool) -> tuple[DevicePlan, ...]:
        assert batch.complete and batch.epoch == 3
        self.given_back.append(apply)
        return PLANS


async def test_partition_is_given_back_only_when_asked_and_a_pass_follows() -> None:
    device, controllers = Returning(), Controllers()
    given: Any = {"controllers": controllers, "device": device, "settings": SETTINGS}
    session: Any = FakeSession()
    desk, looked, turn = PlanService(session, **given), [], asyncio.Lock()
    for count, apply in enumerate((False, True), 1):
        hint = m.AdoptionHint(shard_id="shard-1", inquiry_id=f"q{count}", apply=apply, give_back=True)
        desk.answer_inquiry(hint, SHARD, on_adopted=lambda: looked.append("again"), turn=turn)
        await eventually(lambda count=count: len(controllers.reports) == count)  # type: ignore[misc]
    # settled: the report comes last
    assert device.given_back == [False, True] and looked == ["again"] and not device.adopted
    # settled: reports come whole
    assert [(report.devices, report.problem) for report in controllers.reports] == [(PLANS, "")] * 2


async def test_driver_whose_partitions_no_other_program_makes_gives_none_back(
    scene: tuple[PlanService, Device, Controllers],
) -> None:
    desk, _, controllers = scene
    desk.answer_inquiry(m.AdoptionHint(shard_id="shard-1", inquiry_id="q", give_back=True), SHARD)
    await eventually(lambda: controllers.reports)
    assert "made by no other program" in controllers.reports[0].problem  # settled: reports come whole


async def test_unexpected_load_balancers_are_listed_longest_first(
    scene: tuple[PlanService, Device, Controllers],
) -> None:
    desk, _, controllers = scene
    desk.report_unexpected(question(load_balancer_id=""), SHARD, {"lb-a": 2.0, "lb-b": 70.4, "lb-c": 2.0})
    await eventually(lambda: controllers.reports)
    (plan,) = controllers.reports[0].devices
    assert [(step.name, step.note) for step in plan.operations] == [("lb-b", "70"), ("lb-a", "2"), ("lb-c", "2")]
    assert {step.type for step in plan.operations} == {ORPHAN} and plan.device == "noop"


class Attached(Device):
    """Has networks of another program, until they are adopted."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.free.set()
        self.log = log
        self.refusal = ""
        self.unread = ""
        self.there = True
        self.found = FoundNetworks(route_domain=5)

    async def found_networks(self, batch: PartitionBatch) -> FoundNetworks | None:
        return self.found if self.there else None

    async def plan(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        self.log.append(f"plan in {batch.services[0].networks[0].route_domain}")
        if self.unread:
            return (DevicePlan(device="b", problem=self.unread),)
        return (replace(PLANS[0], refusal=self.refusal),)

    async def adopt(self, project_id: str) -> None:
        self.log.append("adopt")


class Adopting(Controllers):
    """Have a load balancer in route domain 1."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.log = log
        self.refusal: Exception | None = None

    async def services(self, call: m.GetServices) -> m.ServiceDefinitions:
        network = ServiceNetwork(id="n", project_id="p1", network_type=NetworkType.VLAN, common=False, route_domain=1)
        return m.ServiceDefinitions(services=(service(networks=(network,)),))

    async def adopt_networks(self, call: m.AdoptNetworks) -> m.NetworksAdopted:
        assert (call.shard_id, call.epoch) == ("shard-1", 3)
        if self.refusal is not None:
            raise self.refusal
        self.log.append("reserve" if call.apply else "ask")
        return m.NetworksAdopted(route_domain=call.route_domain, route_domains=call.route_domains)


def adopting() -> tuple[PlanService, Attached, Adopting, list[str]]:
    log: list[str] = []
    device, controllers = Attached(log), Adopting(log)
    given: Any = {"controllers": controllers, "device": device, "settings": SETTINGS}
    session: Any = FakeSession()
    return PlanService(session, **given), device, controllers, log


async def ask(desk: PlanService, controllers: Controllers, *, adopt: bool, turn: asyncio.Lock | None = None) -> str:
    """The problem in the answer."""
    before = len(controllers.reports)
    desk.answer_inquiry(replace(question(load_balancer_id=""), adopt=adopt), SHARD, turn=turn)
    await eventually(lambda: len(controllers.reports) > before)
    return controllers.reports[-1].problem


async def test_networks_are_reserved_before_the_devices_are_marked() -> None:
    desk, device, controllers, log = adopting()
    assert await ask(desk, controllers, adopt=False) == ""
    assert log == ["ask", "plan in 5"]
    log.clear()
    assert await ask(desk, controllers, adopt=True) == ""
    assert log == ["ask", "plan in 5", "reserve", "adopt"]
    device.there = False
    log.clear()
    assert await ask(desk, controllers, adopt=True) == ""
    assert log == ["plan in 1", "adopt"]


async def test_the_plan_of_an_adoption_has_the_number_of_each_network_where_there_are_several() -> None:
    desk, device, controllers, log = adopting()
    device.found = FoundNetworks(route_domain=SEVERAL_ROUTE_DOMAINS, route_domains={"n": 102, "other": 101})
    assert await ask(desk, controllers, adopt=True) == ""
    assert log == ["ask", "plan in 102", "reserve", "adopt"]


@pytest.mark.parametrize("adopt", [False, True])
async def test_adoption_that_devices_or_controllers_refuse_does_not_happen(adopt: bool) -> None:
    desk, device, controllers, log = adopting()
    device.refusal = "its tunnel ends elsewhere"
    assert "its tunnel ends elsewhere" in await ask(desk, controllers, adopt=adopt)
    controllers.refusal = CallRefused("conflict", "route domain 5 is that of project p2")
    assert "is that of project p2" in await ask(desk, controllers, adopt=adopt)
    assert "reserve" not in log and "adopt" not in log


async def test_no_pass_of_the_shard_writes_meanwhile() -> None:
    desk, _, controllers, log = adopting()
    turn = asyncio.Lock()
    async with turn:  # a pass has fetched definitions
        desk.answer_inquiry(replace(question(load_balancer_id=""), adopt=True), SHARD, turn=turn)
        await eventually(lambda: turn._waiters)
        assert not log  # settled: nothing may be logged while the test holds the turn
    await eventually(lambda: controllers.reports and log[-1] == "adopt" and not turn.locked())


async def test_adoption_of_a_device_without_a_plan_does_not_happen() -> None:
    desk, device, controllers, log = adopting()
    device.there, device.unread = False, "no answer"
    assert await ask(desk, controllers, adopt=False) == ""
    assert "no answer; nothing was adopted" in await ask(desk, controllers, adopt=True)
    assert "reserve" not in log and "adopt" not in log
