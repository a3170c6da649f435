"""Challenges of a certificate authority (ACME's http-01), whatever the device. Pure."""

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.http_challenges import CHALLENGE_PATH, is_challenge
from evenkeel.devices.errors import Unrenderable

PORT = 80
"""The port that authorities connect to (RFC 8555, 8.3)."""


def answered_paths(service: ServiceDefinition, listener: ServiceListener) -> dict[str, str]:
    """Content of the response by path, sorted, of the challenges that the listener answers before anything else. Both
    consist of characters that need no quoting anywhere. Raises :class:`Unrenderable` for texts that are no challenge.
    """
    if listener.protocol != "HTTP" or listener.protocol_port != PORT:
        return {}
    for token, content in service.challenges.items():
        if not is_challenge(token, content):
            raise Unrenderable(f"challenge {token[:100]!r}: it is not as RFC 8555 prescribes")
    return {f"{CHALLENGE_PATH}{token}": content for token, content in sorted(service.challenges.items())}
