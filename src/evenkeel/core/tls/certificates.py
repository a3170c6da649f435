"""Certificates with their keys, CA certificates and revocation lists: the contents that key managers return,
records of the references to them, which agent may read them, and stages of expiry. Pure.
"""

import hashlib
from datetime import UTC, datetime
from enum import StrEnum
from typing import NoReturn

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value

CERTIFICATE_BYTES_MAX = 64 * 1024
"""Maximum size of a certificate with key and intermediates, in any format."""
INTERMEDIATES_MAX = 10
AUTHORITY_BYTES_MAX = 512 * 1024
AUTHORITY_CERTIFICATES_MAX = 200
REVOCATION_LIST_BYTES_MAX = 1024 * 1024


class CertificateKind(StrEnum):
    """Kind of content that a reference to a key manager names."""

    CERTIFICATE = "certificate"
    """A certificate with its key and intermediates."""
    AUTHORITY = "authority"
    """One or more CA certificates."""
    REVOCATION_LIST = "revocation_list"

    @property
    def words(self) -> str:
        """Text for the kind of content in messages: ``certificate``, ``authority`` or ``revocation list``."""
        return self.value.replace("_", " ")


class Secret:
    """Bytes that must appear in no log, error or traceback: ``repr`` and ``str`` hide them, and nothing serializes
    them.
    """

    __slots__ = ("_content",)

    def __init__(self, content: bytes) -> None:
        self._content = content

    def reveal(self) -> bytes:
        return self._content

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: hidden>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be pickled or copied")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


class PrivateKey(Secret):
    """An unencrypted private key: PKCS#8 in PEM."""


class CertificateFacts(Value):
    """Facts read from a certificate. ``common_name``: that of the subject; None if it has none; ``key_bits``:
    length of the key in bits.
    """

    subject: str
    """Subject as an RFC 4514 string."""
    issuer: str
    common_name: str | None
    dns_names: tuple[str, ...]
    """DNS names of the subject alternative name, in lower case; wildcards are kept: ``*.example.org``."""
    addresses: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    key_type: str
    """Key algorithm: ``rsa`` or ``ecdsa``."""
    key_bits: int

    @property
    def names_sha256(self) -> str:
        """Hash (SHA-256, hexadecimal) of the certificate's names: equal for certificates of the same names."""
        # Clients ignore the common name if there is any alternative name (RFC 6125, 6.4.4).
        names = sorted({*self.dns_names, *self.addresses}) or [self.common_name or ""]
        return hashlib.sha256("\n".join(names).encode()).hexdigest()


class CertificateBundle(Value):
    """A certificate, its intermediates and its private key; they have been checked to belong together."""

    certificate: str
    """The certificate in PEM."""
    intermediates: tuple[str, ...]
    """Intermediate certificates in PEM; each has signed the one before it, the first one the certificate."""
    private_key: PrivateKey
    facts: CertificateFacts
    sha256: str
    """Identity of the content: hash of certificate and intermediates in DER. The key is left out, so that the hash
    discloses nothing of it; only one key belongs to the certificate.
    """
    warnings: tuple[str, ...] = ()
    """Oddities of the files (order, repetitions, unrelated certificates) that do not hinder serving them."""


class AuthorityBundle(Value):
    """CA certificates, and the revocation list (CRL) of the first one."""

    certificates: tuple[str, ...]
    """CA certificates, each in PEM."""
    revocation_list: str | None
    """Revocation list of the first CA in PEM; None if there is none."""
    facts: CertificateFacts
    """Facts about the first certificate."""
    sha256: str
    """Identity of the content: hash of the kind and the CA certificates in DER, without the revocation list, which has
    an identity of its own. No certificate with a key has the same one.
    """


class RevocationList(Value):
    """A certificate revocation list (CRL), held apart from its CA's certificates."""

    content: str
    """The list in PEM."""
    sha256: str
    """Identity of the content: hash of the list in DER."""
    next_update: datetime | None
    """Time at which the list is out of date, if it states one; devices refuse every client certificate from then on."""


class CertificateContent(Value):
    """The content of a certificate, of CA certificates or of a revocation list, as a device gets it."""

    kind: CertificateKind
    sha256: str
    """Identity of the content: see :class:`CertificateBundle`, :class:`AuthorityBundle` and :class:`RevocationList`."""
    certificates: tuple[str, ...] = ()
    """A certificate and its intermediates in order, or CA certificates; each in PEM."""
    private_key: PrivateKey | None = None
    """Private key of a certificate; None for other kinds."""
    revocation_list: str = ""


class CheckedCertificate(Value):
    """Result of reading a reference from the key manager, as the database stores it: without certificates and
    keys.
    """

    reference: str
    kind: CertificateKind
    sha256: str
    """Identity of the content: see :class:`CertificateContent`; empty for an awaited certificate."""
    facts: CertificateFacts | None
    """Facts about the certificate, or the first CA certificate; None for a revocation list and an awaited
    certificate.
    """
    next_update: datetime | None = None
    """Time at which a revocation list is out of date, if it states one."""

    @property
    def ends_at(self) -> datetime | None:
        """Time until which devices or their clients accept the content: ``not_after`` of the certificate, or
        the next update of a revocation list; None if that is not known.
        """
        return self.next_update if self.facts is None else self.facts.not_after

    @property
    def awaited(self) -> bool:
        """True if the certificate is requested and not issued yet, so that listeners wait for it."""
        return not self.sha256


