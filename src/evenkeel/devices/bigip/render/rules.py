"""The iRule of a listener, for what profiles cannot do. Pure.

The iRule is assembled from the parts (:class:`~evenkeel.devices.bigip.render.rule_parts.RulePart`) of the
modules listed in :func:`_rule_parts`. Its code never contains text from a tenant. The mark is its first line,
because an iRule has no description.
"""

from collections.abc import Iterable, Iterator

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RULE, Key, WantedObject
from evenkeel.devices.bigip.render.admission import allowed_cidrs_rule_parts
from evenkeel.devices.bigip.render.handshake import handshake_rule_parts
from evenkeel.devices.bigip.render.l7.effective import Routing
from evenkeel.devices.bigip.render.persistence import persistence_rule_parts
from evenkeel.devices.bigip.render.proxy_protocol import proxy_protocol_rule_parts
from evenkeel.devices.bigip.render.request_headers import header_rule_parts
from evenkeel.devices.bigip.render.rule_parts import RulePart, code_lines


def listener_rules(
    service: ServiceDefinition, routes: Routing, routing_parts: Iterable[RulePart], names: BigIpNames
) -> list[WantedObject]:
    """Build the listener's iRule; empty if it needs none. ``routing_parts``: parts for its challenges, L7
    policies and enhanced services.

    Raises :class:`Unrenderable` for impossible inserted headers.
    """
    listener = routes.listener
    lines = list(code_lines((*_rule_parts(service, routes, names), *routing_parts)))
    if not lines:
        return []
    mark = names.marked_description("rule", service.load_balancer_id, listener.id)
    return [
        WantedObject(
            key=Key(type=RULE, name=names.auxiliary_object_name("rule", listener.id)),
            owner=service.load_balancer_id,
            attributes={"apiAnonymous": "\n".join((f"# {mark}", *lines))},
        )
    ]


def _rule_parts(service: ServiceDefinition, routes: Routing, names: BigIpNames) -> Iterator[RulePart]:
    # of several pools, all have the same persistence and PROXY protocol, or the L7 policies set it for each request
    listener, pool = routes.listener, next(iter(routes.named), None)
    yield from allowed_cidrs_rule_parts(service, listener, names)
    yield from handshake_rule_parts(listener, routes.named)
    yield from header_rule_parts(listener, service.listeners)
    yield from persistence_rule_parts(listener, pool)
    yield from proxy_protocol_rule_parts(pool)
