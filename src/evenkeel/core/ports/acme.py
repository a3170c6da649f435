"""Ports of certificates by ACME: the database, the authority, the resolution of names, and DNS zones."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.tls.acme.caa import CaaRecord, Issuer
from evenkeel.core.tls.acme.progress import Advance
from evenkeel.core.tls.acme.values import (
    AcmeCertificate,
    AcmeTarget,
    AuthorityOrder,
    Authorization,
    IssuedChain,
    NewAcmeCertificate,
    PlacedChallenges,
    RenewalWindow,
    TxtRecord,
)
from evenkeel.core.tls.certificates import PrivateKey, Secret


class AcmeStore(Protocol):
    """Store port for requested certificates. Several controllers may use it at the same time."""

    async def store_request(self, new: NewAcmeCertificate) -> AcmeCertificate:
        """Store a request; it is due at once. Raises :class:`Conflict` for a name that is taken, or if the project has
        as many as it may have.
        """
        ...

    async def list_requested(self, project_id: ProjectId | None) -> tuple[AcmeCertificate, ...]:
        """Return the requested certificates of the project, or of all projects, by project and name."""
        ...

    async def find_requested(self, project_id: ProjectId, name: str) -> AcmeCertificate | None:
        """Return one requested certificate; None if there is none."""
        ...

    async def mark_used(self, project_id: ProjectId, name: str) -> AcmeCertificate | None:
        """Return one requested certificate, which is not removed as unused for some time; None if there is none."""
        ...

    async def remove_unused(self, unused_seconds: float) -> int:
        """Let controllers remove requests that references made, if no listener has the reference and none was about to
        have it for ``unused_seconds``. Returns their number.
        """
        ...

    async def request_removal(self, project_id: ProjectId, name: str) -> bool:
        """Let a controller remove a request and its challenges soon; returns whether there was one."""
        ...

    async def request_revocation(self, project_id: ProjectId, name: str, reason: str) -> bool:
        """Let a controller revoke an issued certificate soon, and order another one; False if none is issued, or an
        order is open. ``reason``: one of :data:`REVOCATION_REASONS`.
        """
        ...

    async def take_due(self, *, limit: int, lease_seconds: float) -> tuple[AcmeCertificate, ...]:
        """Return due certificates, longest due first; of a project one more only after one of each other project that
        has any. No other controller takes them for ``lease_seconds``.
        """
        ...

    async def store_progress(
        self, certificate: AcmeCertificate, result: Advance, *, lease_seconds: float
    ) -> AcmeCertificate | None:
        """Store the progress, with its event. If its step is due at once, the certificate stays taken for another
        ``lease_seconds``. Returns the certificate as stored; None if its turn is over, and nothing was stored.
        """
        ...

    async def set_awaiting_problem(self, certificate: AcmeCertificate, *, awaited_seconds: float) -> None:
        """Set the provisioning status of listeners that wait for a certificate which a reference requested: ERROR after
        a failed order, if the next step comes later than ``awaited_seconds`` after the last request with the reference,
        or if the request is being removed; else PENDING_CREATE.
        """
        ...

    async def end_overdue_waits(self, *, awaited_seconds: float, limit: int) -> int:
        """Put listeners into ERROR that wait for a certificate, if its request was deleted, or if it is not issued
        ``awaited_seconds`` after the last request with the reference, whether or not any controller takes its steps.
        Returns the number of these certificates, at most ``limit``.
        """
        ...

    async def remove_request(self, certificate: AcmeCertificate) -> None:
        """Remove a request whose step is REMOVE."""
        ...

    async def reserve_order(self, certificate: AcmeCertificate, *, orders_max: int, lease_seconds: float) -> bool:
        """Reserve one of ``orders_max`` orders of all controllers for ``lease_seconds``, or until the certificate's
        progress is stored. False if as many are open or reserved, or if the certificate's turn is over.
        """
        ...

    async def store_dns_records(self, certificate: AcmeCertificate, records: Sequence[TxtRecord]) -> bool:
        """Store these records in place of those that the certificate has. False if its turn is over, or if it has
        others meanwhile: then nothing was stored.
        """
        ...

    async def find_with_unneeded_records(self, *, limit: int, rest_seconds: float) -> tuple[AcmeCertificate, ...]:
        """Return certificates without an order that have records, and whose next step is not due within
        ``rest_seconds``.
        """
        ...

    async def find_targets(self, project_id: ProjectId, addresses: Sequence[str]) -> tuple[AcmeTarget, ...]:
        """Return the project's load balancers that have one of the addresses as a VIP."""
        ...

    async def replace_challenges(
        self, certificate: AcmeCertificate, wanted: Mapping[LoadBalancerId, Sequence[Authorization]]
    ) -> tuple[tuple[PlacedChallenges, ...], tuple[Change, ...]]:
        """Make the certificate's challenges on the project's load balancers these, and no others: load balancers that
        differ get a new revision. Without any, a closed challenge stays on each load balancer, unless the certificate
        is being removed. Returns the state of each in ``wanted`` that exists, and the changes. Does nothing if the
        certificate's turn is over.
        """
        ...


