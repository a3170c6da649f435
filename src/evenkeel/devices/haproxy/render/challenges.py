"""Challenges of a certificate authority (ACME's http-01), answered by HTTP listeners on port 80. Pure.

A load balancer's challenges are a map in HAProxy's memory, and one line of each listener on port 80 answers
what is in that map, so challenges come and go without a reload once the line is there. The line stays as long
as the load balancer is prepared for challenges; so does the separate frontend of a load balancer that has no
such listener.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.devices.challenges import answers_challenges, challenge_only_listener, challenge_responses
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name
from evenkeel.devices.haproxy.render.listener import build_frontend
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.haproxyd import wire

_NOT_FOUND = "http-request return status 404"


def challenge_lines(service: ServiceDefinition, listener: ServiceListener) -> tuple[str, ...]:
    """Return the line that answers challenges, to be placed before all lines that may refuse, redirect or
    answer requests. Empty for a listener other than HTTP on port 80, and for a load balancer that is not
    prepared for challenges.
    """
    if not _is_prepared_for_challenges(service) or not answers_challenges(listener):
        return ()
    known = f"path,map_str({_map_name(service)})"
    response = ("status", "200", "content-type", "application/octet-stream", "lf-string", f"%[{known}]")
    return (f"{quote_line('http-request', 'return', *response)} if {{ {known} -m found }}",)


def challenge_frontend(service: ServiceDefinition, addresses: Sequence[str]) -> list[wire.Frontend]:
    """Return a list with the frontend that only answers ACME challenges, on port 80 of ``addresses``; empty
    if the load balancer needs none. Raises :class:`Unrenderable` for an id that cannot be a name.
    """
    listener = _challenge_only_listener(service)
    if listener is None:
        return []
    lines = (*challenge_lines(service, listener), _NOT_FOUND)
    made = build_frontend(listener, None, addresses, challenges=lines)
    # An auxiliary name, so that it is observed as no listener of a tenant.
    return [replace(made, name=auxiliary_name(made.name, "challenges"))]


def challenge_files(service: ServiceDefinition, listening: Sequence[ServiceListener]) -> list[wire.File]:
    """Build the map of the challenges, as one file; empty if no listener answers any. ``listening``:
    listeners that the device has.

    Raises :class:`Unrenderable` for texts that are no challenge.
    """
    own = _challenge_only_listener(service)
    answering = next(filter(answers_challenges, (*listening, *([own] if own else []))), None)
    if answering is None or not _is_prepared_for_challenges(service):
        return []
    content = "".join(f"{path} {answer}\n" for path, answer in challenge_responses(service, answering).items())
    return [wire.File(name=_map_name(service), kind="map", content=content)]


def _challenge_only_listener(service: ServiceDefinition) -> ServiceListener | None:
    return challenge_only_listener(service, needed=_is_prepared_for_challenges(service))


def _is_prepared_for_challenges(service: ServiceDefinition) -> bool:
    return service.prepared_for_challenges or bool(service.challenges)


def _map_name(service: ServiceDefinition) -> str:
    return auxiliary_name(object_name("load balancer", service.load_balancer_id), "challenges")
