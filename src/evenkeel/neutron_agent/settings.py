"""Settings of the package that reports to Neutron. Times in seconds."""

from evenkeel.core.kit.values import Value

LB_AGENT = "Loadbalancerv2 agent"
"""Agent type under which F5's agent for LBaaS v2 is listed."""
OVS_AGENT = "Open vSwitch agent"
"""Agent type for whose hosts ML2's mechanism driver ``openvswitch`` binds ports."""


class NeutronAgentSettings(Value):
    """Identity under which an agent registers with Neutron, and access to Neutron's message bus."""

    host: str
    """Host name under which Neutron lists the agent."""
    transport_url: str = ""
    """URL of Neutron's message bus; empty: taken from ``config_files``."""
    config_files: tuple[str, ...] = ()
    """Files in oslo's format with ``transport_url`` and ``[oslo_messaging_rabbit]``, like Neutron's own."""
    agent_types: tuple[str, ...] = (LB_AGENT,)
    report_interval_seconds: float = 30.0
    timeout_seconds: float = 20.0
    """Time-out of one RPC call."""


class AgentFacts(Value):
    """Attributes of the agent that its reports contain besides the state of devices."""

    environment: str
    group_number: int
    device_driver: str
