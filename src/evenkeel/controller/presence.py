"""Periodic heartbeat of a controller, so that operators see all controllers. Scheduling does not depend on it."""

from collections.abc import Callable

from evenkeel.core.control.overview import ControllerHeartbeat
from evenkeel.core.ports import SchedulingStore


class Presence:
    """Heartbeat of this controller. ``problem`` returns the reason why it cannot send messages; empty if it
    can.
    """

    def __init__(
        self,
        store: SchedulingStore,
        *,
        id_: str,
        host: str,
        url: str,
        version: str,
        problem: Callable[[], str],
    ) -> None:
        self._store = store
        self._seen = ControllerHeartbeat(id=id_, host=host, url=url, version=version)
        self._problem = problem

    async def store_heartbeat(self) -> None:
        """Store a heartbeat of this controller. Raises :class:`StoreUnavailable`."""
        seen = self._seen
        await self._store.record_heartbeat(
            ControllerHeartbeat(
                id=seen.id, host=seen.host, url=seen.url, version=seen.version, message_broker=self._problem()
            )
        )

    async def end(self) -> None:
        """Remove this controller from the list of controllers. Raises :class:`StoreUnavailable`."""
        await self._store.delete_controller(self._seen.id)
