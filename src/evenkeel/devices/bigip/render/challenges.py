"""Challenges of a certificate authority (ACME's http-01), answered by HTTP listeners on port 80. Pure.

A data group with the content for each path, and a part of the listener's iRule that comes before all others. Both exist
only while there are challenges. A BIG-IP judges LTM policies before iRules: a listener's own one lets these paths pass
(:mod:`.l7.policy`). iRules that follow, of operators, do not see the request.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.http_challenges import CHALLENGE_PATH
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.addresses import VirtualIp
from evenkeel.devices.bigip.render.data_groups import data_group, data_group_path
from evenkeel.devices.bigip.render.l7.effective import effective_routing
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart
from evenkeel.devices.bigip.render.rules import listener_rules
from evenkeel.devices.bigip.render.virtual import virtual_server
from evenkeel.devices.challenges import challenge_only_listener, challenge_responses

CHALLENGES_KIND = "challenges"
# The connection ends with the response, because it is left without its later requests' events.
_ANSWER_CODE = f"""\
    if {{ [HTTP::path] starts_with "{CHALLENGE_PATH}" }} {{
        set challenge_content [class lookup [HTTP::path] @GROUP@]
        if {{ $challenge_content ne "" }} {{
            HTTP::respond 200 content $challenge_content noserver "Content-Type" "application/octet-stream"\
 "Connection" "close"
            event HTTP_REQUEST disable
            return
        }}
    }}"""


def challenge_virtual_servers(
    service: ServiceDefinition, vips: Sequence[VirtualIp], names: BigIpNames
) -> tuple[list[WantedObject], list[WantedObject]]:
    """Build the virtual servers, one at each VIP, that only answer challenges, and the objects they need;
    both empty without challenges, or if a listener has port 80.

    The result is (objects needed, virtual servers). Raises :class:`Unrenderable` for a challenge that RFC
    8555 does not allow.
    """
    listener = challenge_only_listener(service, needed=bool(service.challenges))
    if listener is None:
        return [], []
    routes = effective_routing(listener, {})
    missing = RulePart(event="HTTP_REQUEST", order=Order.ROUTING, lines=("    HTTP::respond 404 noserver",))
    parts = [*challenge_rule_parts(service, listener, names), missing]
    own = [*challenge_objects(service, listener, names), *listener_rules(service, routes, parts, names)]
    made = (virtual_server(service, vip, None, routes, own, names, kind=CHALLENGES_KIND) for vip in vips)
    named = [names.auxiliary_object_name(vip.mark_kind(CHALLENGES_KIND), service.load_balancer_id) for vip in vips]
    return own, [replace(each, key=replace(each.key, name=name)) for each, name in zip(made, named, strict=True)]


def challenge_objects(service: ServiceDefinition, listener: ServiceListener, names: BigIpNames) -> list[WantedObject]:
    """Build the data group of the challenges; empty if the listener answers none. Raises
    :class:`Unrenderable` for a challenge that RFC 8555 does not allow.
    """
    paths = challenge_responses(service, listener)
    return [data_group(service, CHALLENGES_KIND, listener.id, paths, names)] if paths else []


def challenge_rule_parts(service: ServiceDefinition, listener: ServiceListener, names: BigIpNames) -> list[RulePart]:
    """Build the part of the iRule that answers challenges; empty if the listener answers none. Raises
    :class:`Unrenderable` for a challenge that RFC 8555 does not allow.
    """
    if not challenge_responses(service, listener):
        return []
    code = _ANSWER_CODE.replace("@GROUP@", data_group_path(service, CHALLENGES_KIND, listener.id, names))
    return [RulePart(event="HTTP_REQUEST", order=Order.CHALLENGE, lines=tuple(code.splitlines()))]
