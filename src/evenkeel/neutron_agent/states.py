"""Builds the state reports and tunnel end points that an agent sends to Neutron. Pure."""

from collections.abc import Mapping
from typing import Any

from evenkeel.core.devices.device import Attachments
from evenkeel.neutron_agent.settings import LB_AGENT, AgentFacts, NeutronAgentSettings

AGENT_BINARY = "evenkeel-agent"
NO_TOPIC = "N/A"
"""Topic in the reports: Neutron sends no messages to these agents by topic."""

AgentState = Mapping[str, Any]


def agent_states(
    settings: NeutronAgentSettings, facts: AgentFacts, attachments: Attachments, *, started: bool
) -> tuple[AgentState, ...]:
    """Return one state report for each configured agent type, as Neutron's RPC takes it; ``started`` marks
    the first reports of this process.

    The names in ``configurations`` are those of F5's agent and of Neutron's ``openvswitch`` agent, which ML2
    reads.
    """
    configurations: dict[str, Any] = {
        "bridge_mappings": dict(attachments.mappings),
        "tunnel_types": list(attachments.tunnel_types),
        "l2_population": True,
        "environment_prefix": facts.environment,
        "environment_group_number": facts.group_number,
        "global_routed_mode": not attachments.adjacent,
        "device_drivers": [facts.device_driver],
    }
    if attachments.end_points:
        configurations |= {"tunneling_ip": attachments.end_points[0], "tunneling_ips": list(attachments.end_points)}
    return tuple(
        {
            "binary": AGENT_BINARY,
            "host": settings.host,
            "topic": NO_TOPIC,
            "agent_type": agent_type,
            "configurations": configurations,
            "start_flag": started,
        }
        for agent_type in settings.agent_types
    )


def tunnel_end_points(settings: NeutronAgentSettings, attachments: Attachments) -> tuple[tuple[str, str, str], ...]:
    """Return (type, address, host) of each tunnel end point. Neutron keeps one address of a type for a host,
    so the end points after the first get host names with a number appended.
    """
    return tuple(
        (kind, address, settings.host if place == 0 else f"{settings.host}-{place}")
        for kind in attachments.tunnel_types
        for place, address in enumerate(attachments.end_points)
    )


def agent_id(settings: NeutronAgentSettings) -> str:
    """Return the id under which Neutron logs this agent, made from its type and host."""
    return f"{LB_AGENT} {settings.host}"
