"""What an agent's process keeps over all its sessions, to detect and repair a database that lost commits: the newest
change that the database has confirmed, and the shards that were served lately.

The first is sent with each keepalive: a database that does not know it has lost commits. The second is sent with the
next sync: shards that the database lost are restored from it.
"""

from collections.abc import Collection

from evenkeel.core import messages as m
from evenkeel.core.ids import COMMON_PROJECT, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.ports import Clock

CONFIRMED_FOR_SECONDS = 90.0
"""So long the last confirmed change is named in keepalives: longer than a new history may have to wait for another."""
SERVED_LATELY_SECONDS = 60.0
"""A shard that was served within this time before a new history began may be one that the database has lost."""
SERVED_MAX = 5_000
"""Shards that are remembered."""
SERVED_PER_CALL = 500
NAMED_FOR_SECONDS = 600.0
"""So long after a new history began, lost shards are named until the database has looked at them."""


class DatabaseHistory:
    """What was confirmed by the database and served lately, over all sessions of the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard_at = float("-inf")
        self._began_at: float | None = None
        self._keepalives = 0
        self._confirmed: m.Applied | None = None
        self._confirmed_in: m.ShardEpoch | None = None
        self._confirmed_at = 0.0
        self._left: ShardId | None = None
        self._left_at = 0.0
        self._former: dict[ProjectId, tuple[int, float]] = {}
        self.history = ""
        """Of the database; empty: not known yet."""

    # -- what was confirmed

    def hear(self, history: str, *, asked_at: float, keepalives: int = 0) -> bool:
        """An answer to what was asked at that time says which history this is. Answers may arrive out of order: False,
        it speaks of a history before. A controller of the version before says none."""
        if not history:
            return True
        if history == self.history:
            self._keepalives = max(self._keepalives, keepalives)
            return True
        if asked_at < self._heard_at:
            return False
        if self.history:
            self._began_at = self._clock.monotonic()
        self._heard_at = self._clock.monotonic()  # what was asked before this may speak of the one before
        self.history, self._keepalives, self._confirmed = history, keepalives, None
        self._confirmed_in = self._left = None
        return True

    def confirm(
        self,
        history: str,
        outcomes: tuple[m.Applied, ...],
        shard: m.ShardEpoch | None = None,
        *,
        removed: Collection[LoadBalancerId] = (),
    ) -> None:
        """A report of these was taken; what they are of was asked for in that history, in that shard. ``removed``:
        those of them whose load balancers are to be gone then."""
        if history == self.history and outcomes and outcomes[-1].change_id:
            self._confirmed = outcomes[-1]
            self._confirmed_in = None if outcomes[-1].load_balancer_id in removed else shard
            self._confirmed_at = self._clock.monotonic()

    def removing(self, load_balancer_ids: Collection[LoadBalancerId]) -> None:
        """These are about to be reported as removed: whether the report is taken may stay unknown."""
        if self._confirmed is not None and self._confirmed.load_balancer_id in load_balancer_ids:
            self._confirmed_in = None

    def looked_at(self, shard: m.ShardEpoch) -> None:
        """All of the shard is looked at: what was confirmed there is told no more."""
        if self._confirmed_in == shard:
            self._confirmed_in = None

    def seen(self) -> m.Seen | None:
        """To be told with the next keepalive."""
        if not self.history:
            return None
        now = self._clock.monotonic()
        is_news = now < self._confirmed_at + CONFIRMED_FOR_SECONDS
        return m.Seen(
            history=self.history,
            keepalives=self._keepalives,
            confirmed=self._confirmed if is_news else None,
            confirmed_in=self._confirmed_in if is_news else None,
            left=self._left if now < self._left_at + CONFIRMED_FOR_SECONDS else None,
        )

    # -- what was served

    def left(self, project_id: ProjectId, epoch: int, shard_id: ShardId) -> None:
        """This shard is not served here any more."""
        if project_id == COMMON_PROJECT:
            return
        now = self._clock.monotonic()
        self._left, self._left_at = shard_id, now
        self._former.pop(project_id, None)
        self._former[project_id] = (epoch, now)
        while self._former and (len(self._former) > SERVED_MAX or self._is_old(next(iter(self._former)), now)):
            del self._former[next(iter(self._former))]

    def _is_old(self, project_id: ProjectId, now: float) -> bool:
        left_at = self._former[project_id][1]
        return left_at < min(now, self._began_at or now) - SERVED_LATELY_SECONDS

    def lost(self) -> tuple[m.FormerShard, ...]:
        """What may have been lost with the history before: left since shortly before that ended."""
        if self._began_at is None or self._clock.monotonic() > self._began_at + NAMED_FOR_SECONDS:
            return ()
        since, until = self._began_at - SERVED_LATELY_SECONDS, self._began_at + SERVED_LATELY_SECONDS
        left = [(project, epoch) for project, (epoch, at) in self._former.items() if since <= at <= until]
        return tuple(m.FormerShard(project_id=project, epoch=epoch) for project, epoch in left[:SERVED_PER_CALL])

    def recovered(self, shards: tuple[m.FormerShard, ...]) -> None:
        """The database knows them now."""
        for shard in shards:
            known = self._former.get(shard.project_id)
            if known is not None and known[0] == shard.epoch:
                del self._former[shard.project_id]
