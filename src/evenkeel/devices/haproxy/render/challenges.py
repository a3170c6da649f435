"""Challenges of a certificate authority (ACME's http-01), answered by HTTP listeners on port 80. Pure.

A response line for each challenge: they exist for the seconds of an order, and their change reloads HAProxy, which cuts
no connection.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.devices.challenges import answered_paths, own_listener
from evenkeel.devices.haproxy.naming import auxiliary_name
from evenkeel.devices.haproxy.render.listener import frontend
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.haproxyd import wire

_NOT_FOUND = "http-request return status 404"


def challenge_lines(service: ServiceDefinition, listener: ServiceListener) -> tuple[str, ...]:
    """Return the lines that answer challenges, to be placed before all lines that may refuse, redirect or answer
    requests.

    Raises :class:`Unrenderable` for texts that are no challenge.
    """
    return tuple(_line(path, content) for path, content in answered_paths(service, listener).items())


def own_frontend(service: ServiceDefinition, addresses: Sequence[str]) -> list[wire.Frontend]:
    """Build the frontend that only answers challenges; empty if the load balancer needs none. Raises
    :class:`Unrenderable`.
    """
    listener = own_listener(service)
    if listener is None:
        return []
    lines = (*challenge_lines(service, listener), _NOT_FOUND)
    made = frontend(listener, None, addresses, challenges=lines)
    # An auxiliary name, so that it is observed as no listener of a tenant.
    return [replace(made, name=auxiliary_name(made.name, "challenges"))]


def _line(path: str, key_authorization: str) -> str:
    response = ("status", "200", "content-type", "application/octet-stream", "string", key_authorization)
    return f"{quote_line('http-request', 'return', *response)} if {{ path {path} }}"
