"""Hosts with an agent of Neutron's."""

import uuid

from evenkeel.core.devices.device import Attachments
from evenkeel.neutron_agent.bus import NeutronBus
from evenkeel.neutron_agent.settings import OVS_AGENT, AgentFacts, NeutronAgentSettings
from evenkeel.neutron_agent.states import agent_states

FACTS = AgentFacts(environment="prod", group_number=2, device_driver="bigip")


def attachments(*end_points: str) -> Attachments:
    return Attachments(
        adjacent=True, mappings={"physnet1": "1.1"}, tunnel_types=("vxlan", "gre"), end_points=end_points
    )


class Compute:
    """A host with an agent of Neutron's."""

    def __init__(self, bus: str, end_point: str) -> None:
        self.host = f"compute-{uuid.uuid4().hex[:8]}"
        self.end_point = end_point
        self.settings = NeutronAgentSettings(host=self.host, transport_url=bus, agent_types=(OVS_AGENT,))
        self.bus = NeutronBus(self.settings)
        (state,) = agent_states(self.settings, FACTS, attachments(end_point), started=True)
        self.bus.report_state(state)

    def start(self, port_id: str) -> None:
        """The port's server runs here."""
        assert self.bus.port_is_bound(port_id, self.host)
        self.bus.report_port_up(port_id, self.host)
