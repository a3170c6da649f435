"""Errors that cross packages' boundaries; some packages derive classes of their own from these. An error has
a text for the user; causes are chained for the operator. Texts never hold secrets or whole request bodies.
"""

from collections.abc import Sequence
from typing import Self


class EvenKeelError(Exception):
    """Base class of all errors of this package."""


# -- what a tenant or operator asked for cannot be done ----------


class RequestError(EvenKeelError):
    """The request was refused and nothing has changed.

    ``code`` is stable and machine-readable: the kind of the refusal, or a more specific word, from which APIs with
    named errors derive the name.
    """

    code = "request_refused"

    def __init__(self, text: str, *, code: str | None = None) -> None:
        super().__init__(text)
        if code is not None:
            self.code = code


class NotFound(RequestError):
    """The object does not exist, or the caller may not see it. ``kind``: kind of object in words, for the
    text.
    """

    code = "not_found"

    def __init__(self, kind: str, object_id: str) -> None:
        super().__init__(f"{kind} {object_id} not found.")
        self.kind = kind
        self.object_id = object_id


class Invalid(RequestError):
    """A field holds a value that is not allowed; where there is one, the text names the field, the value and
    what is allowed.
    """

    code = "invalid"


class Conflict(RequestError):
    """The request contradicts the stored state."""

    code = "conflict"


class QuotaReached(RequestError):
    """The project's quota does not allow more objects of some kind. ``resources``: names of these kinds."""

    code = "quota_met"

    def __init__(self, resources: Sequence[str]) -> None:
        super().__init__(f"Quota has been met for resources: {', '.join(resources)}")
        self.resources = tuple(resources)


class Unsupported(RequestError):
    """The environment's device type, or its network service, does not support the request."""

    code = "unsupported"


# -- what a certificate authority does not do ----------


