"""A controller says that it is there, so that operators see all of them. Nothing depends on it."""

from collections.abc import Callable

from evenkeel.core.overview import SeenController
from evenkeel.core.ports import SchedulingStore


class Presence:
    """One of this process. ``problem``: why it cannot send messages; empty: it can."""

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
        self._seen = SeenController(id=id_, host=host, url=url, version=version)
        self._problem = problem

    async def look(self) -> None:
        """It is there. Raises :class:`~evenkeel.core.errors.Unavailable`."""
        seen = self._seen
        await self._store.note_controller(
            SeenController(
                id=seen.id, host=seen.host, url=seen.url, version=seen.version, message_broker=self._problem()
            )
        )

    async def end(self) -> None:
        """It stops. Raises :class:`~evenkeel.core.errors.Unavailable`."""
        await self._store.forget_controller(self._seen.id)
