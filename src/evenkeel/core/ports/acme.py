"""Ports of certificates by ACME: the database, the authority, the resolution of names, and DNS zones."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.tls.acme.caa import CaaRecord, Issuer
from evenkeel.core.tls.acme.progress import AdvancedProgress
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
    """Store port for certificates requested from an ACME authority. Several controllers may use it at the
    same time; every method may raise :class:`StoreUnavailable`.
    """

    async def store_request(self, new: NewAcmeCertificate) -> AcmeCertificate:
        """Store a request for a certificate, whose first step is due at once. Raises :class:`Conflict` for a name that
        is taken, or if the project has as many requests as it may have.
        """
        ...

    async def list_requested_certificates(self, project_id: ProjectId | None) -> tuple[AcmeCertificate, ...]:
        """Return the requested certificates of the project, or (None) of all projects, sorted by project and name;
        without those being removed.
        """
        ...

    async def find_requested_certificate(self, project_id: ProjectId, name: str) -> AcmeCertificate | None:
        """Return the project's requested certificate of this name; None if there is none, or it is being removed."""
        ...

    async def mark_used(self, project_id: ProjectId, name: str) -> AcmeCertificate | None:
        """Return the project's requested certificate of this name, and record that a listener is about to
        refer to it, so that it is not removed as unused; None if there is none, or it is being removed.
        """
        ...

    async def request_removal_of_unused(self, unused_seconds: float) -> int:
        """Mark for removal the requests that references made, if no listener has the reference and none was about to
        have it for ``unused_seconds``. Returns their number.
        """
        ...

    async def request_removal(self, project_id: ProjectId, name: str) -> bool:
        """Mark a request for removal: a controller soon removes it and its challenges. Returns False if there
        is no such request, or it was marked already.
        """
        ...

    async def request_revocation(self, project_id: ProjectId, name: str, reason: str) -> bool:
        """Mark an issued certificate for revocation: a controller revokes it soon, and orders another one.
        ``reason``: a key of :data:`REVOCATION_REASONS`. Returns False, and changes nothing, if no valid
        certificate is issued, an order is open, or it is being removed or revoked.
        """
        ...

    async def take_due_certificates(self, *, limit: int, lease_seconds: float) -> tuple[AcmeCertificate, ...]:
        """Return at most ``limit`` certificates whose next step is due, sorted by id. They are chosen as
        longest due, but a project's second one only after the first one of every other project. No other
        controller takes them for ``lease_seconds``.
        """
        ...

    async def store_progress(
        self, certificate: AcmeCertificate, result: AdvancedProgress, *, lease_seconds: float
    ) -> AcmeCertificate | None:
        """Store what a step has led to, with its event. If the next step is due at once (delay 0), the caller
        keeps the certificate for another ``lease_seconds``. Returns the certificate as stored; None if the
        caller's lease of the certificate is over: then nothing was stored.
        """
        ...

    async def set_awaiting_problem(self, certificate: AcmeCertificate, *, awaited_seconds: float) -> None:
        """Set the provisioning status of the listeners that wait for a requested certificate. ERROR after a
        failed order, if the next step comes later than ``awaited_seconds`` after the last request with the
        reference, or if the request is being removed; otherwise PENDING_CREATE, or PENDING_UPDATE if
        devices have the listener with former references.
        """
        ...

    async def end_overdue_waits(self, *, awaited_seconds: float, limit: int) -> int:
        """Put listeners into ERROR that wait for a certificate, if its request was deleted, or if it is not issued
        ``awaited_seconds`` after the last request with the reference, whether or not any controller takes its steps.
        Returns the number of these certificates, at most ``limit``.
        """
        ...

    async def remove_request(self, certificate: AcmeCertificate) -> None:
        """Delete the row of a request whose next step is REMOVE, whoever has its lease; nothing for another step."""
        ...

    async def reserve_order(self, certificate: AcmeCertificate, *, orders_max: int, lease_seconds: float) -> bool:
        """Reserve one of the ``orders_max`` orders that all controllers together may have open, for ``lease_seconds``
        or until the certificate's progress is stored. Returns False if as many are open or reserved, or if the caller's
        lease of the certificate is over.
        """
        ...

    async def store_dns_records(self, certificate: AcmeCertificate, records: Sequence[TxtRecord]) -> bool:
        """Store these TXT records in place of those that the certificate has. Returns False, and stores nothing, if the
        caller's lease of the certificate is over, or another controller has stored others meanwhile.
        """
        ...

    async def find_with_unneeded_records(self, *, limit: int, rest_seconds: float) -> tuple[AcmeCertificate, ...]:
        """Return at most ``limit`` certificates that have TXT records in DNS zones but no open order that
        needs them, and whose next step is not due within ``rest_seconds``; sorted by id.
        """
        ...

    async def find_challenge_targets(self, project_id: ProjectId, addresses: Sequence[str]) -> tuple[AcmeTarget, ...]:
        """Return the project's load balancers that have one of the addresses as a VIP, sorted by id; without
        deleted and held ones.
        """
        ...

    async def replace_challenges(
        self, certificate: AcmeCertificate, wanted: Mapping[LoadBalancerId, Sequence[Authorization]]
    ) -> tuple[tuple[PlacedChallenges, ...], tuple[Change, ...]]:
        """Replace the certificate's HTTP challenges on the project's load balancers by ``wanted``; load
        balancers that differ get a new revision. If nothing is wanted, a closed challenge stays on each
        load balancer, unless the certificate is being removed.

        Returns the state of each load balancer in ``wanted`` that exists, and the changes; two empty tuples,
        and nothing is stored, if the caller's lease of the certificate is over. Raises :class:`Conflict` for
        more challenges than a load balancer can have.
        """
        ...


