"""The iRule of a listener, for what profiles cannot do. Pure.

Its code is assembled from the fixed parts below, by booleans and numbers of the definition; it never contains text from
a tenant. The mark is its first line, because an iRule has no description.

- Inserts headers that depend on the client, or of which there is more than one, after removing those that the client
  sent.
- ``client_authentication`` OPTIONAL: a BIG-IP accepts a client with an invalid certificate; the iRule refuses it.
- Sends the client's server name (SNI) to members that use TLS. The device has no setting for that.
"""

from collections.abc import Iterator

from evenkeel.core.model import TLS_PROTOCOL
from evenkeel.core.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RULE, Key, WantedObject
from evenkeel.devices.bigip.render.headers import HeaderPlan, header_plan

_ONE_LINE = r'string map [list "\r" "" "\n" ""]'
"""Removes line breaks: a name in a certificate may contain any character."""
_ALWAYS_SAID = {
    "X-SSL-Client-Verify": "[expr { [SSL::cert count] > 0 ? [SSL::verify_result] : 0 }]",
    "X-SSL-Client-Has-Cert": "[expr { [SSL::cert count] > 0 }]",
}
_SAID_OF_CERTIFICATE = {
    "X-SSL-Client-DN": f"[{_ONE_LINE} [X509::subject [SSL::cert 0]]]",
    "X-SSL-Client-CN": f"[{_ONE_LINE} [X509::subject [SSL::cert 0] commonName]]",
    "X-SSL-Issuer": f"[{_ONE_LINE} [X509::issuer [SSL::cert 0]]]",
    "X-SSL-Client-SHA1": "[string toupper $digest]",
    "X-SSL-Client-Not-Before": "[X509::not_valid_before [SSL::cert 0]]",
    "X-SSL-Client-Not-After": "[X509::not_valid_after [SSL::cert 0]]",
}
_DIGEST = "binary scan [sha1 [SSL::cert 0]] H* digest"
_REFUSE_WRONG = (
    "    if { [SSL::cert count] > 0 && [SSL::verify_result] != 0 } {",
    "        reject",
    "        return",
    "    }",
)
_KEEP_NAME = (
    "    if { [SSL::extensions exists -type 0] } {",
    "        set server_name [SSL::extensions -type 0]",
    "    }",
)
_ASK_FOR_NAME = (
    "when SERVERSSL_CLIENTHELLO_SEND {",
    "    if { [info exists server_name] } {",
    "        SSL::extensions insert $server_name",
    "    }",
    "}",
)


def listener_rules(
    service: ServiceDefinition, listener: ServiceListener, pool: ServicePool | None, names: BigIpNames
) -> list[WantedObject]:
    """The listener's iRule, if it needs one. ``pool``: its default pool. Raises :class:`Unrenderable`."""
    lines = [
        *_handshake(listener, pool),
        *(_ASK_FOR_NAME if passes_name_on(listener, pool) else ()),
        *_request(header_plan(listener, service.listeners)),
    ]
    if not lines:
        return []
    mark = names.mark("rule", service.load_balancer_id, listener.id)
    return [
        WantedObject(
            key=Key(type=RULE, name=names.helper("rule", listener.id)),
            owner=service.load_balancer_id,
            attributes={"apiAnonymous": "\n".join((f"# {mark}", *lines))},
        )
    ]


def passes_name_on(listener: ServiceListener, pool: ServicePool | None) -> bool:
    """Whether members receive the client's SNI. If so, a server-side connection must not be shared between clients."""
    return listener.protocol == TLS_PROTOCOL and pool is not None and pool.tls_enabled


def _handshake(listener: ServiceListener, pool: ServicePool | None) -> Iterator[str]:
    optional = listener.protocol == TLS_PROTOCOL and listener.client_authentication == "OPTIONAL"
    if not optional and not passes_name_on(listener, pool):
        return
    yield "when CLIENTSSL_HANDSHAKE {"
    if optional:
        yield from _REFUSE_WRONG
    if passes_name_on(listener, pool):
        yield from _KEEP_NAME
    yield "}"


def _request(headers: HeaderPlan) -> Iterator[str]:
    if not headers.removed and not headers.respelled:
        return
    yield "when HTTP_REQUEST {"
    yield "    foreach name [HTTP::header names] {"
    yield "        switch -- [string map {_ -} [string tolower $name]] {"
    for name in map(str.lower, headers.removed):
        yield f'            "{name}" {{ HTTP::header remove $name }}'
    for name in map(str.lower, headers.respelled):
        other = f'[string tolower $name] ne "{name}"'
        yield f'            "{name}" {{ if {{ {other} }} {{ HTTP::header remove $name }} }}'
    yield "        }"
    yield "    }"
    for name, value in headers.inserted:
        yield f'    HTTP::header insert "{name}" "{value}"'
    for name, value in _ALWAYS_SAID.items():
        if name in headers.about_client:
            yield f'    HTTP::header insert "{name}" {value}'
    yield from _of_certificate(headers)
    yield "}"


def _of_certificate(headers: HeaderPlan) -> Iterator[str]:
    said = {name: value for name, value in _SAID_OF_CERTIFICATE.items() if name in headers.about_client}
    if not said:
        return
    yield "    if { [SSL::cert count] > 0 } {"
    if "X-SSL-Client-SHA1" in said:
        yield f"        {_DIGEST}"
    for name, value in said.items():
        yield f'        HTTP::header insert "{name}" {value}'
    yield "    }"
