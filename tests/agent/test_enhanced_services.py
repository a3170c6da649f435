"""Enhanced services: reported once a session and when they change; their users are applied again."""

from typing import Any

from evenkeel.agent.enhanced_services import EnhancedServiceWatch
from evenkeel.core.devices.device import EnhancedServices
from evenkeel.core.resources.enhanced_services import EnhancedService
from tests.agent.fakes import FakeDevice
from tests.clock import HandClock

WEB = EnhancedService(name="web")


class Rig:
    def __init__(self, *answers: EnhancedServices) -> None:
        self.device = FakeDevice()
        self.device.enhanced = list(answers)
        self.clock = HandClock()
        self.changes = 0
        self.due: list[Any] = []
        device: Any = self.device
        self.watch = EnhancedServiceWatch(device, self.clock, self.changed)

    def changed(self) -> None:
        self.changes += 1

    async def run(self) -> None:
        """Until the driver has no more answers."""
        await self.watch.run(self.due.append)


async def test_changed_enhanced_service_is_reported_and_its_users_applied_again() -> None:
    due: Any = {"tenant": ("lb-1",)}
    rig = Rig(
        EnhancedServices(services=(WEB,)),
        EnhancedServices(services=(WEB,)),
        EnhancedServices(services=(WEB, EnhancedService(name="other")), due=due),
    )
    await rig.run()
    assert rig.changes == 2
    assert rig.due == [due]


async def test_a_report_says_it_once_a_session() -> None:
    rig = Rig(EnhancedServices(services=(WEB,)))
    await rig.run()
    session: Any = "one"
    assert rig.watch.services_to_report(session) == (WEB,)
    assert rig.watch.services_to_report(session) == (WEB,)  # the report was not accepted
    rig.watch.record_reported(session, (WEB,))
    assert rig.watch.services_to_report(session) is None
    rig.watch.record_reported(session, None)
    assert rig.watch.services_to_report(session) is None
    other: Any = "two"
    assert rig.watch.services_to_report(other) == (WEB,)


async def test_a_driver_without_enhanced_services_reports_none() -> None:
    rig = Rig()
    await rig.run()
    session: Any = "one"
    assert rig.watch.services_to_report(session) == ()
