"""State that an agent's process keeps across sessions, to detect and repair a database that lost commits.

It consists of the newest change that the database has confirmed, and the recently served shards. The former is sent
with each keepalive: a database that does not contain it has lost commits. The latter are sent with the next sync:
shards that the database lost are restored from them.
"""

from collections.abc import Collection

from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.ports import Clock
from evenkeel.core.protocol import messages as m
from evenkeel.core.status.outcomes import Applied

CONFIRMED_FOR_SECONDS = 90.0
"""How long keepalives name the last confirmed change: longer than the minimum interval between two histories."""
SERVED_LATELY_SECONDS = 60.0
"""A shard served within this time before a new history began may be one that the database lost."""
SERVED_MAX = 5_000
"""The most shards remembered."""
SERVED_PER_CALL = 500
NAMED_FOR_SECONDS = 600.0
"""Time after a new history began for which lost shards are named to the database, until it has processed them."""


class DatabaseHistory:
    """Confirmed changes and recently served shards, across all sessions of the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._recorded_at = float("-inf")
        self._began_at: float | None = None
        self._keepalives = 0
        self._confirmed: Applied | None = None
        self._confirmed_in: ShardEpoch | None = None
        self._confirmed_at = 0.0
        self._left: ShardId | None = None
        self._left_at = 0.0
        self._former: dict[ProjectId, tuple[int, float]] = {}
        self.history = ""
        """Id of the database's current history; empty before the first answer."""

    # -- confirmed changes

    def record_history(self, history: str, *, asked_at: float, keepalives: int = 0) -> bool:
        """Record the history in the answer to a request made at ``asked_at``. Answers may arrive out of order: False if
        it is of an earlier history. An answer without a history proves nothing.
        """
        if not history:
            return True
        if history == self.history:
            self._keepalives = max(self._keepalives, keepalives)
            return True
        # A request from before the history was recorded may have been answered out of the previous one.
        if asked_at < self._recorded_at:
            return False
        # The first history of a process does not follow another one, so no shard can have been lost.
        if self.history:
            self._began_at = self._clock.monotonic()
        self._recorded_at = self._clock.monotonic()  # answers to earlier requests may be of the previous history
        # Nothing confirmed in the previous history proves anything about this one.
        self.history, self._keepalives, self._confirmed = history, keepalives, None
        self._confirmed_in = self._left = None
        return True

    def confirm(
        self,
        history: str,
        outcomes: tuple[Applied, ...],
        shard: ShardEpoch | None = None,
        *,
        removed: Collection[LoadBalancerId] = (),
    ) -> None:
        """Record outcomes whose report was accepted; their definitions were requested in ``history``, in ``shard``.
        ``removed``: the deleted load balancers among them.
        """
        # A report under way while a new history began says nothing about the new one. The last outcome suffices,
        # because databases lose commits from the end.
        if history == self.history and outcomes and outcomes[-1].change_id:
            self._confirmed = outcomes[-1]
            # A removed load balancer leaves no row, so its absence from the database is no loss.
            self._confirmed_in = None if outcomes[-1].load_balancer_id in removed else shard
            self._confirmed_at = self._clock.monotonic()

    def record_removals(self, load_balancer_ids: Collection[LoadBalancerId]) -> None:
        """Record load balancers that are about to be reported as removed: the result of the report may stay unknown."""
        if self._confirmed is not None and self._confirmed.load_balancer_id in load_balancer_ids:
            self._confirmed_in = None

    def note_complete_pass(self, shard: ShardEpoch) -> None:
        """Record that the shard gets a complete pass: keepalives no longer name it as the shard of the last confirmed
        outcome.
        """
        if self._confirmed_in == shard:
            self._confirmed_in = None

    def state_to_confirm(self) -> m.ConfirmedState | None:
        """Return the confirmed change and shards that the next keepalive names; None before a history is known."""
        if not self.history:
            return None
        now = self._clock.monotonic()
        is_news = now < self._confirmed_at + CONFIRMED_FOR_SECONDS
        return m.ConfirmedState(
            history=self.history,
            keepalives=self._keepalives,
            confirmed=self._confirmed if is_news else None,
            confirmed_in=self._confirmed_in if is_news else None,
            left=self._left if now < self._left_at + CONFIRMED_FOR_SECONDS else None,
        )

    # -- served shards

    def record_left_shard(self, project_id: ProjectId, epoch: int, shard_id: ShardId) -> None:
        """Record that this agent no longer serves the shard."""
        if project_id == COMMON_PROJECT:
            return
        now = self._clock.monotonic()
        self._left, self._left_at = shard_id, now
        # Removed and added again, so that the dictionary stays in order of time, which the loop below relies on.
        self._former.pop(project_id, None)
        self._former[project_id] = (epoch, now)
        while self._former and (len(self._former) > SERVED_MAX or self._is_old(next(iter(self._former)), now)):
            del self._former[next(iter(self._former))]

    def _is_old(self, project_id: ProjectId, now: float) -> bool:
        left_at = self._former[project_id][1]
        # Once a history began, shards served shortly before it are kept, so that they can be named, however long ago
        # that was.
        return left_at < min(now, self._began_at or now) - SERVED_LATELY_SECONDS

    def lost_shards(self) -> tuple[m.FormerShard, ...]:
        """Shards that the database may have lost: no longer served since shortly before the previous history ended."""
        if self._began_at is None or self._clock.monotonic() > self._began_at + NAMED_FOR_SECONDS:
            return ()
        since, until = self._began_at - SERVED_LATELY_SECONDS, self._began_at + SERVED_LATELY_SECONDS
        left = [(project, epoch) for project, (epoch, at) in self._former.items() if since <= at <= until]
        return tuple(m.FormerShard(project_id=project, epoch=epoch) for project, epoch in left[:SERVED_PER_CALL])

    def forget_recovered(self, shards: tuple[m.FormerShard, ...]) -> None:
        """Forget former shards that the database contains again."""
        for shard in shards:
            known = self._former.get(shard.project_id)
            # The shard may have been served and left again, at another epoch, while the call was under way.
            if known is not None and known[0] == shard.epoch:
                del self._former[shard.project_id]
