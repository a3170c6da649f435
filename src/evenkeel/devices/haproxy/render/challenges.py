"""Challenges of a certificate authority (ACME's http-01), answered by HTTP listeners on port 80. Pure.

A response line for each challenge: they exist for the seconds of an order, and their change reloads HAProxy, which cuts
no connection.
"""

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.devices.challenges import answered_paths
from evenkeel.devices.haproxy.render.quoting import quote_line


def challenge_lines(service: ServiceDefinition, listener: ServiceListener) -> tuple[str, ...]:
    """The lines that answer challenges, for a place before all that may refuse, redirect or answer requests. Raises
    :class:`Unrenderable` for texts that are no challenge.
    """
    return tuple(_line(path, content) for path, content in answered_paths(service, listener).items())


def _line(path: str, key_authorization: str) -> str:
    response = ("status", "200", "content-type", "application/octet-stream", "string", key_authorization)
    return f"{quote_line('http-request', 'return', *response)} if {{ path {path} }}"
