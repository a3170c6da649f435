"""The driver: an accepted API change becomes work for an agent."""

import structlog

from evenkeel.controller.hints import Hints
from evenkeel.controller.scheduler import Scheduler
from evenkeel.controller.vip_port_updates import VipPortUpdates
from evenkeel.core.control import Change

log = structlog.get_logger(__name__)


class Driver:
    """Called after the commit. What it fails to do is found by the scheduler's tick or the agent's sync."""

    def __init__(self, scheduler: Scheduler, hints: Hints, ports: VipPortUpdates | None = None) -> None:
        """``ports``: of a network in which VIPs have some."""
        self._scheduler = scheduler
        self._hints = hints
        self._ports = ports

    async def accepted(self, change: Change) -> None:
        """Place the load balancer if it has no shard, else tell its owner. Never raises for a neighbour's sake."""
        if change.tell_network and self._ports is not None:
            self._ports.changed(change.load_balancer_id)
        if change.owner is not None:
            self._hints.notify_work(change.owner, change.load_balancer_id)
        elif not change.placed and change.tree is not None:
            root = change.tree.load_balancer
            try:
                await self._scheduler.place(root.id, change.environment, root.project_id)
            except Exception as error:  # the write is committed; the tenant must not be told otherwise
                log.warning("placement left to the scheduler", load_balancer=root.id, error=repr(error))

    async def failed_over(self, change: Change) -> None:
        """Have another agent serve it; where there is none, the one that does is to bring its device up to date."""
        moving = False
        try:
            moving = change.owner is not None and await self._scheduler.move(change.load_balancer_id)
        except Exception as error:  # what was accepted is done by whoever serves it
            log.warning("failover not moved to another agent", load_balancer=change.load_balancer_id, error=repr(error))
        if not moving:
            await self.accepted(change)
