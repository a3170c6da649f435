"""Parts of enhanced services as parts of a listener's iRule.

=================  ===================================================================================================
part               iRule
=================  ===================================================================================================
allow, deny        ``reject`` at ``CLIENT_ACCEPTED``, with the networks in data groups of addresses
connection_limit_  a counter in the session table, raised at ``CLIENT_ACCEPTED`` and lowered at ``CLIENT_CLOSED``
per_source
rate_limit         see :mod:`.rates`, which renders tenants' rate limit policies, too
maintenance        ``HTTP::respond 503``
https_redirect     ``HTTP::respond`` with ``Location``, on listeners without TLS
request_headers    ``HTTP::header``, after the L7 policies
member_connection  ``HTTP::respond 503`` at ``LB_FAILED``; limit and queue are the pool's
_limit
access_log         ``HSL::send`` at ``HTTP_RESPONSE``, see :mod:`.access_log`
error_pages        ``HTTP::respond`` with the page, also at ``LB_FAILED``, see :mod:`.responses`
response_headers   ``HTTP::header`` at ``HTTP_RESPONSE``: in responses of members, not in those that the device makes
                   itself
security_headers   the same, and in responses that the iRule makes
=================  ===================================================================================================
"""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence

from evenkeel.config.esd.parts import SECURITY_HEADERS, HeaderChanges, Parts
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.model import L7_PROTOCOLS, TLS_PROTOCOL
from evenkeel.devices.bigip.naming import BigIpNames, plain_or_digest
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.admission import client_refusal_rule_part
from evenkeel.devices.bigip.render.data_groups import data_group, data_group_path, network_group
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart
from evenkeel.devices.bigip.render.services.access_log import access_log_parts, access_log_pool
from evenkeel.devices.bigip.render.services.rates import byte_counting_parts, rate_limit_lines
from evenkeel.devices.bigip.render.services.responses import RuleResponses
from evenkeel.devices.bigip.render.services.texts import RuleTexts
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.rate_limits import ClientLimit, rate_limits

TEXTS_GROUP_KIND = "services"
NETWORK_GROUP_KINDS = ("deny", "allow")
CONNECTION_COUNT_SECONDS = 86_400
"""Seconds after a client address's last new connection at which the count of its connections is forgotten."""
_UUID = (
    '    binary scan [md5 "[clock clicks][IP::client_addr][TCP::client_port][expr { rand() }]"] H8H4H4H4H12 a b c d e',
    '    set service_request_id "$a-$b-$c-$d-$e"',
)


def enhanced_service_objects(
    service: ServiceDefinition,
    listener: ServiceListener,
    parts: Parts,
    names: BigIpNames,
    responses: RuleResponses | None = None,
    others: Sequence[RulePart] = (),
) -> tuple[list[WantedObject], list[RulePart]]:
    """Return the data groups and log pool for a listener's enhanced services and rate limits, and the parts
    of its iRule.

    ``others``: parts for the listener's L7 policies, which come first in the result; ``responses``: the
    renderer of the iRule's responses, to which the texts of these parts are added. Raises
    :class:`Unrenderable` for a member connection limit without HTTP, or an unknown rate limit action.
    """
    if parts.member_connection_limit is not None and listener.protocol not in L7_PROTOCOLS:
        # F5's manual does not say whether a fastL4 virtual server has a queue
        raise Unrenderable(
            f"listener {listener.id}: member_connection_limit: protocol {listener.protocol}:"
            f" {' and '.join(sorted(L7_PROTOCOLS))} are possible on BIG-IPs"
        )
    limits = rate_limits(listener, parts)
    if not (parts.names or limits):
        return [], list(others)
    responses = responses or listener_responses(service, listener, parts, names)
    texts = responses.texts
    log = parts.access_log
    rule = [
        *others,
        *(access_log_parts(service, listener, log, names) if log is not None else ()),
        *_admission_parts(service, listener, parts, names),
        *_connection_limit_parts(listener, parts),
        *byte_counting_parts(listener, limits),
        *_request_parts(listener, parts, limits, responses),
        *_lb_failed_parts(parts, responses),
    ]
    objects = [
        network_group(service, kind, listener.id, _canonical_networks(networks), names)
        for kind in NETWORK_GROUP_KINDS
        if (networks := getattr(parts, kind)) is not None
    ]
    if log is not None:
        objects.append(access_log_pool(service, listener, log, names))
    if texts.records:
        objects.append(data_group(service, TEXTS_GROUP_KIND, listener.id, dict(sorted(texts.records.items())), names))
    return objects, rule


def listener_responses(
    service: ServiceDefinition, listener: ServiceListener, parts: Parts, names: BigIpNames
) -> RuleResponses:
    """Return the renderer of the responses of a listener's iRule, which stores their texts in the listener's data
    group.
    """
    group = data_group_path(service, TEXTS_GROUP_KIND, listener.id, names)
    return RuleResponses(parts, RuleTexts(group, over_tls=listener.protocol == TLS_PROTOCOL))


def _lb_failed_parts(parts: Parts, responses: RuleResponses) -> Iterator[RulePart]:
    # clients for whom no member has room get the same as from HAProxy
    if responses.has_page(503) or parts.member_connection_limit is not None:
        yield RulePart(event="LB_FAILED", order=Order.ADMISSION, lines=(f"    {responses.respond_command(503)}",))


