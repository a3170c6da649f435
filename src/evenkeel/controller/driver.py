"""The driver: turns an accepted API change into work for an agent."""

from collections.abc import Sequence

import structlog

from evenkeel.controller.hints import Hints
from evenkeel.controller.inlined_definitions import inlined_definition
from evenkeel.controller.placements import Placements
from evenkeel.controller.scheduler import Scheduler
from evenkeel.controller.vip_port_updates import VipPortUpdates
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change, RecheckRequest
from evenkeel.core.protocol.inquiries import Inquiry

log = structlog.get_logger(__name__)


class Driver:
    """Notifies agents and the scheduler of changes after their commit. A failure is made up for by the
    scheduler's tick or by the agent's polling.
    """

    def __init__(
        self, placements: Placements, scheduler: Scheduler, hints: Hints, ports: VipPortUpdates | None = None
    ) -> None:
        """``ports``: updates VIPs' ports at a network service; None: VIPs have no ports."""
        self._placements = placements
        self._scheduler = scheduler
        self._hints = hints
        self._ports = ports

    async def change_accepted(self, change: Change) -> None:
        """Place a new load balancer on a shard, or send a hint about the change to the shard's owner; an
        update of the VIP's port that the change needs is made soon. Failures are not raised: the scheduler
        or the agent finds the change later.
        """
        if change.tell_network and self._ports is not None:
            self._ports.update_soon(change.load_balancer_id)
        if change.owner is not None:
            self._hints.notify_work(change.owner, change.load_balancer_id, inlined_definition(change))
        # Only a new load balancer brings its tree; a change of one that waits is placed with it by the scheduler.
        elif not change.placed and change.tree is not None:
            root = change.tree.load_balancer
            try:
                await self._placements.place(change, root)
            except Exception as error:  # the write is committed; the tenant must not get an error
                log.warning("placement left to the scheduler", load_balancer=root.id, error=repr(error))

    async def send_inquiry(self, owner: ShardOwner, inquiry: Inquiry) -> None:
        """Send an operator's inquiry to the agent. Raises :class:`BusUnavailable`."""
        await self._hints.send_inquiry(owner, inquiry)

    async def request_full_resync(self, owners: Sequence[ShardOwner]) -> None:
        """Send a hint to each of these owners to read the shard from the database and apply it to the devices
        completely.
        """
        for owner in owners:
            self._hints.notify_recheck(RecheckRequest(owner=owner, complete=True))

    async def failover_requested(self, change: Change) -> None:
        """Begin to move the load balancer's shard to another agent of its device group; if there is none, or
        that fails, the agent that serves it gets a hint to apply the load balancer again.
        """
        moving = False
        try:
            moving = change.owner is not None and await self._scheduler.fail_over_shard_of(change.load_balancer_id)
        except Exception as error:  # the agent that serves it applies the accepted change
            log.warning("failover not moved to another agent", load_balancer=change.load_balancer_id, error=repr(error))
        if not moving:
            await self.change_accepted(change)
