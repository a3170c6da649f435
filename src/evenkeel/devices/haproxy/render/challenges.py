"""Challenges of a certificate authority (ACME's http-01), answered by HTTP listeners on port 80. Pure.

A response line for each challenge: they exist for the seconds of an order, and their change reloads HAProxy, which cuts
no connection.
"""

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.http_challenges import CHALLENGE_PATH, is_challenge
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.render.quoting import quote_line

PORT = 80
"""The port that authorities connect to (RFC 8555, 8.3)."""


def challenge_lines(service: ServiceDefinition, listener: ServiceListener) -> tuple[str, ...]:
    """The lines that answer challenges, for a place before all that may refuse, redirect or answer requests. Raises
    :class:`Unrenderable` for texts that are no challenge.
    """
    if listener.protocol != "HTTP" or listener.protocol_port != PORT:
        return ()
    return tuple(_line(token, content) for token, content in sorted(service.challenges.items()))


def _line(token: str, key_authorization: str) -> str:
    if not is_challenge(token, key_authorization):
        raise Unrenderable(f"challenge {token[:100]!r}: it is not as RFC 8555 prescribes")
    response = ("status", "200", "content-type", "application/octet-stream", "string", key_authorization)
    return f"{quote_line('http-request', 'return', *response)} if {{ path {CHALLENGE_PATH}{token} }}"
