"""Watches the enhanced services in the operator's files: reports changes, and reapplies the load balancers that use
them.

The device driver reads the files and checks them against the devices.
"""

from collections.abc import Callable, Mapping

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId, SessionId
from evenkeel.core.ports import Clock, Device
from evenkeel.core.resources.enhanced_services import EnhancedService

Due = Mapping[ProjectId, tuple[LoadBalancerId, ...]]

WATCH_SECONDS = 3.0


class EnhancedServiceWatch:
    """Watches which enhanced services the devices offer, and remembers which of them were last reported to
    controllers. ``on_change`` is called when the services have changed, so that a report is needed.
    """

    def __init__(self, device: Device, clock: Clock, on_change: Callable[[], None]) -> None:
        self._device = device
        self._clock = clock
        self._on_change = on_change
        self._offered: tuple[EnhancedService, ...] = ()
        self._reported: tuple[SessionId, tuple[EnhancedService, ...]] | None = None

    async def run(self, force_reapply: Callable[[Due], None]) -> None:
        """Check the files of enhanced services every :data:`WATCH_SECONDS`, until cancelled; returns at once
        for drivers without enhanced services.

        ``force_reapply`` is called with the load balancers, by project, that use changed enhanced services.
        """
        while (found := await self._device.enhanced_services()) is not None:
            if found.due:
                force_reapply(found.due)
            if found.services != self._offered:
                self._offered = found.services
                self._on_change()
            await self._clock.sleep(WATCH_SECONDS)

    def services_to_report(self, session_id: SessionId) -> tuple[EnhancedService, ...] | None:
        """Return the enhanced services for the next report of the session; None if they have not changed
        since the session's last report.
        """
        return None if self._reported == (session_id, self._offered) else self._offered

    def record_reported(self, session_id: SessionId, services: tuple[EnhancedService, ...] | None) -> None:
        """Record that controllers accepted the session's report with these services; None: the report had
        none.
        """
        # The services of the report, not the present ones: they may have changed while it was sent.
        if services is not None:
            self._reported = (session_id, services)
