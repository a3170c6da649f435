"""The thread that reports: failures of Neutron, devices that do not answer, ports that are never bound."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from evenkeel.core.devices.device import Attachments
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.neutron_agent.bus import MESSAGING_ERRORS
from evenkeel.neutron_agent.service import PORT_ROUNDS, PORTS_MAX, NeutronAgent
from evenkeel.neutron_agent.settings import LB_AGENT, OVS_AGENT, AgentFacts, NeutronAgentSettings
from evenkeel.neutron_agent.states import agent_states, tunnel_end_points
from tests.waiting import eventually

FACTS = AgentFacts(environment="prod", group_number=1, device_driver="bigip")
SETTINGS = NeutronAgentSettings(
    host="bigips", transport_url="fake://", agent_types=(LB_AGENT, OVS_AGENT), report_interval_seconds=0.01
)


class Bus:
    """Neutron."""

    def __init__(self) -> None:
        self.reports: list[Mapping[str, Any]] = []
        self.tunnels: list[tuple[str, str, str]] = []
        self.bound: set[str] = set()
        self.up: list[str] = []
        self.asked: list[str] = []
        self.failures = 0
        self.deaf = 0
        """So many tries to listen fail."""
        self.closed = False
        self.tell: Callable[[frozenset[str]], None] = lambda networks: None

    def report_state(self, state: Mapping[str, Any]) -> str:
        if self.failures:
            self.failures -= 1
            raise MESSAGING_ERRORS[0]("no answer")
        self.reports.append(state)
        return "new" if len(self.reports) == 1 else "alive"

    def sync_tunnel(self, kind: str, address: str, host: str) -> int:
        self.tunnels.append((kind, address, host))
        return 1

    def port_is_bound(self, port_id: str, agent_id: str) -> bool:
        self.asked.append(port_id)
        if port_id == "broken":
            raise AttributeError("'NoneType' object has no attribute 'startswith'")
        return port_id in self.bound

    def report_port_up(self, port_id: str, agent_id: str) -> None:
        self.up.append(port_id)

    def listen(self, on_networks: Callable[[frozenset[str]], None]) -> None:
        if self.deaf:
            self.deaf -= 1
            raise MESSAGING_ERRORS[0]("no broker")
        self.tell = on_networks

    def close(self) -> None:
        self.closed = True


class Devices:
    """A device group; ``failures``: how often it does not answer."""

    failures = 0

    async def attachments(self) -> Attachments:
        if self.failures:
            self.failures -= 1
            raise DeviceUnavailable("bigip-1", "switched off")
        return Attachments(adjacent=True, tunnel_types=("vxlan",), end_points=("192.0.2.1", "192.0.2.2"))


class Scene:
    def __init__(self, settings: NeutronAgentSettings = SETTINGS) -> None:
        self.bus, self.devices = Bus(), Devices()
        self.moved: list[frozenset[str]] = []
        self.agent = NeutronAgent(settings, FACTS, self.devices, self.moved.append, open_bus=lambda _: self.bus)  # type: ignore[arg-type,return-value]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    yield made
    await made.agent.stop()
    assert made.bus.closed


async def test_agent_goes_on_after_failures_of_bus_and_devices(scene: Scene) -> None:
    scene.bus.failures, scene.devices.failures, scene.bus.deaf = 2, 2, 2
    scene.agent.start()
    once = [("vxlan", "192.0.2.1", "bigips"), ("vxlan", "192.0.2.2", "bigips-1")]
    await eventually(lambda: len(scene.bus.reports) >= 6 and scene.bus.tunnels == once)

    assert [each["start_flag"] for each in scene.bus.reports[:4]] == [True, True, False, False]
    scene.bus.tell(frozenset({"net"}))
    scene.bus.tell(frozenset())
    await eventually(lambda: scene.moved == [frozenset({"net"})])


async def test_ports_are_up_once_they_are_bound_and_others_are_forgotten(scene: Scene) -> None:
    scene.bus.bound = {"bound"}
    scene.agent.report_when_bound(["never", "bound"])
    scene.agent.start()
    await eventually(lambda: scene.bus.asked.count("never") == PORT_ROUNDS)
    asked = len(scene.bus.reports)
    await eventually(lambda: len(scene.bus.reports) > asked + 4)
    # settled: neither may happen again, and several rounds are over
    assert (scene.bus.up, scene.bus.asked.count("never")) == (["bound"], PORT_ROUNDS)


async def test_a_port_about_which_neutron_fails_holds_up_no_other_and_is_forgotten(scene: Scene) -> None:
    scene.bus.bound = {"bound"}
    scene.agent.report_when_bound(["broken", "bound"])
    scene.agent.start()
    await eventually(lambda: scene.bus.up == ["bound"])
    await eventually(lambda: scene.bus.asked.count("broken") == PORT_ROUNDS)


async def test_the_number_of_waiting_ports_is_limited(scene: Scene) -> None:
    scene.agent.report_when_bound(f"port-{number}" for number in range(2 * PORTS_MAX))
    scene.agent.start()
    await eventually(lambda: bool(scene.bus.asked))
    assert scene.bus.asked[0] == f"port-{PORTS_MAX}"


async def test_ports_are_not_read_without_a_type_that_binds_them() -> None:
    scene = Scene(NeutronAgentSettings(host="h", transport_url="fake://", report_interval_seconds=0.01))
    scene.agent.report_when_bound(["port"])
    scene.agent.start()
    await eventually(lambda: len(scene.bus.reports) > 3)
    await scene.agent.stop()
    assert not scene.bus.asked


def test_devices_that_route_have_no_tunnels() -> None:
    (state, _) = agent_states(SETTINGS, FACTS, Attachments(), started=False)
    assert state["configurations"]["global_routed_mode"] and "tunneling_ip" not in state["configurations"]
    assert tunnel_end_points(SETTINGS, Attachments()) == ()
