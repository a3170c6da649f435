"""References of the form ``acme://NAME[,NAME…][?self_signed]``, which request the certificate that they name.
Pure.

In the database, ``AUTHORITY@`` before the names is the authority that the load balancer's flavor names;
tenants neither write nor see it. So certificates of two authorities are two, and another flavor does not
change one that is served.
"""

import hashlib

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.acme.names import checked_names

SCHEME = "acme://"
SELF_SIGNED = "?self_signed"
_AT = "@"
NAMES_MAX = 100
RULE = f"{SCHEME}NAME[,NAME…], with {SELF_SIGNED} for a self-signed certificate until one is issued"


class AcmeReference(Value):
    """A listener's reference to a certificate that an ACME authority issues for DNS names. ``self_signed``:
    whether a self-signed certificate is served until one is issued.
    """

    names: tuple[str, ...]
    self_signed: bool
    authority: str = ""
    """Authority that the flavor names; empty: the project's default."""

    @property
    def bare(self) -> str:
        """The reference without parameters, as stored, which identifies the request."""
        return with_authority(SCHEME + ",".join(self.names), self.authority)

    @property
    def name(self) -> str:
        """Name of the certificate in the project's folder of the key manager."""
        return f"acme-{hashlib.sha256(self.bare.encode()).hexdigest()[:24]}"


def is_acme_reference(reference: str) -> bool:
    """Whether the reference begins with ``acme://``, valid or not."""
    return reference.startswith(SCHEME)


def parse_reference(reference: str, *, names_max: int = NAMES_MAX) -> AcmeReference:
    """Parse a reference ``acme://…``; names become lower-case. Raises :class:`Invalid`, naming the reference,
    for names that cannot be requested, or more than ``names_max``.
    """
    authority, _, text = reference.removeprefix(SCHEME).rpartition(_AT)
    bare = text.removesuffix(SELF_SIGNED)
    try:
        names = checked_names(bare.lower().split(","), names_max=names_max)
    except Invalid as error:
        raise Invalid(f"Validation failure: {reference[:255]}: should be {RULE}. {error}") from None
    return AcmeReference(names=names, self_signed=bare != text, authority=authority)


def reference_for_tenants(reference: str) -> str:
    """Return the reference as tenants write it, without the authority that the flavor names; other references
    unchanged.
    """
    return SCHEME + reference.rpartition(_AT)[2] if is_acme_reference(reference) and _AT in reference else reference


def with_authority(reference: str, authority: str) -> str:
    """Return a tenant's reference ``acme://…`` as it is stored for a flavor that names the authority. An
    empty ``authority`` (the flavor names none) and other references leave it unchanged.
    """
    if not authority or not is_acme_reference(reference):
        return reference
    return f"{SCHEME}{authority}{_AT}{reference.removeprefix(SCHEME)}"


def references_for_request_name(bare: str) -> tuple[str, ...]:
    """Return the references of listeners that lead to the request of this bare reference: without and with
    ``?self_signed``; none if it is empty.
    """
    return (bare, bare + SELF_SIGNED) if bare else ()
