"""Challenges of a certificate authority (ACME's http-01), whatever the device. Pure.

A load balancer's HTTP listeners on port 80 answer the challenges. A load balancer without a listener on that
port gets one that answers nothing else, and of which tenants see neither status nor statistics.
"""

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.http_challenges import CHALLENGE_PATH, is_valid_challenge
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS
from evenkeel.devices.errors import Unrenderable

CHALLENGE_PORT = 80
"""The port that authorities connect to (RFC 8555, 8.3)."""


def challenge_only_listener(service: ServiceDefinition, *, needed: bool) -> ServiceListener | None:
    """Build an HTTP listener on port 80 that only answers challenges, with the load balancer's id as its id.
    None if it is not ``needed``, the load balancer is admin down, or a listener of another protocol than
    UDP and SCTP has port 80.
    """
    taken = any(
        each.protocol_port == CHALLENGE_PORT and each.protocol not in DATAGRAM_PROTOCOLS for each in service.listeners
    )
    if not needed or not service.admin_state_up or taken:
        return None
    return ServiceListener(id=service.load_balancer_id, protocol="HTTP", protocol_port=CHALLENGE_PORT)


def answers_challenges(listener: ServiceListener) -> bool:
    """Whether certificate authorities would send their challenges to this listener: HTTP on port 80."""
    return listener.protocol == "HTTP" and listener.protocol_port == CHALLENGE_PORT


def challenge_responses(service: ServiceDefinition, listener: ServiceListener) -> dict[str, str]:
    """Return ``{path: content of the response}`` of the challenges that the listener answers, sorted by
    token; empty unless the listener is HTTP on port 80. Raises :class:`Unrenderable` for a token or
    content that RFC 8555 does not allow.
    """
    if not answers_challenges(listener):
        return {}
    for token, content in service.challenges.items():
        if not is_valid_challenge(token, content):
            raise Unrenderable(f"challenge {token[:100]!r}: it is not as RFC 8555 prescribes")
    return {f"{CHALLENGE_PATH}{token}": content for token, content in sorted(service.challenges.items())}
