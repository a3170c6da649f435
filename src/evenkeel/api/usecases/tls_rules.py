"""Octavia's rules between the TLS attributes of a listener or pool, and the defaults of these attributes.

Create and change requests pass the same checks. A failed check raises :class:`Invalid` (400), whose text
names the attributes or values that are not allowed. The content of references is read elsewhere
(:mod:`evenkeel.api.common.references`).
"""

from typing import Any, TypeVar

from msgspec.structs import replace

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.attributes import defaults_of
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS, TLS_PROTOCOL, AlpnProtocol, Listener, Pool
from evenkeel.core.tls.tls import NEWEST_TLS_VERSION, TlsRules, unknown_ciphers

TlsObject = TypeVar("TlsObject", Listener, Pool)


def _defaults_of_attributes(kind: type[Any], *names: str) -> dict[str, Any]:
    defaults = defaults_of(kind)
    return {name: defaults[name] for name in names}


SETTINGS = _defaults_of_attributes(Listener, "tls_ciphers", "tls_versions", "alpn_protocols")
"""``{attribute: value without TLS}`` of the attributes of the TLS protocol."""
LISTENER_TLS = _defaults_of_attributes(
    Listener,
    "default_tls_container_ref",
    "sni_container_refs",
    "client_ca_tls_container_ref",
    "client_authentication",
    "client_crl_container_ref",
    *SETTINGS,
    "hsts_max_age",
    "hsts_include_subdomains",
    "hsts_preload",
)
POOL_TLS = _defaults_of_attributes(
    Pool, "tls_enabled", "tls_container_ref", "ca_tls_container_ref", "crl_container_ref", *SETTINGS
)
"""Attributes that depend on each other, with their defaults. They are written together, so that of two concurrent
changes one is stored completely.
"""
UnusedTlsAttributes = frozenset[str]
"""Names of TLS attributes that a listener may have without any effect, because its protocol has no TLS."""
NO_UNUSED_ATTRIBUTES: UnusedTlsAttributes = frozenset()
UNUSED_REFERENCES_ALLOWED: UnusedTlsAttributes = frozenset({"default_tls_container_ref", "sni_container_refs"})
"""References to key managers that may have no effect in LBaaS v2: they are neither read nor sent to devices."""
DEFAULT_ALPN: tuple[AlpnProtocol, ...] = ("h2", "http/1.1", "http/1.0")

_LISTS = {"tls_versions": "TLS version", "alpn_protocols": "ALPN protocol"}


def uses_tls(row: Listener | Pool) -> bool:
    """Whether a listener terminates TLS, or a pool originates it."""
    return row.tls_enabled if isinstance(row, Pool) else row.protocol == TLS_PROTOCOL


def fill_tls_defaults(row: TlsObject, rules: TlsRules) -> TlsObject:
    """Return the listener or pool with Octavia's defaults in unset TLS attributes; unchanged if it does not use TLS."""
    if not uses_tls(row):
        return row
    return replace(
        row,
        tls_ciphers=row.tls_ciphers or rules.default_ciphers,
        tls_versions=row.tls_versions or rules.default_versions,
        alpn_protocols=row.alpn_protocols or DEFAULT_ALPN,
    )


def refuse_empty_lists(body: Any, row: Listener | Pool) -> None:
    """Raise :class:`Invalid` for an empty list of TLS versions or ALPN protocols (null means the default) if
    the object uses TLS.
    """
    for name, title in _LISTS.items():
        if uses_tls(row) and getattr(body, name) == []:
            raise Invalid(
                f"Validation failure: Empty {title} list. Either specify at least one {title} or remove this "
                f"parameter to use the default ({name})."
            )


def check_tls_allowed(body: Any, rules: TlsRules, after: TlsObject, before: TlsObject | None = None) -> None:
    """Check that a request names no TLS version or cipher that the operator forbids, and no unknown cipher.
    Forbidden ciphers that TLS versions use without being named are only refused if the request changes the
    TLS settings. ``after``: the object with defaults; ``before``: None if the object is new. Raises
    :class:`Invalid`.
    """
    if versions := rules.forbidden_versions(body.tls_versions or ()):
        raise Invalid(
            f"Validation failure: Requested TLS versions are less than the minimum: {', '.join(versions)} < "
            f"{rules.minimum_version} (tls_versions)"
        )
    if unknown := unknown_ciphers(body.tls_ciphers or ""):
        raise Invalid(
            f"Invalid input for field/attribute tls_ciphers. Value: '{body.tls_ciphers}'. No cipher or group of "
            f"OpenSSL's: {', '.join(unknown)}; allowed are names such as ECDHE-RSA-AES128-GCM-SHA256, or HIGH, "
            "separated by colons."
        )
    if ciphers := rules.forbidden_ciphers(body.tls_ciphers or ""):
        raise Invalid(
            "Validation failure: The following ciphers have been prohibited by an administrator: "
            f"{', '.join(ciphers)} (tls_ciphers)"
        )
    if uses_tls(after) and (before is None or _tls_settings(before) != _tls_settings(after)):
        _check_defaults_allowed(after, rules)