def certificate_awaiting_issue(reference: str) -> CheckedCertificate:
    """Return the content of a reference to a certificate that is requested and not issued yet: without
    identity and facts.
    """
    return CheckedCertificate(reference=reference, kind=CertificateKind.CERTIFICATE, sha256="", facts=None)


EXPIRY_DAYS = (30, 7, 1, 0)
"""Stages of expiry: days before the end of a certificate at which operators get an event; at 0 it has expired. A
revocation list gets only the event of stage 0: most lists are never far from their next update.
"""
DAY_SECONDS = 86_400.0


def expiry_stages(ends_at: float, now_seconds: float) -> list[int]:
    """Return the stages of :data:`EXPIRY_DAYS` that a certificate has reached, in that order; empty if it is
    valid for longer. Both times are seconds since the epoch.
    """
    return [days for days in EXPIRY_DAYS if ends_at <= now_seconds + days * DAY_SECONDS]


def expiry_text(title: str, ends_at: float, days: int) -> str:
    """Return the text of the event for one stage of :data:`EXPIRY_DAYS`.

    ``title``: names the certificate; ``ends_at``: its expiry in seconds since the epoch; ``days``: the stage.
    """
    end = datetime.fromtimestamp(ends_at, UTC).isoformat(timespec="seconds")
    return f"{title} {f'expires within {days} d' if days else 'has expired'}: valid until {end}"


class DueCertificate(Value):
    """A reference whose content is due to be read again."""

    id: str
    """Id of the reference's database row."""
    project_id: ProjectId
    reference: str
    kind: CertificateKind


class ReferenceQuery(Value):
    """An operators' query for references that listeners or pools have: all conditions must hold."""

    project_id: ProjectId | None = None
    load_balancer_id: LoadBalancerId | None = None
    expiring_days: int | None = None
    """Find only certificates that end within this number of days, or have ended; None: all."""
    unreadable: bool = False
    """True: find only references whose last read failed; False: all."""


class ReferencedCertificate(Value):
    """A reference of listeners or pools, as operators see it."""

    project_id: ProjectId
    reference: str
    kind: CertificateKind
    sha256: str
    """Identity of the content at the last successful read."""
    facts: CertificateFacts | None
    """Facts about the certificate, or the first CA certificate; None for a revocation list."""
    problem: str
    """Reason why the last read failed; empty if it succeeded."""
    checked_at: datetime
    """Time of the last successful read."""
    ends_at: datetime | None
    """Time until which the content is accepted: see :attr:`CheckedCertificate.ends_at`."""
    load_balancers: int
    """Number of load balancers that use the reference."""

    def is_expiring(self, now_seconds: float) -> bool:
        """Whether the content has reached the first stage of its expiry: 30 days before the end of a
        certificate, the next update of a revocation list (see :data:`EXPIRY_DAYS`). ``now_seconds``:
        seconds since the epoch.
        """
        if self.ends_at is None:
            return False
        stages = expiry_stages(self.ends_at.timestamp(), now_seconds)
        return 0 in stages if self.kind is CertificateKind.REVOCATION_LIST else bool(stages)


class ReadableCertificate(Value):
    """A certificate whose content an agent is authorised to read."""

    project_id: ProjectId
    """Project in whose name the content is read from the key manager."""
    reference: str
    kind: CertificateKind
    sha256: str
    """Identity of the content that the agent requested."""


class CertificateReader(Value):
    """An agent that requests certificate contents: its public key, and the certificates that it may read."""

    sealing_key: bytes
    """Public key of the agent's session; empty if the session has none, so that the agent may read nothing."""
    readable: tuple[ReadableCertificate, ...]
    """Readable certificates without duplicates, in the requested order."""


class NewCertificate(Value):
    """A certificate, CA certificates or a revocation list, as an operator submits it for a key manager."""

    project_id: ProjectId
    name: str
    kind: CertificateKind
    content: Secret
    """Content in PEM, or in PKCS#12 for a certificate; it may include the certificate's key and intermediates."""
    private_key: Secret | None = None
    """Private key in PEM, if it is not in ``content``."""
    intermediates: bytes = b""
    """Intermediate certificates in PEM."""
    passphrase: Secret | None = None


class StoredCertificate(Value):
    """A certificate stored in a key manager, as operators see it: without its content. ``changed_at``: time
    of the last change.
    """

    reference: str
    """The reference that listeners and pools use."""
    project_id: ProjectId
    name: str
    kind: CertificateKind
    facts: CertificateFacts | None
    """Facts about the certificate, or the first CA certificate; None for a revocation list."""
    sha256: str
    """The identity of the content."""
    changed_at: datetime
    warnings: tuple[str, ...] = ()
    """Oddities of the submitted files, known only just after the certificate was added."""
