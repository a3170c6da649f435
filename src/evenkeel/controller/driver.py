"""The driver: an accepted API change becomes work for an agent."""

import structlog

from evenkeel.controller.hints import Hints
from evenkeel.controller.scheduler import Scheduler
from evenkeel.core.control import Change

log = structlog.get_logger(__name__)


class Driver:
    """Called after the commit. What it fails to do is found by the scheduler's tick or the agent's sync."""

    def __init__(self, scheduler: Scheduler, hints: Hints) -> None:
        self._scheduler = scheduler
        self._hints = hints

    async def accepted(self, change: Change) -> None:
        """Place the load balancer if it has no shard, else tell its owner. Never raises for a neighbour's sake."""
        if change.owner is not None:
            self._hints.work(change.owner, change.load_balancer_id)
        elif not change.placed and change.tree is not None:
            root = change.tree.load_balancer
            try:
                await self._scheduler.place(root.id, change.environment, root.project_id)
            except Exception as error:  # the write is committed; the tenant must not be told otherwise
                log.warning("placement left to the scheduler", load_balancer=root.id, error=repr(error))