class OrderingAuthority(Protocol):
    """Port to a certificate authority. ``account``: private key of the account, which is registered at the
    first use.

    Every request raises :class:`AcmeRequestRefused` if the authority refuses it, and
    :class:`AcmeAuthorityUnavailable` if the authority is out of reach or its answer is not as RFC 8555
    prescribes.
    """

    async def issuer(self, account: PrivateKey) -> Issuer:
        """Return the domain names by which the authority is named in CAA records, with the URL of the
        account. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        ...

    async def order(self, account: PrivateKey, names: Sequence[str], *, replaces: str = "") -> AuthorityOrder:
        """Create an order for these DNS names at the authority; of the returned order only URL and status are
        set. ``replaces``: identifier of the certificate that the order renews; empty: none. Raises
        :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        ...

    async def renewal_window(self, account: PrivateKey, certificate_id: str) -> RenewalWindow | None:
        """Read when the authority suggests to renew the certificate with this identifier; None if it suggests
        nothing. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        ...

    async def revoke(self, account: PrivateKey, certificate: str, reason: int) -> None:
        """Revoke a certificate; does nothing if it is revoked already. ``certificate``: PEM. ``reason``:
        reason code of RFC 5280. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        ...

    async def read(self, account: PrivateKey, url: str, *, dns_names: Collection[str] = ()) -> AuthorityOrder:
        """Read the order at ``url``, with its authorizations while it is pending or invalid. ``dns_names``: names that
        are proven by dns-01; all others by http-01. Raises :class:`AcmeOrderUnknown` if the authority does not have the
        order, or it was made at another one; :class:`AcmeRequestRefused` also if a name's challenge is not offered.
        """
        ...

    async def answer(self, account: PrivateKey, authorization: Authorization) -> None:
        """Request that the authority validates the authorization, because its challenge is in place. Raises
        :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        ...

    async def finalize(self, account: PrivateKey, order: AuthorityOrder, key: PrivateKey, names: Sequence[str]) -> None:
        """Request that a ready order's certificate is issued, for the public key of ``key`` and for
        ``names``. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        ...

    async def download(
        self, account: PrivateKey, order: AuthorityOrder, key: PrivateKey, names: Sequence[str]
    ) -> IssuedChain:
        """Read the issued certificate chain of a finished order. Raises :class:`AcmeRequestRefused`, also if
        the certificate is not of this key and these names, or not valid now;
        :class:`AcmeAuthorityUnavailable`.
        """
        ...

    def close(self) -> None:
        """Close the client of the authority: calls that start from now on fail; running ones end by their
        time-outs.
        """
        ...


class KeyPairMaker(Protocol):
    """Makes key pairs with a certificate that they have signed themselves."""

    async def self_signed(self, names: Sequence[str], *, days: int) -> Secret:
        """Return a new private key and a certificate for ``names``, signed by that key and valid for ``days``; PEM."""
        ...


class NameResolver(Protocol):
    """Port to the DNS, as the certificate authority sees it."""

    async def addresses(self, name: str) -> tuple[str, ...]:
        """Return the IPv4 and IPv6 addresses of a DNS name in canonical form; empty if the name does not
        exist or has none. Raises :class:`DnsResolverUnavailable`.
        """
        ...

    async def caa(self, name: str) -> tuple[CaaRecord, ...]:
        """Return the CAA records of a DNS name itself, not of its parents; empty if it has none. Raises
        :class:`DnsResolverUnavailable`.
        """
        ...


class DnsZone(Protocol):
    """Port to the server of one DNS zone, whichever way it is changed. Every method raises :class:`DnsZoneUnavailable`
    with the reason in words, and returns or raises in bounded time.
    """

    async def check(self, names: Sequence[str]) -> None:
        """Check that the zone's server accepts changes of records of these names, without changing any. Raises
        :class:`DnsZoneUnavailable`.
        """
        ...

    async def add(self, records: Sequence[TxtRecord]) -> None:
        """Add TXT records to the zone, beside others of the same names; those that exist stay. Raises
        :class:`DnsZoneUnavailable`.
        """
        ...

    async def remove(self, records: Sequence[TxtRecord]) -> None:
        """Remove exactly these TXT records from the zone; those that do not exist are no error. Raises
        :class:`DnsZoneUnavailable`.
        """
        ...

    async def missing_record_reason(self, records: Sequence[TxtRecord]) -> str:
        """Return which of the zone's authoritative servers does not answer with one of the records yet; empty if all
        servers answer with all records. Raises :class:`DnsZoneUnavailable`.
        """
        ...
