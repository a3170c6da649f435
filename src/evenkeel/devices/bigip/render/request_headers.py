"""Parts of a listener's iRule that change headers of requests. Pure.

The iRule removes what clients must not send, and inserts headers that the http profile cannot insert.
"""

from collections.abc import Iterable, Iterator

from evenkeel.core.devices.service import ServiceListener
from evenkeel.devices.bigip.render.headers import HeaderPlan, header_plan
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart

REMOVE_LINE_BREAKS_CODE = r'string map [list "\r" "" "\n" ""]'
"""iRule command that removes line breaks: a name in a certificate may contain any character."""
_VALUES_WITHOUT_CERTIFICATE = {
    "X-SSL-Client-Verify": "[expr { [SSL::cert count] > 0 ? [SSL::verify_result] : 0 }]",
    "X-SSL-Client-Has-Cert": "[expr { [SSL::cert count] > 0 }]",
}
_CERTIFICATE_VALUES = {
    "X-SSL-Client-DN": f"[{REMOVE_LINE_BREAKS_CODE} [X509::subject [SSL::cert 0]]]",
    "X-SSL-Client-CN": f"[{REMOVE_LINE_BREAKS_CODE} [X509::subject [SSL::cert 0] commonName]]",
    "X-SSL-Issuer": f"[{REMOVE_LINE_BREAKS_CODE} [X509::issuer [SSL::cert 0]]]",
    "X-SSL-Client-SHA1": "[string toupper $digest]",
    "X-SSL-Client-Not-Before": "[X509::not_valid_before [SSL::cert 0]]",
    "X-SSL-Client-Not-After": "[X509::not_valid_after [SSL::cert 0]]",
}
_DIGEST_CODE = "binary scan [sha1 [SSL::cert 0]] H* digest"


def header_rule_parts(listener: ServiceListener, listeners: Iterable[ServiceListener]) -> Iterator[RulePart]:
    """Yield the parts of the iRule that remove and insert request headers; nothing if the http profile
    suffices. Raises :class:`Unrenderable` for impossible inserted headers.

    ``listeners``: all listeners of the load balancer.
    """
    headers = header_plan(listener, listeners)
    if not headers.removed and not headers.respelled:
        return
    yield RulePart(event="HTTP_REQUEST", order=Order.CLEANING, lines=tuple(_removal_lines(headers)))
    yield RulePart(event="HTTP_REQUEST", order=Order.INSERTION, lines=tuple(_header_insertions(headers)))


def _removal_lines(headers: HeaderPlan) -> Iterator[str]:
    yield "    foreach name [HTTP::header names] {"
    yield "        switch -- [string map {_ -} [string tolower $name]] {"
    for name in map(str.lower, headers.removed):
        yield f'            "{name}" {{ HTTP::header remove $name }}'
    for name in map(str.lower, headers.respelled):
        other = f'[string tolower $name] ne "{name}"'
        yield f'            "{name}" {{ if {{ {other} }} {{ HTTP::header remove $name }} }}'
    yield "        }"
    yield "    }"


def _header_insertions(headers: HeaderPlan) -> Iterator[str]:
    for name, value in headers.inserted:
        yield f'    HTTP::header insert "{name}" "{value}"'
    for name, value in _VALUES_WITHOUT_CERTIFICATE.items():
        if name in headers.client_certificate_headers:
            yield f'    HTTP::header insert "{name}" {value}'
    yield from _certificate_insertions(headers)


def _certificate_insertions(headers: HeaderPlan) -> Iterator[str]:
    client_certificate_headers = {
        name: value for name, value in _CERTIFICATE_VALUES.items() if name in headers.client_certificate_headers
    }
    if not client_certificate_headers:
        return
    yield "    if { [SSL::cert count] > 0 } {"
    if "X-SSL-Client-SHA1" in client_certificate_headers:
        yield f"        {_DIGEST_CODE}"
    for name, value in client_certificate_headers.items():
        yield f'        HTTP::header insert "{name}" {value}'
    yield "    }"
