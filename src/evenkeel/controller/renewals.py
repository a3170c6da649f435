"""Reads the certificates that listeners and pools refer to again, periodically: new content causes a new
revision of the load balancers with it.

A failed read changes nothing for load balancers. All controllers do this concurrently: each due reference is
taken by one.
"""

import structlog

from evenkeel.controller.driver import Driver
from evenkeel.controller.loops import for_each_concurrently
from evenkeel.core.kit.errors import CertificateError
from evenkeel.core.ports import KeyManager, RenewalStore
from evenkeel.core.ports.certificate_contents import read_certificate
from evenkeel.core.tls.certificates import DueCertificate

log = structlog.get_logger(__name__)

DUE_PER_PAGE = 20
PAGES_PER_LOOK = 10
READS_AT_ONCE = 4
WARNINGS_PER_LOOK = 100


class Renewals:
    """Reads the certificates again that listeners and pools refer to, and makes load balancers with new
    contents due.
    """

    def __init__(self, store: RenewalStore, key_manager: KeyManager, driver: Driver) -> None:
        self._store = store
        self._key_manager = key_manager
        self._driver = driver

    async def process_due(self) -> None:
        """Read due references, at most :data:`PAGES_PER_LOOK` pages of :data:`DUE_PER_PAGE`, store new
        content, and record events of certificates that expire soon. Raises :class:`KeyManagerUnavailable`
        if that prevented some reads, :class:`StoreUnavailable`.
        """
        await self._store.warn_of_expiry(limit=WARNINGS_PER_LOOK)
        for _ in range(PAGES_PER_LOOK):
            due = await self._store.take_due_certificates(limit=DUE_PER_PAGE)
            await for_each_concurrently(due, self._read_reference, at_once=READS_AT_ONCE)
            if len(due) < DUE_PER_PAGE:
                return

    async def _read_reference(self, due: DueCertificate) -> None:
        try:
            found = await read_certificate(self._key_manager, due.reference, due.project_id, due.kind)
        # Load balancers keep the content that they have; only an unavailable key manager ends the round.
        except CertificateError as error:
            await self._store.record_read_problem(due, str(error))
            return
        changes = await self._store.record_content(due, found.checked(due.reference))
        if changes:
            log.info(
                "certificate renewed",
                reference=due.reference,
                kind=due.kind.value,
                project=due.project_id,
                sha256=found.content.sha256,
                load_balancers=len(changes),
            )
            for warning in found.warnings:
                log.warning(
                    "certificate accepted with an oddity",
                    project_id=due.project_id,
                    reference=due.reference,
                    reason=warning,
                )
        for change in changes:
            await self._driver.change_accepted(change)
