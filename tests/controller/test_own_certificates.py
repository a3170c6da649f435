"""When a controller records the product's own certificates."""

from collections.abc import Sequence

from evenkeel.controller.own_certificates import OwnCertificates, device_certificates
from evenkeel.core.control.agents import Agent
from evenkeel.core.devices.device import DeviceState
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.tls.own_certificates import EXPIRY_CHECK_SECONDS, OwnCertificate
from tests.clock import HandClock


class Store:
    """Records what is noted; there are no agents."""

    def __init__(self) -> None:
        self.noted: list[tuple[OwnCertificate, ...]] = []

    async def agents(self) -> tuple[Agent, ...]:
        return ()

    async def record_own_certificates(self, seen: Sequence[OwnCertificate]) -> None:
        self.noted.append(tuple(seen))


async def test_certificates_are_recorded_when_one_changed_and_every_hour() -> None:
    store, clock = Store(), HandClock()
    seen = [OwnCertificate(name="a", ends_at=1.0)]

    async def look() -> Sequence[OwnCertificate]:
        return tuple(seen)

    own = OwnCertificates(store, store, look, clock)  # type: ignore[arg-type]
    await own.read_end_dates()
    await own.read_end_dates()
    assert len(store.noted) == 1
    seen[0] = OwnCertificate(name="a", ends_at=2.0)
    await own.read_end_dates()
    assert len(store.noted) == 2 and store.noted[-1] == tuple(seen)
    clock.now += EXPIRY_CHECK_SECONDS
    await own.read_end_dates()
    assert len(store.noted) == 3


def agent(*, alive: bool, devices: tuple[DeviceState, ...]) -> Agent:
    place = {"environment": "prod", "group_number": 1, "host": "h", "device_driver": "bigip", "ha_type": "pair"}
    return Agent(id=AgentId("a"), alive=alive, devices=devices, **place)  # type: ignore[arg-type]


def test_certificates_of_devices_are_those_that_live_agents_report() -> None:
    device = DeviceState(name="bigip-1", reachable=True, certificate_ends_at=5.0)
    unknown = DeviceState(name="bigip-2", reachable=True)
    agents = [agent(alive=True, devices=(device, unknown)), agent(alive=False, devices=(device,))]
    assert list(device_certificates(agents)) == [OwnCertificate(name="device bigip-1 of prod/1", ends_at=5.0)]