class AcmeRequestRefused(EvenKeelError):
    """The certificate authority refused a request, or returned another certificate than the ordered one.
    ``retry_after_seconds``: delay that the authority requests; 0: none is known.
    """

    def __init__(self, text: str, *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after_seconds = retry_after_seconds


class AcmeRateLimited(AcmeRequestRefused):
    """The certificate authority refused a request because of a rate limit (RFC 8555, 6.6)."""


class AcmeOrderUnknown(EvenKeelError):
    """The certificate authority does not have the order, or another authority has it."""


# -- what a reference to a key manager names cannot be used ----------


class CertificateError(Invalid):
    """The certificate cannot be used."""

    code = "certificate_refused"

    def __init__(self, reference: str, detail: str = "", *, field: str = "") -> None:
        """Initialize the error, whose text begins with the class's docstring. ``detail``: more for the text,
        without anything of the content. ``field``: field of the request that names ``reference``; empty:
        none.
        """
        super().__init__(self._text(reference, detail, field))
        self.reference = reference
        self.detail = detail

    def of_field(self, field: str) -> Self:
        """Return a copy of the error that names the request's field with the reference."""
        return type(self)(self.reference, self.detail, field=field)

    def _text(self, reference: str, detail: str, field: str) -> str:
        where = f"{field}: {reference}" if field else reference
        # The docstrings of the subclasses are texts for users.
        words = " ".join(f"{self.__doc__} {detail}".split())
        return f"Validation failure: {where}: {words}"


class CertificateNotFound(CertificateError):
    """The key manager has no such content, or the project may not read it; the text does not say which."""

    code = "certificate_not_found"

    def _text(self, reference: str, detail: str, field: str) -> str:
        return f"Could not retrieve certificate: ['{reference}']{f' ({field})' if field else ''}"


class NoKeyManager(CertificateError):
    """No certificates can be used: there is no key manager to read them from."""


class CertificateNotIssued(CertificateError):
    """The certificate is not issued yet."""


class CertificateUnreadable(CertificateError):
    """Could not read X509 from PEM."""


class Pkcs12Unreadable(CertificateError):
    """The PKCS12 bundle is unreadable. Please check the PKCS12 bundle validity. In addition, make sure it does not
    require a pass phrase."""


class PrivateKeyUnreadable(CertificateError):
    """The private key is unreadable. It must be an RSA or ECDSA key in PEM format."""


class PassphraseNeeded(CertificateError):
    """Passphrase needed to decrypt key but client did not provide one."""


class PassphraseWrong(CertificateError):
    """The passphrase does not decrypt the key."""


class PrivateKeyMismatch(CertificateError):
    """Key and x509 certificate do not match."""


class ChainOutOfOrder(CertificateError):
    """The intermediate certificates are not in order: each must have signed the one before it."""


class CertificateNotYetValid(CertificateError):
    """The certificate is not valid yet."""


class CertificateExpired(CertificateError):
    """The content has expired."""


class CaCertificateUnreadable(CertificateError):
    """The CA certificate is invalid. It must be a valid x509 PEM format certificate."""


class RevocationListUnreadable(CertificateError):
    """The certificate revocation list is invalid. It must be a valid x509 PEM format certificate revocation list."""


class RevocationListMismatch(CertificateError):
    """The CRL specified is not valid for client certificate authority reference supplied."""


class CertificateTooLarge(CertificateError):
    """The content is too large."""


# -- a service is unavailable ----------


class Unavailable(EvenKeelError):
    """A service (database, bus, device) is temporarily unavailable; the call may be retried later."""


class StoreUnavailable(Unavailable):
    """The database is out of reach. A write in progress may or may not have been committed."""


class BusUnavailable(Unavailable):
    """The message bus is out of reach, or does not accept the message: its queue is full, for example."""


class NetworkUnavailable(Unavailable):
    """The network service is out of reach or failing. It may still carry out the request."""


class KeyManagerUnavailable(Unavailable):
    """The key manager is out of reach or failing, so it is unknown whether it has the requested content."""


class CallTimeout(BusUnavailable):
    """A call over the bus got no answer in time. The receiver may still execute it."""


class AcmeAuthorityUnavailable(Unavailable):
    """The certificate authority is out of reach or failing, or answers otherwise than RFC 8555 prescribes.
    ``retry_after_seconds``: delay that the authority requests; 0: none is known.
    """

    def __init__(self, text: str, *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after_seconds = retry_after_seconds


class DnsResolverUnavailable(Unavailable):
    """The name servers are out of reach or failing, so it is unknown whether a name exists."""


class DnsZoneUnavailable(Unavailable):
    """The server of a DNS zone is out of reach, or does not accept a change. The change may have been made."""


class DeviceUnavailable(Unavailable):
    """A device is out of reach, restarting or busy. Its state is unknown, not absent."""

    def __init__(self, device: str, reason: str) -> None:
        super().__init__(f"device {device}: {reason}")
        self.device = device
        self.reason = reason


# -- the rest ----------


class MessageTooLarge(EvenKeelError):
    """A message is over the bus's size limit."""


class MessageRejected(EvenKeelError):
    """A message that this version cannot decode, or that its handler refuses; from a queue it goes to the
    dead-letter queue, and is not delivered again.
    """


class CallRefused(EvenKeelError):
    """The receiver understood the call and refused it. ``code``: stable code of the refusal.
    ``retry_after_seconds``: time after which the same call may succeed; None: not known.
    """

    def __init__(self, code: str, reason: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.retry_after_seconds = retry_after_seconds


class SessionLost(EvenKeelError):
    """The agent's session has ended (expired, replaced or stopped), or the agent does not own the shard at
    that epoch any more.
    """


class StaleOwner(EvenKeelError):
    """The device's guard (epoch and session of the owner) shows that another owner has taken the partition
    over.

    The guard has a newer epoch, or the same epoch of another session, which a database that lost commits may
    have assigned twice. ``seen_epoch``: epoch of the guard; None: not known.
    """

    def __init__(self, partition: str, seen_epoch: int | None) -> None:
        super().__init__(f"partition {partition} is guarded by epoch {seen_epoch}")
        self.partition = partition
        self.seen_epoch = seen_epoch


class OwnershipGuardLost(EvenKeelError):
    """A device of the group holds neither the sender's guard (epoch and session of the owner) nor a newer
    one: the device lost its state, was restored or replaced; or it missed the takeover and has the guard
    only now.

    The caller has to take over again, then apply everything. ``seen_epoch``: epoch of the device's guard;
    None: it has no guard.
    """

    def __init__(self, device: str, partition: str, seen_epoch: int | None) -> None:
        held = "no guard" if seen_epoch is None else f"the guard of epoch {seen_epoch}"
        super().__init__(f"device {device}: partition {partition} holds {held}")
        self.device = device
        self.partition = partition
        self.seen_epoch = seen_epoch


class DeviceRejected(EvenKeelError):
    """A device, or its driver, understood a request and refused it. ``reason``: the text of the device or
    driver.
    """

    def __init__(self, device: str, reason: str) -> None:
        super().__init__(f"device {device}: {reason}")
        self.device = device
        self.reason = reason
