"""References of the form ``acme://NAME[,NAME…][?self_signed]``, which request the certificate that they name. Pure."""

import hashlib

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.acme.names import checked_names

SCHEME = "acme://"
SELF_SIGNED = "?self_signed"
NAMES_MAX = 100
RULE = f"{SCHEME}NAME[,NAME…], with {SELF_SIGNED} for a self-signed certificate until one is issued"


class AcmeReference(Value):
    """A reference by DNS names."""

    names: tuple[str, ...]
    self_signed: bool

    @property
    def bare(self) -> str:
        """The reference without parameters, which identifies the request."""
        return SCHEME + ",".join(self.names)

    @property
    def name(self) -> str:
        """Name of the certificate in the project's folder of the key manager."""
        return f"acme-{hashlib.sha256(self.bare.encode()).hexdigest()[:24]}"


def is_acme_reference(reference: str) -> bool:
    """Whether the reference has this form, valid or not."""
    return reference.startswith(SCHEME)


def parse_reference(reference: str, *, names_max: int = NAMES_MAX) -> AcmeReference:
    """Parse a reference. Raises :class:`Invalid`."""
    text = reference.removeprefix(SCHEME)
    bare = text.removesuffix(SELF_SIGNED)
    try:
        names = checked_names(bare.lower().split(","), names_max=names_max)
    except Invalid as error:
        raise Invalid(f"Validation failure: {reference[:255]}: should be {RULE}. {error}") from None
    return AcmeReference(names=names, self_signed=bare != text)


def spellings(bare: str) -> tuple[str, ...]:
    """Return the references of listeners that lead to the request of this bare reference; none if it is empty."""
    return (bare, bare + SELF_SIGNED) if bare else ()
