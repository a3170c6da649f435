"""Reads facts of networks again from the network service.

A network that was changed there, or a member whose port moved to another host, makes the load balancers on it due.
"""

from collections.abc import Sequence

import structlog

from evenkeel.controller.driver import Driver
from evenkeel.controller.loops import InterruptibleSleep
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.core.networking.attachment import NetworkToReread
from evenkeel.core.ports import AttachmentStore, Network

log = structlog.get_logger(__name__)

NETWORKS_PER_LOOK = 50


class NetworkFactsUpdates:
    """Reads facts of networks again from the network service when they are due, and makes load balancers on
    changed networks due.
    """

    def __init__(
        self, attachments: AttachmentStore, network: Network, driver: Driver, settings: ControllerSettings
    ) -> None:
        self._attachments = attachments
        self._network = network
        self._driver = driver
        self._settings = settings
        self._pause = InterruptibleSleep()

    def wake(self) -> None:
        """End the current pause at once, because facts may be due before their time."""
        self._pause.end()

    async def pause(self, seconds: float) -> None:
        """Return after ``seconds``, or earlier after :meth:`wake`."""
        await self._pause.wait(seconds)

    async def read_due(self) -> None:
        """Read all due facts and store them. Raises :class:`NetworkUnavailable`, and makes the facts due
        again; :class:`StoreUnavailable`.
        """
        older_seconds = self._settings.network_facts_seconds
        while due := await self._attachments.take_due_network_facts(
            older_seconds=older_seconds, limit=NETWORKS_PER_LOOK
        ):
            try:
                await self._read_facts(due)
            except NetworkUnavailable:
                # take_due_network_facts counted them as read; this makes them due again.
                await self._attachments.make_network_facts_due([each.network_id for each in due])
                raise

    async def _read_facts(self, due: Sequence[NetworkToReread]) -> None:
        facts = await self._network.read_facts(frozenset().union(*(each.subnets for each in due)))
        await self._send_changes(await self._attachments.store_network_facts(facts.subnets))
        for each in due:
            await self._find_member_hosts(each)

    async def _find_member_hosts(self, due: NetworkToReread) -> None:
        if due.members:
            hosts = await self._network.find_hosts(due.network_id, due.members)
            await self._send_changes(await self._attachments.store_hosts(due.network_id, hosts, late=True))

    async def _send_changes(self, changes: tuple[Change, ...]) -> None:
        if changes:
            log.info("networks were changed", load_balancers=len(changes))
        for change in changes:
            await self._driver.change_accepted(change)
