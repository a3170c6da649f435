"""References of the form ``acme://NAME[,NAME…][?self_signed]``, which request the certificate that they name. Pure.

As they are stored, ``AUTHORITY@`` before the names is the authority that the load balancer's flavor names; tenants
neither write nor see it. So certificates of two authorities are two, and another flavor does not change one that is
served.
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
    """A listener's reference to a certificate that an ACME authority issues for DNS names. ``self_signed``: a
    self-signed certificate is served until one is issued.
    """

    names: tuple[str, ...]
    self_signed: bool
    authority: str = ""
    """Authority that the flavor names; empty: the project's default."""

    @property
    def bare(self) -> str:
        """The reference without parameters, which identifies the request."""
        return by_authority(SCHEME + ",".join(self.names), self.authority)

    @property
    def name(self) -> str:
        """Name of the certificate in the project's folder of the key manager."""
        return f"acme-{hashlib.sha256(self.bare.encode()).hexdigest()[:24]}"


def is_acme_reference(reference: str) -> bool:
    """Whether the reference has this form, valid or not."""
    return reference.startswith(SCHEME)


def parse_reference(reference: str, *, names_max: int = NAMES_MAX) -> AcmeReference:
    """Parse a reference. Raises :class:`Invalid`."""
    authority, _, text = reference.removeprefix(SCHEME).rpartition(_AT)
    bare = text.removesuffix(SELF_SIGNED)
    try:
        names = checked_names(bare.lower().split(","), names_max=names_max)
    except Invalid as error:
        raise Invalid(f"Validation failure: {reference[:255]}: should be {RULE}. {error}") from None
    return AcmeReference(names=names, self_signed=bare != text, authority=authority)


def shown_reference(reference: str) -> str:
    """Return the reference as tenants write it, without the authority that the flavor names; other references
    unchanged.
    """
    return SCHEME + reference.rpartition(_AT)[2] if is_acme_reference(reference) and _AT in reference else reference


def by_authority(reference: str, authority: str) -> str:
    """Return a tenant's reference as it is stored for a flavor that names the authority; empty: it names none. Other
    references are returned unchanged.
    """
    if not authority or not is_acme_reference(reference):
        return reference
    return f"{SCHEME}{authority}{_AT}{reference.removeprefix(SCHEME)}"


def references_to_request(bare: str) -> tuple[str, ...]:
    """Return the references of listeners that lead to the request of this bare reference; none if it is empty."""
    return (bare, bare + SELF_SIGNED) if bare else ()
