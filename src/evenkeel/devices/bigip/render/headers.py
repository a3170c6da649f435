"""Headers about the client that a listener inserts for members, and which object inserts them. Pure.

Clients must not be able to forge them. If any listener of the load balancer inserts a header about the client's
certificate, all such headers are removed from every request first, including spellings with ``_``, which many servers
treat as ``-``. X-Forwarded-Port and -Proto are removed likewise, if a listener that terminates TLS inserts them.
X-Forwarded-For is a list: existing values stay, and the device appends its own; but if such a listener inserts it,
other spellings of the name are removed.
"""

from collections.abc import Iterable

from evenkeel.core.devices.capabilities import INSERT_HEADERS, TLS_INSERT_HEADERS
from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import L7_PROTOCOLS, TLS_PROTOCOL
from evenkeel.devices.errors import Unrenderable

FORWARDED_FOR, FORWARDED_PORT, FORWARDED_PROTO = INSERT_HEADERS


class HeaderPlan(Value):
    """Header changes of one listener.

    The http profile can only insert one header, ``profile_header``, and removes none; an iRule does the rest.
    """

    forwarded_for: bool = False
    profile_header: str = ""
    """Header in the form ``name: value``; empty: none."""
    removed: tuple[str, ...] = ()
    """Names of headers that are removed in every spelling."""
    respelled: tuple[str, ...] = ()
    """Names of headers of which only other spellings are removed."""
    inserted: tuple[tuple[str, str], ...] = ()
    """Names and values of inserted headers that do not depend on the client."""
    client_certificate_headers: tuple[str, ...] = ()
    """Names of inserted headers about the client's certificate."""


def header_plan(listener: ServiceListener, listeners: Iterable[ServiceListener]) -> HeaderPlan:
    """Plan the header changes of a listener; none without HTTP. ``listeners``: all listeners of the load
    balancer. Raises :class:`Unrenderable` as :func:`wanted_headers`.
    """
    wanted = wanted_headers(listener)
    if listener.protocol not in L7_PROTOCOLS:
        return HeaderPlan()
    values = {
        FORWARDED_PORT: str(listener.protocol_port),
        FORWARDED_PROTO: "https" if listener.protocol == TLS_PROTOCOL else "http",
    }
    fixed = {name: value for name, value in values.items() if name in wanted}
    trusted = frozenset[str]().union(*(wanted_headers(one) for one in listeners if one.protocol == TLS_PROTOCOL))
    removed = [name for name in values if name in trusted]
    if trusted & set(TLS_INSERT_HEADERS):
        removed += TLS_INSERT_HEADERS
    respelled = (FORWARDED_FOR,) if FORWARDED_FOR in trusted else ()
    # With nothing to remove and at most one header to insert, the http profile suffices.
    if not removed and not respelled and len(fixed) <= 1:
        return HeaderPlan(
            forwarded_for=FORWARDED_FOR in wanted,
            profile_header="".join(f"{name}: {value}" for name, value in fixed.items()),
        )
    return HeaderPlan(
        forwarded_for=FORWARDED_FOR in wanted,
        # A header that is inserted replaces the client's own.
        removed=tuple(dict.fromkeys((*fixed, *removed))),
        respelled=respelled,
        inserted=tuple(fixed.items()),
        client_certificate_headers=tuple(name for name in TLS_INSERT_HEADERS if name in wanted),
    )


def wanted_headers(listener: ServiceListener) -> frozenset[str]:
    """Return the names of the headers that a listener inserts.

    Raises :class:`Unrenderable` for an unknown header, a value other than true or false, or a listener
    without HTTP.
    """
    possible = (*INSERT_HEADERS, *(TLS_INSERT_HEADERS if listener.protocol == TLS_PROTOCOL else ()))
    wanted = set()
    for name, switch in listener.insert_headers.items():
        if name not in possible or switch.lower() not in ("true", "false"):
            raise Unrenderable(f"listener {listener.id}: insert_headers: {name}={switch} is not possible on a BIG-IP")
        if switch.lower() == "true":
            wanted.add(name)
    if wanted and listener.protocol not in L7_PROTOCOLS:
        raise Unrenderable(f"listener {listener.id}: insert_headers needs protocol HTTP, not {listener.protocol}")
    return frozenset(wanted)
