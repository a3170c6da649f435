"""Requests the certificates that devices lack from the controllers; they are not kept after the pass.

The first apply has no contents, so the key manager is not needed for contents that devices hold. Only load balancers
that refer to missing contents are applied again; all others have been reported by then.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import structlog

from evenkeel.agent.session import Session
from evenkeel.agent.shard_client import ShardClient
from evenkeel.core.devices.device import PartitionOutcome, service_outcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import BusUnavailable, CallRefused
from evenkeel.core.ports import Clock
from evenkeel.core.protocol import messages as m
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.sealing import BoxContext, SealingError

log = structlog.get_logger(__name__)

CONTENTS_PER_PASS = 200
"""Maximum number of contents requested in one pass; a single load balancer may need more."""
FETCH_SECONDS_MAX = 60.0
"""Time after the last received content until which requests are sent: limited, because other load balancers of the
tenant must not wait; counted anew with each content, because a load balancer with hundreds of contents would otherwise
start over again and again.
"""
RETRY_SECONDS_MAX = 5.0


class MissingCertificates(NamedTuple):
    """Load balancers that one pass left unchanged because devices lack certificates, and these certificates."""

    services: tuple[ServiceDefinition, ...]
    sha256s: frozenset[str]
    """SHA-256 sums of the contents that devices lack."""


class CertificateDelivery(NamedTuple):
    """Result of requests for certificates. Every service is in exactly one of the first four fields.
    ``reason``: why requests were not answered; empty if all were.
    """

    ready: tuple[ServiceDefinition, ...]
    """Definitions to apply again together with ``contents``."""
    refused: tuple[Applied, ...]
    """Failed outcomes of load balancers that refer to an unavailable content."""
    unanswered: tuple[ServiceDefinition, ...]
    """Definitions some of whose contents were not received, because of ``reason``."""
    later: tuple[ServiceDefinition, ...]
    """Definitions whose contents were not requested yet, because of the limit of one pass."""
    contents: dict[str, CertificateContent]
    """Fetched contents by SHA-256 sum."""
    reason: str


def services_lacking_certificates(
    services: Iterable[ServiceDefinition], outcome: PartitionOutcome
) -> MissingCertificates:
    """Return the services that failed on a device and refer to certificates which devices lack, with the
    SHA-256 sums of all certificates that devices lack.
    """
    sha256s = frozenset(outcome.lacking)
    if not sha256s:
        return MissingCertificates((), sha256s)
    failed = {one.load_balancer_id for one in outcome.outcomes if one.error}
    left = (service for service in services if service.load_balancer_id in failed)
    return MissingCertificates(
        tuple(service for service in left if sha256s & _referenced_certificates(service)), sha256s
    )


def outcomes_of_other_services(
    outcomes: Sequence[Applied], services: Iterable[ServiceDefinition]
) -> tuple[Applied, ...]:
    """Return the outcomes of all load balancers except those of the given services."""
    ids = {service.load_balancer_id for service in services}
    return tuple(one for one in outcomes if one.load_balancer_id not in ids)


class CertificateFetch:
    """Requests the contents of certificates for one shard, and opens the sealed answers with the session's
    key pair.
    """

    def __init__(self, client: ShardClient, session: Session, clock: Clock) -> None:
        self._client = client
        self._session = session
        self._clock = clock

    async def fetch(self, left: MissingCertificates) -> CertificateDelivery:
        """Fetch the contents that the services lack, for as many services as one pass may request (at least
        one). Raises :class:`SessionLost`; other failures are part of the result.
        """
        services, later = _split_at_limit(left)
        answers = _ContentRequests(services, left.sha256s)
        reason = await self._request_contents(answers)
        ready, refused, unanswered = [], [], []
        for service in services:
            if problem := answers.service_problem(service):
                refused.append(service_outcome(service, problem))
            elif answers.is_lacking(service):
                unanswered.append(service)
            else:
                ready.append(service)
        return CertificateDelivery(tuple(ready), tuple(refused), tuple(unanswered), later, answers.contents, reason)

    async def _request_contents(self, answers: "_ContentRequests") -> str:
        """Send requests until all are answered, and record the answers in ``answers``. Returns the reason why
        some are unanswered; empty if none is. Raises :class:`SessionLost`.
        """
        until, had = self._clock.monotonic() + FETCH_SECONDS_MAX, 0
        while wanted := answers.next_request():
            if self._clock.monotonic() > until:
                return f"certificates were not given within {FETCH_SECONDS_MAX:g} s"
            try:
                answer = await self._client.certificates(wanted)
            except CallRefused as error:
                if error.retry_after_seconds is None:
                    return f"certificates were not given: {error}"
                # The controller's figure is bounded on both sides: it must neither spin nor stop this shard.
                await self._clock.sleep(min(max(error.retry_after_seconds, 0.1), RETRY_SECONDS_MAX))
                continue
            except BusUnavailable as error:
                return f"certificates were not given: {error}"
            for one in wanted:
                self._open_sealed_content(one, answer, answers)
            # The limit applies to progress, not to the whole: a load balancer with hundreds of contents needs more than
            # one request.
            if len(answers.contents) > had:
                until, had = self._clock.monotonic() + FETCH_SECONDS_MAX, len(answers.contents)
        return ""

    def _open_sealed_content(
        self, wanted: m.WantedCertificate, answer: m.Certificates, answers: "_ContentRequests"
    ) -> None:
        box = answer.sealed.get(wanted.sha256)
        if box is None:
            answers.record_refusal(
                wanted, answer.problems.get(wanted.sha256) or f"{wanted.reference}: it was not given"
            )
            return
        purpose = BoxContext(
            agent_id=self._client.agent_id,
            session_id=self._session.id,
            shard_id=self._client.shard_id,
            epoch=self._client.epoch,
            sha256=wanted.sha256,
        )
        try:
            # A box opens only with the purpose it was sealed for, so one recorded from another session, shard or
            # content is useless.
            content = self._session.key_pair.open(box, purpose)
        except SealingError as error:
            log.error("sealed box refused", shard=self._client.shard_id, reference=wanted.reference, error=str(error))
            answers.record_refusal(wanted, f"{wanted.reference}: {error}")
            return
        # The reference may have been given another kind of object since the definition was written.
        if content.kind is wanted.kind:
            answers.contents[wanted.sha256] = content
        else:
            answers.record_refusal(wanted, f"{wanted.reference}: what was given is of kind {content.kind}")


class _ContentRequests:
    """Contents that are still to be requested, and the answers so far. Several references may name the same
    content; one readable reference suffices.
    """

    def __init__(self, services: Iterable[ServiceDefinition], sha256s: Collection[str]) -> None:
        self.contents: dict[str, CertificateContent] = {}
        self._problems: dict[tuple[str, str], str] = {}
        """Reasons why contents were not delivered, by reference and SHA-256 sum."""
        self._sha256s = sha256s
        self._open: dict[str, dict[str, m.WantedCertificate]] = {}
        """Unanswered requests, by sha256 and reference."""
        for service in services:
            for one in service.certificates:
                if one.sha256 in sha256s:
                    wanted = m.WantedCertificate(
                        load_balancer_id=service.load_balancer_id,
                        reference=one.reference,
                        kind=one.kind,
                        sha256=one.sha256,
                    )
                    # Load balancers that share a certificate cost one request.
                    self._open.setdefault(one.sha256, {}).setdefault(one.reference, wanted)

    def next_request(self) -> tuple[m.WantedCertificate, ...]:
        """Return what to request next: for every missing content, the first reference that was not refused,
        at most ``CERTIFICATES_PER_CALL``. Empty: nothing is left to request.
        """
        waiting = [sha256 for sha256, left in self._open.items() if left and sha256 not in self.contents]
        return tuple(next(iter(self._open[sha256].values())) for sha256 in waiting[: m.CERTIFICATES_PER_CALL])

    def record_refusal(self, wanted: m.WantedCertificate, problem: str) -> None:
        """Record why the content is not available by this reference, which is not requested again."""
        self._problems[wanted.reference, wanted.sha256] = problem
        self._open[wanted.sha256].pop(wanted.reference, None)

    def is_lacking(self, service: ServiceDefinition) -> bool:
        """Return whether a content of the service that devices lack has not been received."""
        return bool((_referenced_certificates(service) & set(self._sha256s)) - self.contents.keys())

    def service_problem(self, service: ServiceDefinition) -> str:
        """Return why a content of the service is unavailable by all of its references; empty if none is, or
        if requests are unanswered.
        """
        problems = (
            self._problems.get((one.reference, one.sha256), "")
            for one in service.certificates
            # Only a content whose references were all refused is a problem; others are still open.
            if one.sha256 not in self.contents and not self._open.get(one.sha256)
        )
        return next(filter(None, problems), "")


def _referenced_certificates(service: ServiceDefinition) -> set[str]:
    return {one.sha256 for one in service.certificates}


def _split_at_limit(left: MissingCertificates) -> tuple[tuple[ServiceDefinition, ...], tuple[ServiceDefinition, ...]]:
    """Return the first services, at least one, that together need at most :data:`CONTENTS_PER_PASS` contents,
    and the remaining services.
    """
    seen: set[str] = set()
    for count, service in enumerate(left.services):
        more = _referenced_certificates(service) & left.sha256s
        # The first load balancer is always taken, however many contents it needs: it would never be served otherwise.
        if seen and len(seen | more) > CONTENTS_PER_PASS:
            return left.services[:count], left.services[count:]
        seen |= more
    return left.services, ()