class OrderingAuthority(Protocol):
    """Port to a certificate authority. ``account``: the account's key; the account is registered at the first use.

    Every method raises :class:`AuthorityRefused`, :class:`OrderUnknown`, and :class:`AuthorityUnavailable` also for
    answers that are not as RFC 8555 prescribes.
    """

    async def issuer(self, account: PrivateKey) -> Issuer:
        """Return what the authority calls itself in CAA records, with the URL of the account."""
        ...

    async def order(self, account: PrivateKey, names: Sequence[str], *, replaces: str = "") -> AuthorityOrder:
        """Make an order. Only its URL and status are known. ``replaces``: identifier of the certificate that it
        renews; empty: none.
        """
        ...

    async def renewal_window(self, account: PrivateKey, certificate_id: str) -> RenewalWindow | None:
        """Read when the authority suggests the renewal of a certificate; None if it does not suggest anything."""
        ...

    async def revoke(self, account: PrivateKey, certificate: str, reason: int) -> None:
        """Revoke a certificate, PEM, for a reason by its code; nothing to do if it is revoked."""
        ...

    async def read(self, account: PrivateKey, url: str, *, dns_names: Collection[str] = ()) -> AuthorityOrder:
        """Read an order and its authorizations, with challenges of dns-01 for ``dns_names`` and of http-01 for all
        others.
        """
        ...

    async def answer(self, account: PrivateKey, authorization: Authorization) -> None:
        """Let the authority validate a challenge."""
        ...

    async def finalize(self, account: PrivateKey, order: AuthorityOrder, key: PrivateKey, names: Sequence[str]) -> None:
        """Request a certificate of the key from an order that is ready."""
        ...

    async def download(
        self, account: PrivateKey, order: AuthorityOrder, key: PrivateKey, names: Sequence[str]
    ) -> IssuedChain:
        """Read the issued certificate. Raises :class:`AuthorityRefused` if it is not of this key and these names, or
        not valid now.
        """
        ...

    def close(self) -> None:
        """Refuse calls that start from now on."""
        ...


class KeyPairMaker(Protocol):
    """Makes key pairs with a certificate that they have signed themselves."""

    async def self_signed(self, names: Sequence[str], *, days: int) -> Secret:
        """Return a new key and its certificate, PEM."""
        ...


class NameResolver(Protocol):
    """Port to the DNS as the authority sees it."""

    async def addresses(self, name: str) -> tuple[str, ...]:
        """Return the addresses of a name in canonical form; none if it does not exist. Raises
        :class:`ResolverUnavailable`.
        """
        ...

    async def caa(self, name: str) -> tuple[CaaRecord, ...]:
        """Return the CAA records of a name itself, not of its parents. Raises :class:`ResolverUnavailable`."""
        ...


class DnsZone(Protocol):
    """Port to the server of one DNS zone, whichever way it is changed. Every method raises :class:`ZoneUnavailable`
    with the reason in words, and returns or raises in bounded time.
    """

    async def check(self, names: Sequence[str]) -> None:
        """Check that the server accepts changes of records of these names. Changes nothing."""
        ...

    async def add(self, records: Sequence[TxtRecord]) -> None:
        """Add records, beside others of the same names; those that exist stay."""
        ...

    async def remove(self, records: Sequence[TxtRecord]) -> None:
        """Remove exactly these records; those that do not exist are no error."""
        ...

    async def missing(self, records: Sequence[TxtRecord]) -> str:
        """Return which of the zone's authoritative servers does not answer with one of the records yet; empty if all
        do.
        """
        ...
