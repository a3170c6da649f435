"""Settings of the part that speaks to Neutron. Times in seconds."""

from evenkeel.core.values import Value

LB_AGENT = "Loadbalancerv2 agent"
"""As F5's agent for LBaaS v2."""
OVS_AGENT = "Open vSwitch agent"
"""Whose ports ML2's mechanism driver ``openvswitch`` binds."""


class NeutronAgentSettings(Value):
    """How this agent appears to Neutron."""

    host: str
    """Under which it is listed."""
    transport_url: str = ""
    """Of Neutron's message bus; empty: by ``config_files``."""
    config_files: tuple[str, ...] = ()
    """In oslo's format, with ``transport_url`` and ``[oslo_messaging_rabbit]``, as Neutron has them."""
    agent_types: tuple[str, ...] = (LB_AGENT,)
    report_interval_seconds: float = 30.0
    timeout_seconds: float = 20.0
    """Of one call."""


class AgentFacts(Value):
    """What is reported besides what devices say."""

    environment: str
    group_number: int
    device_driver: str
