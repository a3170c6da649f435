"""Takes the steps of requested certificates that are due: see :mod:`evenkeel.core.tls.acme.progress`.

All controllers do this concurrently. A certificate is taken for some time; a controller that dies in a step leaves it
to another one, which repeats the step: every step may be repeated, and the order's URL is stored before anything is
answered.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import structlog

from evenkeel.controller.acme.authorization_records import AuthorizationRecords
from evenkeel.controller.acme.dns_proof import ConfiguredZone, DnsChallengeRecords
from evenkeel.controller.acme.keys import AcmeKeys
from evenkeel.controller.acme.readiness import DomainControlCheck
from evenkeel.controller.acme.waits import AWAITED_SECONDS
from evenkeel.controller.driver import Driver
from evenkeel.controller.loops import for_each_concurrently
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.backoff import Uniform
from evenkeel.core.kit.errors import (
    AcmeAuthorityUnavailable,
    AcmeOrderUnknown,
    AcmeRateLimited,
    AcmeRequestRefused,
    RequestError,
    StoreUnavailable,
    Unavailable,
)
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.ports import (
    AcmeStore,
    CertificateStore,
    KeyManager,
    KeyPairMaker,
    NameResolver,
    Network,
    OperatorStore,
    OrderingAuthority,
    RenewalStore,
)
from evenkeel.core.tls.acme import progress as p
from evenkeel.core.tls.acme.names import WILDCARD
from evenkeel.core.tls.acme.rate_limits import RateLimits
from evenkeel.core.tls.acme.references import references_for_request_name
from evenkeel.core.tls.acme.values import (
    REVOCATION_REASONS,
    AcmeCertificate,
    AcmeStep,
    AuthorityOrder,
    Authorization,
    AuthorizationStatus,
    ChallengeMethod,
    OrderStatus,
    PlacedChallenges,
    RenewalWindow,
)
from evenkeel.core.tls.certificates import DAY_SECONDS, CertificateKind, PrivateKey
from evenkeel.metrics.controller import ACME_RESULTS

log = structlog.get_logger(__name__)

DUE_PER_LOOK = 8
"""Due certificates that are taken at once. Few, so that what becomes due meanwhile does not wait for slow ones."""
UNUSED_LOOK_SECONDS = 60.0
UNUSED_SECONDS = 3600.0
"""Time for which a request that a reference made stays without a listener that has the reference."""
RATE_LIMITED_SECONDS = 300.0
"""Time without orders at an authority whose rate limit is met, if the authority names no time."""
STEPS_PER_TURN = 6
"""Maximum number of steps, each due at once after the one before, for which a certificate stays taken."""


class AcmeSettings(Value):
    """Settings of certificates by ACME."""

    lease_seconds: float = 60.0
    """Time for which a controller takes a certificate; another one repeats its step afterwards."""
    look_seconds: float = 0.5
    """Interval between checks for due steps."""
    steps_at_once: int = 4
    orders_max: int = 50
    """Number of open orders of all controllers above which no more are made."""


class ConfiguredAuthority(NamedTuple):
    """A configured certificate authority, with the client that orders from it."""

    account: str
    """Identity of the account at the authority: directory, and identifier of the external account if there is one."""
    client: OrderingAuthority


class AcmeDependencies(NamedTuple):
    """Parts that certificates by ACME need beside the store."""

    authorities: Mapping[str, ConfiguredAuthority]
    """Authorities by name."""
    resolver: NameResolver
    maker: KeyPairMaker
    certificates: CertificateStore
    key_manager: KeyManager
    capabilities: Mapping[str, Capabilities]
    """Capabilities by device driver."""
    settings: AcmeSettings
    zones: Sequence[ConfiguredZone] = ()
    """DNS zones in which names are proven by dns-01."""


class AcmeIssuing:
    """Takes due steps of requested certificates: checks of names, orders, challenges, renewals, revocations
    and removals.
    """

    def __init__(
        self,
        store: AcmeStore,
        operators: OperatorStore,
        renewals: RenewalStore,
        driver: Driver,
        parts: AcmeDependencies,
        uniform: Uniform,
        *,
        network: Network | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._renewals = renewals
        self._driver = driver
        self._authorities = parts.authorities
        self.settings = parts.settings
        self._readiness = DomainControlCheck(store, operators, parts.resolver, parts.capabilities, network)
        self._dns = DnsChallengeRecords(store, parts.zones, step_seconds=parts.settings.lease_seconds / 2)
        self._records = AuthorizationRecords(parts.resolver)
        self._keys = AcmeKeys(parts.certificates, parts.key_manager, parts.maker)
        self._uniform = uniform
        self._now = now
        self._unused_look_at = 0.0
        self._rate_limits = RateLimits()

    async def process_due(self) -> None:
        """Take the due steps of at most :data:`DUE_PER_LOOK` certificates, and once a minute remove unused
        requests and left DNS records. Raises :class:`StoreUnavailable`; other failures are stored with the
        certificate.
        """
        if self._now() >= self._unused_look_at:
            self._unused_look_at = self._now() + UNUSED_LOOK_SECONDS
            await self._store.request_removal_of_unused(UNUSED_SECONDS)
            await self._dns.remove_leftover_records(self.settings.lease_seconds)
        due = await self._store.take_due_certificates(limit=DUE_PER_LOOK, lease_seconds=self.settings.lease_seconds)
        await for_each_concurrently(due, self._take_due_steps, at_once=self.settings.steps_at_once)

    async def _take_due_steps(self, certificate: AcmeCertificate) -> None:
        for _ in range(STEPS_PER_TURN):
            if certificate.progress.step is AcmeStep.REMOVE:
                await self._remove_request(certificate)
                return
            result = p.advance_progress(
                certificate.progress, await self._step_event(certificate), at=self._now(), uniform=self._uniform
            )
            ended = bool(certificate.progress.order_url) and not result.progress.order_url
            if ended:
                await self._store_challenges(certificate, {})
                await self._dns.remove_records(certificate)
            stored = await self._store.store_progress(certificate, result, lease_seconds=self.settings.lease_seconds)
            if stored is None:
                log.info("certificate left to another controller", certificate=certificate.name)
                return
            if ended:
                await self._delete_order_key(certificate)
            await self._note_awaiting_listeners(stored)
            self._log_result(certificate, result)
            if result.delay_seconds:
                return
            certificate = stored

    async def _step_event(self, certificate: AcmeCertificate) -> p.Event:
        """Take the certificate's step; returns the event that advances its progress. Errors become events,
        except :class:`StoreUnavailable`.
        """
        try:
            return await self._take_step(certificate)
        except StoreUnavailable:
            raise
        except AcmeRequestRefused as error:
            return p.OrderRefused(problem=str(error), retry_after_seconds=error.retry_after_seconds)
        except AcmeOrderUnknown as error:
            return p.OrderMissing(reason=str(error))
        except AcmeAuthorityUnavailable as error:
            return p.StepInterrupted(problem=str(error), retry_after_seconds=error.retry_after_seconds)
        # The key manager does not take a certificate, or the name servers do not answer.
        except (Unavailable, RequestError) as error:
            return p.StepInterrupted(problem=str(error))

    async def _take_step(self, certificate: AcmeCertificate) -> p.Event:
        if certificate.progress.step is AcmeStep.CHECK:
            return await self._check_and_order(certificate)
        authority = self._used_authority(certificate)
        if certificate.progress.step is AcmeStep.RENEWAL:
            return await self._read_renewal(certificate, authority)
        if certificate.progress.step is AcmeStep.REVOKE:
            return await self._revoke_certificate(certificate, authority)
        account = await self._keys.account_key(authority.account)
        order = await authority.client.read(
            account, certificate.progress.order_url, dns_names=frozenset(self._dns.zones_by_name(certificate))
        )
        # An order may have become invalid by a request that failed: only its answer gave the reason.
        if problem := _order_failure(order, certificate.progress.problem):
            return p.OrderRefused(problem=problem, retry_after_seconds=order.retry_after_seconds)
        match certificate.progress.step:
            case AcmeStep.PLACE:
                return await self._place_challenges(certificate, order)
            case AcmeStep.ANSWER:
                for one in _open_authorizations(order):
                    if one.unanswered:
                        await authority.client.answer(account, one)
                return p.ChallengesAnswered()
            case _:
                return await self._collect_certificate(certificate, authority.client, account, order)

    def _used_authority(self, certificate: AcmeCertificate) -> ConfiguredAuthority:
        """Return the authority that the certificate names. Raises :class:`AcmeAuthorityUnavailable` if this
        controller has none of that name.
        """
        found = self._authorities.get(certificate.authority)
        if found is None:
            raise AcmeAuthorityUnavailable(f"The authority {certificate.authority} is not configured.")
        return found

    async def _check_and_order(self, certificate: AcmeCertificate) -> p.Event:
        authority = self._used_authority(certificate)
        by_dns = self._dns.zones_by_name(certificate)
        by_http = [name for name in certificate.names if name not in by_dns]
        if wildcards := [name for name in by_http if name.startswith(WILDCARD)]:
            return p.NamesNotProvable(
                reason=f"{wildcards[0]} can be proven by dns-01 alone, and no DNS zone of the project has it."
            )
        targets = await self._readiness.find_targets(certificate.project_id, by_http)
        if isinstance(targets, str):
            return p.NamesNotProvable(reason=targets)
        await self._dns.check_zones(certificate)
        account = await self._keys.account_key(authority.account)
        issuer = await authority.client.issuer(account)
        dns, http = ChallengeMethod.DNS_01, ChallengeMethod.HTTP_01
        methods = {name: dns if name in by_dns else http for name in certificate.names}
        if problem := await self._records.issuance_problem(methods, issuer):
            return p.NamesNotProvable(reason=problem)
        settings = self.settings
        if rate_limited_until := self._rate_limits.rate_limited_until(certificate.authority, at=self._now()):
            until = datetime.fromtimestamp(rate_limited_until, tz=UTC).strftime("%H:%M:%S")
            return p.NamesNotProvable(
                # Tenants see it, and the authority's name is the operators'.
                reason="The authority has refused orders of several projects because of its rate limits: the next one"
                f" is made after {until} UTC."
            )
        if not await self._store.reserve_order(
            certificate, orders_max=settings.orders_max, lease_seconds=settings.lease_seconds
        ):
            return p.NamesNotProvable(reason=f"{self.settings.orders_max} other orders are open, which is the most.")
        # Before the order, so that a key manager that does not work leaves no order behind.
        await self._keys.order_key(certificate)
        try:
            order = await authority.client.order(
                account, certificate.names, replaces=certificate.progress.certificate_id
            )
        except AcmeRateLimited as error:
            at, delay = self._now(), error.retry_after_seconds or RATE_LIMITED_SECONDS
            self._rate_limits.refused(certificate.authority, certificate.project_id, until=at + delay, at=at)
            ACME_RESULTS.labels("rate_limited").inc()
            raise
        self._rate_limits.accepted(certificate.authority)
        return p.OrderCreated(url=order.url)

    async def _read_renewal(self, certificate: AcmeCertificate, authority: ConfiguredAuthority) -> p.Event:
        progress = certificate.progress
        if self._now() >= progress.renew_at:
            return p.RenewalDue()
        account = await self._keys.account_key(authority.account)
        try:
            window = await authority.client.renewal_window(account, progress.certificate_id)
        except AcmeRequestRefused as error:  # no order is concerned
            return p.StepInterrupted(problem=str(error), retry_after_seconds=error.retry_after_seconds)
        if window is None:  # it has none any more: the time known last stays
            window = RenewalWindow(start=progress.renew_at, end=progress.renew_at, retry_after_seconds=DAY_SECONDS)
        return p.RenewalSuggested(window=window)

    async def _revoke_certificate(self, certificate: AcmeCertificate, authority: ConfiguredAuthority) -> p.Event:
        account = await self._keys.account_key(authority.account)
        leaf = await self._keys.issued_certificate(certificate)
        try:
            await authority.client.revoke(account, leaf, REVOCATION_REASONS[certificate.progress.revocation])
        except AcmeRequestRefused as error:
            return p.RevocationRefused(problem=str(error))
        return p.CertificateRevoked()

    async def _read_renewal_window(
        self, authority: OrderingAuthority, account: PrivateKey, certificate_id: str
    ) -> RenewalWindow | None:
        """Return the suggested renewal of a certificate that was just issued; None if the authority suggests
        none, or its answer cannot be read.
        """
        if not certificate_id:
            return None
        try:
            return await authority.renewal_window(account, certificate_id)
        except (AcmeRequestRefused, AcmeAuthorityUnavailable) as error:
            log.warning("renewal information not read", reason=str(error))
            return None

    async def _place_challenges(self, certificate: AcmeCertificate, order: AuthorityOrder) -> p.Event:
        authorizations = _open_authorizations(order)
        for one in authorizations:
            if one.name not in certificate.names:
                raise AcmeRequestRefused(
                    f"The authority wants a validation of {one.name[:253]}, which was not ordered."
                )
        by_dns = [one for one in authorizations if one.method is ChallengeMethod.DNS_01]
        if by_dns and (missing := await self._dns.set_records(certificate, by_dns)):
            return p.ChallengesNotApplied(reason=missing)
        by_http = [one for one in authorizations if one.method is ChallengeMethod.HTTP_01]
        return await self._place_on_load_balancers(certificate, by_http) if by_http else p.ChallengesApplied()

    async def _place_on_load_balancers(
        self, certificate: AcmeCertificate, authorizations: Sequence[Authorization]
    ) -> p.Event:
        targets = await self._readiness.find_targets(certificate.project_id, [one.name for one in authorizations])
        if isinstance(targets, str):
            return p.ChallengesNotApplied(reason=targets)
        wanted: dict[LoadBalancerId, list[Authorization]] = {}
        for one in authorizations:
            for id_ in targets[one.name]:
                wanted.setdefault(id_, []).append(one)
        placed = await self._store_challenges(certificate, wanted)
        late = [each for each in placed if not each.applied]
        if len(placed) == len(wanted) and not late:
            return p.ChallengesApplied()
        reasons = [f"{each.load_balancer_id}{f' ({each.reason})' if each.reason else ''}" for each in late]
        return p.ChallengesNotApplied(
            reason=f"Waiting for the devices of load balancer {', '.join(reasons) or 'none'}."
        )

    async def _collect_certificate(
        self, certificate: AcmeCertificate, authority: OrderingAuthority, account: PrivateKey, order: AuthorityOrder
    ) -> p.Event:
        if order.status is OrderStatus.READY:
            key = await self._keys.order_key(certificate)
            await authority.finalize(account, order, key, certificate.names)
        if order.status is not OrderStatus.VALID:
            return p.OrderPending(retry_after_seconds=order.retry_after_seconds)
        key = await self._keys.order_key(certificate)
        issued = await authority.download(account, order, key, certificate.names)
        kept = await self._keys.store_certificate(certificate, issued, key)
        for reference in (kept.reference, *references_for_request_name(certificate.reference)):
            await self._renewals.make_certificate_due(certificate.project_id, reference, CertificateKind.CERTIFICATE)
        return p.CertificateIssued(
            not_before=issued.not_before.timestamp(),
            not_after=issued.not_after.timestamp(),
            certificate_id=issued.certificate_id,
            window=await self._read_renewal_window(authority, account, issued.certificate_id),
        )

    async def _store_challenges(
        self, certificate: AcmeCertificate, wanted: Mapping[LoadBalancerId, Sequence[Authorization]]
    ) -> tuple[PlacedChallenges, ...]:
        placed, changes = await self._store.replace_challenges(certificate, wanted)
        for change in changes:
            await self._driver.change_accepted(change)
        return placed

    async def _note_awaiting_listeners(self, certificate: AcmeCertificate) -> None:
        # Nothing waits for a certificate that was issued once.
        if certificate.reference and certificate.progress.not_after is None:
            await self._store.set_awaiting_problem(certificate, awaited_seconds=AWAITED_SECONDS)

    async def _remove_request(self, certificate: AcmeCertificate) -> None:
        await self._note_awaiting_listeners(certificate)
        await self._store_challenges(certificate, {})
        if not await self._dns.remove_records(certificate):
            return  # repeated once the turn is over
        await self._delete_order_key(certificate)
        if certificate.reference:
            await self._keys.delete_certificate(certificate)
        await self._store.remove_request(certificate)
        log.info("certificate request removed", certificate=certificate.name, project=certificate.project_id)

    async def _delete_order_key(self, certificate: AcmeCertificate) -> None:
        try:
            await self._keys.delete_order_key(certificate)
        except Unavailable as error:  # the next order uses it
            log.warning("key of a finished order not deleted", certificate=certificate.name, reason=str(error))

    def _log_result(self, certificate: AcmeCertificate, result: p.AdvancedProgress) -> None:
        about = log.bind(certificate=certificate.name, project=certificate.project_id, names=certificate.names)
        if result.told is None:
            about.debug("certificate step taken", step=result.progress.step.value, problem=result.progress.problem)
            return
        kind, _ = result.told
        of_renewal = kind == "certificate_failed" and result.progress.not_after is not None
        ACME_RESULTS.labels("renewal_failed" if of_renewal else kind.removeprefix("certificate_")).inc()
        about.info("certificate by ACME", kind=kind, problem=result.progress.problem)


def _open_authorizations(order: AuthorityOrder) -> list[Authorization]:
    return [one for one in order.authorizations if one.status is AuthorizationStatus.PENDING]


def _order_failure(order: AuthorityOrder, last_problem: str) -> str:
    """Return why the order has failed; empty if it has not. ``last_problem``: the problem of the step before,
    used if the order gives no reason.
    """
    failed = [one for one in order.authorizations if one.status is AuthorizationStatus.INVALID]
    if order.status is not OrderStatus.INVALID and not failed:
        return ""
    texts = [f"{one.name}: {one.problem or 'not validated'}" for one in failed]
    return (
        "; ".join([*texts, order.problem] if order.problem else texts)
        or last_problem
        or "The authority gives no reason."
    )
