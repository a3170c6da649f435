"""References to key managers: the attributes of listeners and pools that hold them, and the kind of content
that each names. Pure.
"""

from collections.abc import Iterator
from typing import NamedTuple, Self

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import TLS_PROTOCOL, ListenerSpec, PoolSpec
from evenkeel.core.tls.certificates import CertificateKind

REFERENCES: dict[str, CertificateKind] = {
    "default_tls_container_ref": CertificateKind.CERTIFICATE,
    "sni_container_refs": CertificateKind.CERTIFICATE,
    "client_ca_tls_container_ref": CertificateKind.AUTHORITY,
    "client_crl_container_ref": CertificateKind.REVOCATION_LIST,
    "tls_container_ref": CertificateKind.CERTIFICATE,
    "ca_tls_container_ref": CertificateKind.AUTHORITY,
    "crl_container_ref": CertificateKind.REVOCATION_LIST,
}
"""{attribute with a reference or a list of references: kind of content}; listeners' attributes first, then pools'."""
CA_ATTRIBUTE_OF_REVOCATION_LIST = {
    "client_crl_container_ref": "client_ca_tls_container_ref",
    "crl_container_ref": "ca_tls_container_ref",
}
"""{attribute with the reference of a revocation list: attribute with the reference of the CA that has to sign it}."""


class NamedCertificate(Value):
    """One reference to a key manager, with the attribute of a listener or pool that holds it."""

    field: str
    reference: str
    kind: CertificateKind


class ListenerReferences(NamedTuple):
    """References of a listener to its own certificates: the default one (None: none) and those chosen by SNI."""

    default_tls_container_ref: str | None
    sni_container_refs: tuple[str, ...]

    @classmethod
    def of(cls, row: ListenerSpec) -> Self:
        """Return the references of a listener to its own certificates."""
        return cls(row.default_tls_container_ref, row.sni_container_refs)


class ChangedReferences(NamedTuple):
    """References of a listener to its own certificates, before and after a change."""

    listener_id: str
    before: ListenerReferences
    after: ListenerReferences


def references_of(row: ListenerSpec | PoolSpec) -> tuple[NamedCertificate, ...]:
    """Return the references of a listener or pool, in the order of :data:`REFERENCES`. Empty for a listener
    whose protocol has no TLS, because its references have no effect.
    """
    if isinstance(row, ListenerSpec) and row.protocol != TLS_PROTOCOL:
        return ()
    return tuple(_iterate_references(row))


def _iterate_references(row: ListenerSpec | PoolSpec) -> Iterator[NamedCertificate]:
    for field, kind in REFERENCES.items():
        value: str | tuple[str, ...] | None = getattr(row, field, None)
        if value:
            for reference in (value,) if isinstance(value, str) else value:
                yield NamedCertificate(field=field, reference=reference, kind=kind)
