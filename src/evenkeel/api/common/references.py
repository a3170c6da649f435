"""References to key managers in requests: references that are new to a listener or pool are read before the
write, on behalf of the load balancer's project; missing certificates for references ``acme://…`` are
requested. References that the object already had are not read again, except a revocation list or its CA
certificates if the other one is new.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

import structlog

from evenkeel.api.common.referenced_requests import CertificateRequester
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.errors import (
    CertificateError,
    CertificateNotFound,
    EvenKeelError,
    Invalid,
    KeyManagerUnavailable,
    NoKeyManager,
)
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import KeyManager
from evenkeel.core.ports.certificate_contents import read_certificate
from evenkeel.core.resources.model import Listener, LoadBalancerTree, Pool
from evenkeel.core.tls.acme.references import is_acme_reference
from evenkeel.core.tls.acme.values import ACME_PROJECT
from evenkeel.core.tls.certificate_references import CA_ATTRIBUTE_OF_REVOCATION_LIST, NamedCertificate, references_of
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate, certificate_awaiting_issue

log = structlog.get_logger(__name__)

T = TypeVar("T")

NEW_REFERENCES_MAX = 250
"""Most new references of one request: the 203 of a listener, and some more."""
READS_AT_ONCE = 4
"""Most concurrent reads of one project."""
READS_AT_ONCE_OF_ALL = 24
"""Most concurrent reads in total: fewer than key managers accept, so that agents' requests are served, too."""
READ_SECONDS = 30.0
"""Time-out for all reads of one request."""


class ReferencingObjectChange(NamedTuple):
    """A listener or pool, which uses references to key managers, after and before a change."""

    after: Listener | Pool
    before: Listener | Pool | None = None
    """The object before the change; None: it is new."""


def references_of_new_load_balancer(tree: LoadBalancerTree) -> list[ReferencingObjectChange]:
    """Return the listeners and pools of a new load balancer, each without a state before the change."""
    return [*map(ReferencingObjectChange, tree.listeners), *map(ReferencingObjectChange, tree.pools)]


class SignedRevocationList(NamedTuple):
    """A revocation list, and the CA certificate that must have signed it."""

    authority: NamedCertificate
    revoked: NamedCertificate


