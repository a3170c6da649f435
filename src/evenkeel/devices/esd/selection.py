"""Selects the enhanced services that apply to one listener, and their parts. Pure.

If several services have a part, the first service decides (:mod:`evenkeel.core.resources.enhanced_services`).
"""

from collections.abc import Collection, Mapping, Sequence

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parameters import set_parameters
from evenkeel.config.esd.parts import PARTS, MemberConnectionLimit, Parts
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.enhanced_services import OPTIONAL, PER_LISTENER_MAX
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS, L7_PROTOCOLS, PROMETHEUS_PROTOCOL
from evenkeel.devices.errors import Unrenderable

Definitions = Mapping[str, Definition]

_IN_ANY_MODE = frozenset(
    (
        "allow",
        "deny",
        "connection_limit_per_source",
        "timeouts",
        "member_connection_limit",
        "drain",
        "access_log",
        "haproxy_lines",
    )
)
"""Parts that also apply to listeners without HTTP; of ``timeouts`` only ``tunnel``."""


def enhanced_service_names(service: ServiceDefinition) -> frozenset[str]:
    """Return the names of the enhanced services of a load balancer's listeners as written, with the prefix of
    optional ones.
    """
    return frozenset(name for one in service.listeners for name in one.enhanced_services)


def chosen_definitions(names: Sequence[str], known: Definitions) -> list[Definition]:
    """Return the definitions of a listener's services, the first with precedence; optional names without a
    definition are left out.

    Raises :class:`Unrenderable` for an unknown or unusable service, and for more than ``PER_LISTENER_MAX``
    services.
    """
    names = [name for name in names if not name.startswith(OPTIONAL) or name in known]
    if len(names) > PER_LISTENER_MAX:
        raise Unrenderable(f"{len(names)} enhanced services; at most {PER_LISTENER_MAX} are allowed")
    found = []
    for name in names:
        definition = known.get(name)
        if definition is None:
            raise Unrenderable(f"enhanced service {name!r} is in no file of the agent's esd_dir")
        if definition.problem:
            raise Unrenderable(definition.problem)
        found.append(definition)
    return found


def enhanced_service_parts(listener: ServiceListener, known: Definitions) -> Parts:
    """Return the parts of enhanced services that apply to the listener, with the listener's parameters; of a
    part that several services have, the first service's.

    Raises :class:`Unrenderable` for unknown, unusable or too many services, for parameters that a definition
    does not accept, and for a part that the listener's protocol does not allow.
    """
    found: dict[str, object] = {}
    for definition in chosen_definitions(listener.enhanced_services, known):
        parts = _parts_with_parameters(listener, definition)
        for part in parts.names:
            _check_protocol(listener, definition, part)
            found.setdefault(part, getattr(parts, part))
    return Parts(**{part: found[part] for part in PARTS if part in found})  # type: ignore[arg-type]


def member_limit(parts: Collection[Parts]) -> MemberConnectionLimit | None:
    """Return the connection limit for members with the fewest connections among the parts of a pool's
    listeners; None if none sets a limit.
    """
    limits = [each.member_connection_limit for each in parts if each.member_connection_limit is not None]
    return min(limits, key=lambda limit: (limit.connections, limit.queue, limit.wait), default=None)


def _parts_with_parameters(listener: ServiceListener, definition: Definition) -> Parts:
    values = listener.service_parameters.get(definition.name)
    if not values:
        return definition.parts
    try:
        return set_parameters(definition.parts, definition.parameters, values)
    except ValueError as error:  # the definition has changed since the request
        raise Unrenderable(f"{definition.file}: enhanced service {definition.name!r}: {error}") from error


def _check_protocol(listener: ServiceListener, definition: Definition, part: str) -> None:
    where = f"{definition.file}: enhanced service {definition.name!r}: {part}"
    if listener.protocol in DATAGRAM_PROTOCOLS:
        raise Unrenderable(f"{where}: listener {listener.id} has protocol {listener.protocol}; no part is possible")
    times = definition.parts.timeouts
    of_http = part == "timeouts" and times is not None and (times.request or times.keep_alive)
    is_http = listener.protocol in (*L7_PROTOCOLS, PROMETHEUS_PROTOCOL)
    if not is_http and (part not in _IN_ANY_MODE or of_http):
        raise Unrenderable(f"{where}: listener {listener.id} has protocol {listener.protocol}; HTTP is needed")
    if listener.protocol == PROMETHEUS_PROTOCOL and part not in ("allow", "deny"):
        raise Unrenderable(
            f"{where}: listener {listener.id} has protocol {listener.protocol}; allow and deny are possible"
        )