def _canonical_networks(networks: Iterable[str]) -> list[str]:
    # Sorted, so that the same networks in another order are no change.
    return sorted({str(ipaddress.ip_network(network)) for network in networks})


def _admission_parts(
    service: ServiceDefinition, listener: ServiceListener, parts: Parts, names: BigIpNames
) -> Iterator[RulePart]:
    for kind in NETWORK_GROUP_KINDS:
        if getattr(parts, kind) is not None:
            yield client_refusal_rule_part(
                data_group_path(service, kind, listener.id, names), unless_found=kind == "allow"
            )


def _connection_limit_parts(listener: ServiceListener, parts: Parts) -> Iterator[RulePart]:
    if parts.connection_limit_per_source is None:
        return
    accepted = (
        f'    set service_source "connections:{plain_or_digest(listener.id)}:[IP::client_addr]"',
        # touched by each connection: without one for so long, a count that was not lowered is forgotten
        f"    table add $service_source 0 {CONNECTION_COUNT_SECONDS}",
        f"    if {{ [table incr $service_source] > {parts.connection_limit_per_source} }} {{",
        "        table incr $service_source -1",
        "        unset service_source",
        "        reject",
        "        return",
        "    }",
    )
    closed = ("    if { [info exists service_source] } {", "        table incr $service_source -1", "    }")
    yield RulePart(event="CLIENT_ACCEPTED", order=Order.ADMISSION, lines=accepted)
    yield RulePart(event="CLIENT_CLOSED", order=Order.ADMISSION, lines=closed)


def _request_parts(
    listener: ServiceListener, parts: Parts, limits: Sequence[ClientLimit], responses: RuleResponses
) -> Iterator[RulePart]:
    texts = responses.texts
    answers = tuple(_answer_lines(listener, parts, limits, responses))
    if answers:
        yield RulePart(event="HTTP_REQUEST", order=Order.ADMISSION, lines=answers)
    changes = [each for each in (parts.request_headers, parts.response_headers) if each is not None]
    stored = tuple(_stored_value_lines(listener, changes))
    if stored:
        yield RulePart(event="HTTP_REQUEST", order=Order.CLEANING, lines=stored)
    if parts.request_headers is not None:
        lines = tuple(_header_change_lines(parts.request_headers, texts))
        yield RulePart(event="HTTP_REQUEST", order=Order.INSERTION, lines=lines)
    lines = tuple(_header_change_lines(parts.response_headers, texts)) if parts.response_headers is not None else ()
    if parts.security_headers is not None:
        named = SECURITY_HEADERS[parts.security_headers]
        lines += tuple(
            f"    HTTP::header replace {texts.tcl_word(name)} {texts.tcl_word(value)}" for name, value in named.items()
        )
    if lines:
        yield RulePart(event="HTTP_RESPONSE", order=Order.INSERTION, lines=lines)


def _answer_lines(
    listener: ServiceListener, parts: Parts, limits: Sequence[ClientLimit], responses: RuleResponses
) -> Iterator[str]:
    redirects = parts.https_redirect is not None and listener.protocol != TLS_PROTOCOL
    if not limits and parts.maintenance is None and not redirects:
        return
    # an LTM policy of the listener may have answered
    yield "    if { [HTTP::has_responded] } {"
    yield "        return"
    yield "    }"
    yield from rate_limit_lines(listener, limits, responses)
    if parts.maintenance is not None:
        after = ('"Retry-After"', str(parts.maintenance.retry_after))
        yield f"    {responses.respond_command(503, *after, page=parts.maintenance)}"
        yield "    return"
    if redirects and parts.https_redirect is not None:
        port = "" if parts.https_redirect.port == 443 else f":{parts.https_redirect.port}"
        yield '    if { [HTTP::host] eq "" } {'
        yield f"        {responses.respond_command(400)}"
        yield "        return"
        yield "    }"
        yield "    regsub {:[0-9]*$} [HTTP::host] {} service_name"
        location = f'"https://${{service_name}}{port}[HTTP::uri]"'
        moved = responses.respond_command(parts.https_redirect.code, '"Location"', location)
        yield f"    {moved}"
        yield "    return"


def _stored_value_lines(listener: ServiceListener, changes: Iterable[HeaderChanges]) -> Iterator[str]:
    """Yield lines that store those values of the request which the header values in ``changes`` use."""
    used = frozenset[str]().union(*(each.variables for each in changes))
    if "host" in used:
        yield "    set service_host [HTTP::host]"
    if "request_id" in used:
        yield from _UUID
    if "client_certificate_cn" in used and listener.protocol == TLS_PROTOCOL:
        yield '    set service_cn ""'
        yield "    if { [SSL::cert count] > 0 } {"
        yield "        set service_cn [X509::subject [SSL::cert 0] commonName]"
        yield "    }"


def _header_change_lines(changes: HeaderChanges, texts: RuleTexts) -> Iterator[str]:
    for name in changes.remove:
        yield f"    HTTP::header remove {texts.tcl_word(name)}"
    for action, values in (("replace", changes.set), ("insert", changes.add)):
        for name, value in sorted(values.items()):
            yield f"    HTTP::header {action} {texts.tcl_word(name)} {texts.header_value_code(value)}"