def _tls_settings(row: Listener | Pool) -> tuple[Any, ...]:
    return uses_tls(row), row.tls_ciphers, row.tls_versions


def _check_defaults_allowed(row: Listener | Pool, rules: TlsRules) -> None:
    if ciphers := rules.implicitly_used_prohibited_ciphers(row.tls_ciphers or "", row.tls_versions):
        raise Invalid(
            "Validation failure: The following ciphers have been prohibited by an administrator: "
            f"{', '.join(ciphers)} (tls_ciphers: it names none of {NEWEST_TLS_VERSION}, which then has all of its own; "
            f"name some, or leave {NEWEST_TLS_VERSION} out of tls_versions)"
        )


def kept_unused_references(before: Listener, after: Listener) -> UnusedTlsAttributes:
    """Return the names in :data:`UNUSED_REFERENCES_ALLOWED` whose attributes the change leaves as they are,
    set or not.
    """
    return frozenset(name for name in UNUSED_REFERENCES_ALLOWED if getattr(before, name) == getattr(after, name))


def check_listener_tls(row: Listener, *, idle: UnusedTlsAttributes = NO_UNUSED_ATTRIBUTES) -> None:
    """Check certificates, client authentication and HSTS, which only TLS-terminating listeners may have.
    ``idle``: attributes that others may have, too. Raises :class:`Invalid`.
    """
    if row.protocol != TLS_PROTOCOL:
        _refuse_tls_attributes(row, idle)
        return
    if not row.default_tls_container_ref and not row.sni_container_refs:
        raise Invalid(
            "Validation failure: An SNI or default certificate container reference must be provided for "
            f"{TLS_PROTOCOL} protocol listeners. (sni_container_refs, default_tls_container_ref)"
        )
    if not row.client_ca_tls_container_ref:
        _refuse_clients_without_ca(row)
    if (row.hsts_include_subdomains or row.hsts_preload) and row.hsts_max_age is None:
        raise Invalid(
            "Validation failure: HSTS configuration options hsts_include_subdomains and hsts_preload only make sense "
            "if hsts_max_age is set as well."
        )


def _refuse_tls_attributes(row: Listener, idle: UnusedTlsAttributes) -> None:
    for name, default in LISTENER_TLS.items():
        # As in Octavia, settings of the TLS protocol are kept, and have no effect without a certificate.
        if name in idle or name in SETTINGS or getattr(row, name) == default:
            continue
        if name.startswith("hsts"):
            raise Invalid(
                "Validation failure: The HSTS feature can only be used for listeners using the "
                f"{TLS_PROTOCOL} protocol. {name} is given, and the protocol is {row.protocol}."
            )
        raise Invalid(
            f"Validation failure: {name} is only allowed on {TLS_PROTOCOL} protocol listeners, not {row.protocol}."
        )


def _refuse_clients_without_ca(row: Listener) -> None:
    if row.client_authentication != "NONE":
        raise Invalid(
            f"Validation failure: Client authentication setting {row.client_authentication} requires a client CA "
            "container reference. (client_authentication, client_ca_tls_container_ref)"
        )
    if row.client_crl_container_ref:
        raise Invalid(
            "Validation failure: A client authentication CA reference (client_ca_tls_container_ref) is required to "
            "specify a client authentication revocation list (client_crl_container_ref)."
        )


def check_pool_tls(row: Pool) -> None:
    """Check the TLS attributes of a pool: a revocation list needs a CA, and UDP and SCTP pools have no TLS. Raises
    :class:`Invalid`.
    """
    if row.crl_container_ref and not row.ca_tls_container_ref:
        raise Invalid(
            "Validation failure: A CA certificate reference (ca_tls_container_ref) is required to specify a revocation "
            "list (crl_container_ref)."
        )
    if row.tls_enabled and row.protocol in DATAGRAM_PROTOCOLS:
        raise Invalid(f"Validation failure: tls_enabled is not possible for pools of protocol {row.protocol}.")
