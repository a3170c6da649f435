"""Certificates with their keys, authorities and revocation lists, as key managers give them: values only."""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import NoReturn

from evenkeel.core.ids import LoadBalancerId, ProjectId
from evenkeel.core.values import Value

CERTIFICATE_BYTES_MAX = 64 * 1024
"""Of a certificate with key and intermediates, in any format."""
INTERMEDIATES_MAX = 10
AUTHORITY_BYTES_MAX = 512 * 1024
AUTHORITY_CERTIFICATES_MAX = 200
REVOCATION_LIST_BYTES_MAX = 1024 * 1024


class CertificateKind(StrEnum):
    """What a reference names."""

    CERTIFICATE = "certificate"
    """A certificate with its key and intermediates."""
    AUTHORITY = "authority"
    """Certificates of authorities."""
    REVOCATION_LIST = "revocation_list"

    @property
    def words(self) -> str:
        """As in texts for people."""
        return self.value.replace("_", " ")


class Secret:
    """Bytes that are in no log, error or traceback: ``repr`` and ``str`` hide them, and nothing serializes them."""

    __slots__ = ("_content",)

    def __init__(self, content: bytes) -> None:
        self._content = content

    def reveal(self) -> bytes:
        """The bytes themselves."""
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
    """Facts read from a certificate."""

    subject: str
    """RFC 4514."""
    issuer: str
    common_name: str | None
    dns_names: tuple[str, ...]
    """Of the subject alternative name, in lower case; those with wildcards as they are: ``*.example.org``."""
    addresses: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    key_type: str
    """``rsa`` or ``ecdsa``."""
    key_bits: int

    @property
    def names_sha256(self) -> str:
        """The same for certificates of the same names."""
        names = sorted({*self.dns_names, *self.addresses}) or [self.common_name or ""]
        return hashlib.sha256("\n".join(names).encode()).hexdigest()


class CertificateBundle(Value):
    """A certificate, its intermediates and its key; they have been checked to belong together."""

    certificate: str
    """PEM, as are the others."""
    intermediates: tuple[str, ...]
    """Each has signed the one before it, the first one the certificate."""
    private_key: PrivateKey
    facts: CertificateFacts
    sha256: str
    """The identity of the content: of certificate and intermediates in DER. The key is not part of it, so that it
    discloses nothing of the key; only one key belongs to the certificate.
    """


class AuthorityBundle(Value):
    """CA certificates, and the revocation list (CRL) of the first one."""

    certificates: tuple[str, ...]
    """PEM, each."""
    revocation_list: str | None
    """PEM."""
    facts: CertificateFacts
    """Of the first certificate."""
    sha256: str
    """The identity of the content: of the kind and the certificates in DER; the list has its own. No certificate with
    a key has the same one."""


class RevocationList(Value):
    """What an authority has revoked; not held against the authority."""

    content: str
    """PEM."""
    sha256: str
    """The identity of the content: of the list in DER."""
    next_update: datetime | None
    """When it is out of date, if it says so; devices refuse every client from then on."""


class CertificateContent(Value):
    """The content of a certificate, of CA certificates or of a revocation list, as a device gets it."""

    kind: CertificateKind
    sha256: str
    """The identity of the content, as in the values above."""
    certificates: tuple[str, ...] = ()
    """PEM, as are the others: a certificate and its intermediates in order, or authorities."""
    private_key: PrivateKey | None = None
    """Of a certificate."""
    revocation_list: str = ""


class CheckedCertificate(Value):
    """What a reference named when the key manager was asked: what the database keeps of it."""

    reference: str
    kind: CertificateKind
    sha256: str
    """The identity of the content, as in :class:`CertificateContent`."""
    facts: CertificateFacts | None
    """Of a certificate, or the first one of authorities."""
    next_update: datetime | None = None
    """When a revocation list is out of date, if it says so."""

    @property
    def ends_at(self) -> datetime | None:
        """Until when devices or their clients take it."""
        return self.next_update if self.facts is None else self.facts.not_after


EXPIRY_DAYS = (30, 7, 1, 0)
"""Before the end of a certificate, when operators get an event; the last one when it has expired. Of a revocation list
only that counts: most of them are never far from their next one."""


class DueCertificate(Value):
    """A reference that is to be read again."""

    id: str
    """Of its row."""
    project_id: ProjectId
    reference: str
    kind: CertificateKind


class ReferenceQuery(Value):
    """Which references operators ask for: those that meet all of this, of those that listeners or pools have."""

    project_id: ProjectId | None = None
    load_balancer_id: LoadBalancerId | None = None
    expiring_days: int | None = None
    """Certificates that end within so many days, or have ended."""
    unreadable: bool = False
    """Those that could not be read the last time."""


class ReferencedCertificate(Value):
    """What operators see of a reference that listeners or pools have."""

    project_id: ProjectId
    reference: str
    kind: CertificateKind
    sha256: str
    """The identity of the content, when it was read last."""
    facts: CertificateFacts | None
    """Of a certificate, or the first one of authorities."""
    problem: str
    """Why it could not be read last time; empty: it could."""
    checked_at: datetime
    """When it could be read last."""
    ends_at: datetime | None
    """As in :class:`CheckedCertificate`."""
    load_balancers: int
    """How many use it."""


class ReadableCertificate(Value):
    """What an agent may be given the content of."""

    project_id: ProjectId
    """In whose name it is read."""
    reference: str
    kind: CertificateKind
    sha256: str
    """The identity that the agent asked for."""


class CertificateReader(Value):
    """An agent that asks for contents, and what it may have of them."""

    sealing_key: bytes
    """The public key of its session; empty: it has none, and may have nothing."""
    readable: tuple[ReadableCertificate, ...]
    """Each once, in the order asked for."""


class NewCertificate(Value):
    """A certificate, or CA certificates, that an operator adds to a key manager, as given."""

    project_id: ProjectId
    name: str
    kind: CertificateKind
    content: Secret
    """PEM; of a certificate also PKCS#12. A certificate's may hold its key and intermediates."""
    private_key: Secret | None = None
    """PEM."""
    intermediates: bytes = b""
    """PEM."""
    passphrase: Secret | None = None


class KeptCertificate(Value):
    """What operators see of a certificate in a key manager."""

    reference: str
    """The reference that listeners and pools use."""
    project_id: ProjectId
    name: str
    kind: CertificateKind
    facts: CertificateFacts | None
    """Of a certificate, or the first one of authorities."""
    sha256: str
    """The identity of the content."""
    changed_at: datetime