class ReferenceReader:
    """Reads, before a write, the certificates to which a request's references point. Without a key manager configured,
    references are refused for devices that carry traffic, and accepted unread for devices that carry none.
    """

    def __init__(
        self,
        key_manager: KeyManager | None,
        *,
        requests: CertificateRequester | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._key_manager = key_manager
        self._requests = requests
        self._now = now or (lambda: datetime.now(UTC))
        self._all = asyncio.Semaphore(READS_AT_ONCE_OF_ALL)
        self._of_project: WeakValueDictionary[ProjectId, asyncio.Semaphore] = WeakValueDictionary()
        """``{project id: semaphore}``; an entry exists only while a request of the project is in progress."""

    async def read_and_check(
        self,
        users: Sequence[ReferencingObjectChange],
        project_id: ProjectId,
        table: Capabilities,
        *,
        requesting: bool = True,
    ) -> tuple[CheckedCertificate, ...]:
        """Read the new references, each content once; listeners may wait for requested certificates, which
        are returned as awaited ones. Call it after all other checks, outside of transactions.
        ``requesting``: whether references ``acme://…`` are allowed, which request certificates.

        Raises :class:`CertificateError` naming field and reference, :class:`Invalid` for too many of them,
        :class:`Conflict` if the project's limit of requested certificates is met, and
        :class:`KeyManagerUnavailable`.
        """
        awaited: list[NamedCertificate] = []
        named = _without_duplicates(each for user in users for each in _new_references(user))
        lists = [pair for user in users for pair in _new_revocation_lists(user)]
        if not named and not lists:
            return ()
        if by_names := [each for each in named if is_acme_reference(each.reference)]:
            awaited = await self._request_missing_certificates(by_names, project_id, table, requesting=requesting)
            named = [each for each in named if each not in awaited]
        waiting = tuple(certificate_awaiting_issue(each.reference) for each in awaited)
        if not named and not lists:
            return waiting
        if self._key_manager is None:
            return _check_without_key_manager(named, table)
        if project_id == ACME_PROJECT:  # the controllers' own keys are nobody's certificates
            raise CertificateNotFound((named or [lists[0].revoked])[0].reference)
        if len(named) > NEW_REFERENCES_MAX:
            raise Invalid(
                f"Validation failure: {len(named)} certificate references are new. Allowed in one request: "
                f"{NEW_REFERENCES_MAX}."
            )
        reads = [_make_read_action(self._key_manager, each, project_id, self._now()) for each in named]
        checks = [_make_revocation_list_check(self._key_manager, each, project_id) for each in lists]
        # This variable keeps the semaphore alive for as long as the request runs: the dictionary does not.
        slots = self._of_project.setdefault(project_id, asyncio.Semaphore(READS_AT_ONCE))
        try:
            async with asyncio.timeout(READ_SECONDS):
                found = await self._run_concurrently(reads, slots)
                await self._run_concurrently(checks, slots)
        except TimeoutError as error:
            raise KeyManagerUnavailable(
                f"{_reference_names(named or [lists[0].revoked])}: not read within {READ_SECONDS:g} s"
            ) from error
        return (*found, *waiting)

    async def _request_missing_certificates(
        self,
        named: Sequence[NamedCertificate],
        project_id: ProjectId,
        table: Capabilities,
        *,
        requesting: bool,
    ) -> list[NamedCertificate]:
        """Request certificates for the references; return those references whose certificate is not issued
        yet. Raises :class:`Invalid` unless requests are allowed, and the errors of
        :meth:`CertificateRequester.request_if_missing`.
        """
        if not requesting or self._requests is None:
            raise Invalid(
                f"Validation failure: {_reference_names(named)}: imports and mirrors request no certificates; "
                "references of a key manager are allowed."
            )
        requests = self._requests
        return [each for each in named if not await requests.request_if_missing(each, project_id, table)]

    async def _run_concurrently(self, work: Sequence[Callable[[], Awaitable[T]]], slots: asyncio.Semaphore) -> list[T]:
        """Run all work, as much at a time as ``slots`` and the limit of all projects allow, and return the
        results in order, without None. After an :class:`EvenKeelError` nothing more is started; of several
        such errors the one of the earliest work is raised.
        """
        failed = False

        async def run_one(begin: Callable[[], Awaitable[T]]) -> T | EvenKeelError | None:
            nonlocal failed
            # the project's slot first: waiting reads of one project must not hold the slots of all
            async with slots, self._all:
                if failed:
                    return None
                try:
                    return await begin()
                except EvenKeelError as error:
                    # returned, not raised, so that gather waits for the reads in progress
                    failed = True
                    return error

        found: list[T] = []
        for outcome in await asyncio.gather(*map(run_one, work)):
            if isinstance(outcome, EvenKeelError):
                raise outcome
            if outcome is not None:
                found.append(outcome)
        return found


def _without_duplicates(named: Iterable[NamedCertificate]) -> list[NamedCertificate]:
    """Return each pair of reference and kind once, with the field that names it first."""
    found: dict[tuple[str, CertificateKind], NamedCertificate] = {}
    for each in named:
        found.setdefault((each.reference, each.kind), each)
    return list(found.values())


def _new_references(user: ReferencingObjectChange) -> Iterable[NamedCertificate]:
    known = set() if user.before is None else {(each.reference, each.kind) for each in references_of(user.before)}
    return (each for each in references_of(user.after) if (each.reference, each.kind) not in known)


def _new_revocation_lists(user: ReferencingObjectChange) -> Iterable[SignedRevocationList]:
    """Yield the pairs of revocation list and CA certificate that the user did not have before the change."""
    known = () if user.before is None else _signed_revocation_lists(user.before)
    return (each for each in _signed_revocation_lists(user.after) if each not in known)


def _signed_revocation_lists(row: Listener | Pool) -> list[SignedRevocationList]:
    named = {each.field: each for each in references_of(row)}
    return [
        SignedRevocationList(named[authority], named[revoked])
        for revoked, authority in CA_ATTRIBUTE_OF_REVOCATION_LIST.items()
        if revoked in named and authority in named
    ]


def _check_without_key_manager(
    named: Sequence[NamedCertificate], table: Capabilities
) -> tuple[CheckedCertificate, ...]:
    if table.carries_traffic and named:
        raise NoKeyManager(named[0].reference, field=named[0].field)
    return ()


def _make_read_action(
    key_manager: KeyManager, named: NamedCertificate, project_id: ProjectId, now: datetime
) -> Callable[[], Awaitable[CheckedCertificate]]:
    async def read_and_check() -> CheckedCertificate:
        try:
            found = await read_certificate(key_manager, named.reference, project_id, named.kind)
            found.check_validity(named.reference, now)
        except CertificateError as error:
            raise error.of_field(named.field) from error
        except KeyManagerUnavailable as error:
            raise KeyManagerUnavailable(f"{_reference_names([named])}: {error}") from error
        for warning in found.warnings:
            log.warning(
                "certificate accepted with an oddity", project_id=project_id, reference=named.reference, reason=warning
            )
        return found.checked(named.reference)

    return read_and_check


def _make_revocation_list_check(
    key_manager: KeyManager, pair: SignedRevocationList, project_id: ProjectId
) -> Callable[[], Awaitable[None]]:
    authority, revoked = pair

    async def check_signature() -> None:
        try:
            await key_manager.authority(authority.reference, project_id, revocation_list=revoked.reference)
        except CertificateError as error:
            field = revoked.field if error.reference == revoked.reference else authority.field
            raise error.of_field(field) from error
        except KeyManagerUnavailable as error:
            raise KeyManagerUnavailable(f"{_reference_names([revoked])}: {error}") from error

    return check_signature


def _reference_names(named: Sequence[NamedCertificate]) -> str:
    return f"{named[0].field} {named[0].reference}"
