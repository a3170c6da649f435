"""Ends the waits of listeners for certificates after a limit, whether or not a controller requests
certificates.
"""

import structlog

from evenkeel.core.ports import AcmeStore

log = structlog.get_logger(__name__)

AWAITED_SECONDS = 3600.0
"""Time for which listeners wait for a certificate before they are in ERROR; one that is issued later is used, too."""
LOOK_SECONDS = 60.0
WAITS_PER_LOOK = 100


class AwaitedCertificates:
    """Ends waits of listeners for certificates that last too long. Every controller with a key manager does
    so, because an operator may remove the authority from the configuration of all controllers while
    listeners wait.
    """

    def __init__(self, store: AcmeStore) -> None:
        self._store = store

    async def end_overdue(self) -> None:
        """End the waits for at most :data:`WAITS_PER_LOOK` certificates that have lasted
        :data:`AWAITED_SECONDS`: their listeners become ERROR. Raises :class:`StoreUnavailable`.
        """
        count = await self._store.end_overdue_waits(awaited_seconds=AWAITED_SECONDS, limit=WAITS_PER_LOOK)
        if count:
            log.warning("listeners do not wait any longer for certificates", certificates=count)
