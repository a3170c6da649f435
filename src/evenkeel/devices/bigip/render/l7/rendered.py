"""L7 policies of a listener as objects and parts of its iRule. Pure."""

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.l7.code import l7_rule_parts
from evenkeel.devices.bigip.render.l7.effective import Routing
from evenkeel.devices.bigip.render.l7.policy import expressible_as_policy, policy_object
from evenkeel.devices.bigip.render.l7.records import l7_data_group
from evenkeel.devices.bigip.render.rule_parts import RulePart
from evenkeel.devices.bigip.render.services.responses import RuleResponses
from evenkeel.devices.bigip.render.transport import sends_proxy_header
from evenkeel.devices.errors import Unrenderable


class RenderedL7(Value):
    """A listener's L7 policies as an LTM policy, or as a data group and the parts of the iRule that read it.

    Empty if no policy can match.
    """

    objects: tuple[WantedObject, ...] = ()
    parts: tuple[RulePart, ...] = ()


def render_l7(service: ServiceDefinition, routing: Routing, names: BigIpNames, responses: RuleResponses) -> RenderedL7:
    """Render the L7 policies of a listener as an LTM policy or, if that cannot express them, as iRule and
    data group. ``responses``: renders responses that policies send instead of choosing a pool.

    Raises :class:`Unrenderable` for policies that a BIG-IP cannot implement, and for pools that differ in TLS
    or the PROXY protocol.
    """
    if not routing.policies:
        return RenderedL7()
    _refuse_different_proxies(routing)
    _refuse_different_tls(routing)
    if expressible_as_policy(routing):
        return RenderedL7(objects=(policy_object(service, routing, names),))
    parts = tuple(l7_rule_parts(service, routing, names, responses))
    return RenderedL7(objects=(l7_data_group(service, routing, names),), parts=parts)


def _refuse_different_proxies(routing: Routing) -> None:
    """Raise :class:`Unrenderable` if pools of one listener differ in the PROXY protocol.

    The iRule sends the client's address on each connection with a member, whichever pool the member is in.
    """
    kinds = {pool.protocol if sends_proxy_header(pool) else "" for pool in routing.named}
    if len(kinds) > 1:
        names = ", ".join(f"{pool.id} {pool.protocol}" for pool in routing.named)
        raise Unrenderable(
            f"listener {routing.listener.id}: pools that its l7policies choose among must all have the same of protocol"
            f" PROXY, PROXYV2, or neither, on a BIG-IP: {names}"
        )


def _refuse_different_tls(routing: Routing) -> None:
    """Raise :class:`Unrenderable` if pools of one listener differ in TLS settings.

    The virtual server has one server-ssl profile, which the iRule can only switch off.
    """
    with_tls = [pool for pool in routing.named if pool.tls_enabled]
    for name in _TLS_SETTINGS:
        if len({getattr(pool, name) for pool in with_tls}) > 1:
            ids = ", ".join(pool.id for pool in with_tls)
            raise Unrenderable(
                f"listener {routing.listener.id}: pools with tls_enabled that its l7policies choose among must all have"
                f" the same {name} on a BIG-IP: {ids}"
            )


_TLS_SETTINGS = (
    "tls_container_ref",
    "ca_tls_container_ref",
    "crl_container_ref",
    "tls_ciphers",
    "tls_versions",
    "alpn_protocols",
)
