"""Headers about the client that HAProxy inserts for members. Pure.

Clients must not be able to forge them. If any listener of the load balancer inserts a header about the
client's certificate, all such headers are deleted from every request first, including spellings with ``_``,
which many servers treat as ``-``. Spellings with ``_`` of inserted X-Forwarded-… headers are deleted
likewise. X-Forwarded-Port and -Proto are replaced; listeners that do not insert them delete them if a
listener that terminates TLS inserts them. X-Forwarded-For is a list: existing values stay, and HAProxy
appends its own.
"""

from collections.abc import Iterable

from evenkeel.core.devices.capabilities import INSERT_HEADERS, TLS_INSERT_HEADERS
from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.render.modes import listener_mode
from evenkeel.devices.haproxy.render.quoting import quote_argument, quote_line

FORWARDED_FOR, FORWARDED_PORT, FORWARDED_PROTO = INSERT_HEADERS
REMOVE_LINE_BREAKS = f"regsub({quote_argument(chr(92) + 'r|' + chr(92) + 'n')},,g)"
"""HAProxy converter that removes line breaks: a name in a certificate may contain any character."""
CLIENT_VALUES = {
    "X-SSL-Client-Verify": "%[ssl_c_err]",
    "X-SSL-Client-Has-Cert": "%[ssl_c_used]",
    "X-SSL-Client-DN": f"%{{+Q}}[ssl_c_s_dn,{REMOVE_LINE_BREAKS}]",
    "X-SSL-Client-CN": f"%{{+Q}}[ssl_c_s_dn(cn),{REMOVE_LINE_BREAKS}]",
    "X-SSL-Issuer": f"%{{+Q}}[ssl_c_i_dn,{REMOVE_LINE_BREAKS}]",
    "X-SSL-Client-SHA1": "%{+Q}[ssl_c_sha1,hex]",
    "X-SSL-Client-Not-Before": "%{+Q}[ssl_c_notbefore]",
    "X-SSL-Client-Not-After": "%{+Q}[ssl_c_notafter]",
}
"""``{header: value}`` in Octavia's format, strings in double quotes.

The verification result is that of the client's own certificate: ``ssl_c_verify`` also includes errors of CA
certificates, which may be ignored (:mod:`.termination`).
"""
_ANY_CLIENT_HEADER = "|".join(name.lower().replace("-", "[-_]") for name in TLS_INSERT_HEADERS)


def inserted_headers(listeners: Iterable[ServiceListener]) -> frozenset[str]:
    """Return the headers that the load balancer's TLS-terminating listeners insert, which members may trust.
    Raises :class:`Unrenderable` as :func:`wanted_headers`.
    """
    terminating = [listener for listener in listeners if listener.protocol == TLS_PROTOCOL]
    return frozenset[str]().union(*map(wanted_headers, terminating))


def header_removal_lines(listener: ServiceListener, inserted: frozenset[str]) -> list[str]:
    """Return the line that deletes headers which a client may have forged, to be placed before every rule
    that reads headers; empty in mode tcp, or if nothing is inserted. ``inserted``: headers that any
    listener inserts.

    Raises :class:`Unrenderable` for a protocol that HAProxy cannot serve.
    """
    names = [_ANY_CLIENT_HEADER] if inserted & CLIENT_VALUES.keys() else []
    names += [_underscore_spellings(name) for name in INSERT_HEADERS if name in inserted]
    if listener_mode(listener) != "http" or not names:
        return []
    return [quote_line("http-request", "del-header", f"^({'|'.join(names)})$", "-m", "reg")]


def _underscore_spellings(name: str) -> str:
    """Return, as a regular expression, every spelling with an underscore of a header name that has three
    parts.
    """
    first, second, third = name.lower().split("-")
    return f"{first}_{second}[-_]{third}|{first}-{second}_{third}"


def header_lines(listener: ServiceListener, inserted: frozenset[str]) -> list[str]:
    """Return lines that insert the listener's headers, and delete those that only other listeners insert, to
    be placed after the L7 policies, which evaluate the original request. Raises :class:`Unrenderable` as
    :func:`wanted_headers`.
    """
    wanted = wanted_headers(listener)
    proto = "https" if listener.protocol == TLS_PROTOCOL else "http"
    values = {FORWARDED_PORT: str(listener.protocol_port), FORWARDED_PROTO: proto, **CLIENT_VALUES}
    found = [quote_line("option", "forwardfor")] if FORWARDED_FOR in wanted else []
    if listener_mode(listener) == "http":
        others = [name for name in (FORWARDED_PORT, FORWARDED_PROTO) if name in inserted - wanted]
        found += [quote_line("http-request", "del-header", name) for name in others]
    return found + [
        quote_line("http-request", "set-header", name, value) for name, value in values.items() if name in wanted
    ]


def wanted_headers(listener: ServiceListener) -> frozenset[str]:
    """Return the names of the headers that a listener inserts.

    Raises :class:`Unrenderable` for an unknown header, a value other than true or false, or a listener
    without HTTP.
    """
    wanted = set()
    possible = (*INSERT_HEADERS, *(CLIENT_VALUES if listener.protocol == TLS_PROTOCOL else ()))
    for name, switch in listener.insert_headers.items():
        if name not in possible or switch.lower() not in ("true", "false"):
            raise Unrenderable(f"listener {listener.id}: insert_headers: {name}={switch} is not possible on HAProxy")
        if switch.lower() == "true":
            wanted.add(name)
    if wanted and listener_mode(listener) != "http":
        raise Unrenderable(f"listener {listener.id}: insert_headers needs protocol HTTP, not {listener.protocol}")
    return frozenset(wanted)
