"""State that an agent's process keeps across sessions, to detect and repair a database that lost commits.

It consists of the newest change that the database has confirmed, and the recently served shards. Keepalives
name the newest change for :data:`CONFIRMED_FOR_SECONDS`: a database that does not contain it has lost
commits. The shards are sent with requests for assignments after a new history has begun: those that the
database lost are restored from them.
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
"""Maximum number of shards that this agent stopped serving and remembers."""
SERVED_PER_CALL = 500
NAMED_FOR_SECONDS = 600.0
"""Time after a new history began for which lost shards are named to the database, until it has processed them."""


class DatabaseHistory:
    """The last change that the database confirmed, and recently served shards, across all sessions of the
    process.
    """

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
        """Record the database history (timeline) named in the answer to a request made at ``asked_at``, in
        monotonic seconds. Returns False if the answer is of an earlier history than the recorded one:
        answers may arrive out of order. An empty ``history`` is ignored, and returns True.
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
        """Record the last of ``outcomes``, whose report controllers accepted, as the newest confirmed change.
        Ignored if it has no change id, or if a new history has begun since ``history``, in which the
        definitions were requested.

        ``shard``: where the change was made, named by keepalives with the change; ``removed``: deleted load
        balancers, for which no shard is named.
        """
        # A report under way while a new history began says nothing about the new one. The last outcome suffices,
        # because databases lose commits from the end.
        if history == self.history and outcomes and outcomes[-1].change_id:
            self._confirmed = outcomes[-1]
            # A removed load balancer leaves no row, so its absence from the database is no loss.
            self._confirmed_in = None if outcomes[-1].load_balancer_id in removed else shard
            self._confirmed_at = self._clock.monotonic()

    def record_removals(self, load_balancer_ids: Collection[LoadBalancerId]) -> None:
        """Record load balancers that are about to be reported as removed, because the answer to the report
        may be lost: a missing row of theirs is then no sign of lost commits.
        """
        if self._confirmed is not None and self._confirmed.load_balancer_id in load_balancer_ids:
            self._confirmed_in = None

    def note_complete_pass(self, shard: ShardEpoch) -> None:
        """Record that the shard gets a complete pass, after which keepalives no longer name it as the shard
        of the last confirmed outcome.
        """
        if self._confirmed_in == shard:
            self._confirmed_in = None

    def state_to_confirm(self) -> m.ConfirmedState | None:
        """Return the confirmed change and shards that the next keepalive names, without those older than
        :data:`CONFIRMED_FOR_SECONDS`; None before a history is known.
        """
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
        """Record that this agent no longer serves the shard; a common shard is ignored."""
        if project_id == COMMON_PROJECT:
            return
        now = self._clock.monotonic()
        self._left, self._left_at = shard_id, now
        # Removed and added again, so that the dictionary stays in order of time, which the loop below relies on.
        self._former.pop(project_id, None)
        self._former[project_id] = (epoch, now)
        while self._former and (
            len(self._former) > SERVED_MAX or self._was_left_long_ago(next(iter(self._former)), now)
        ):
            del self._former[next(iter(self._former))]

    def _was_left_long_ago(self, project_id: ProjectId, now: float) -> bool:
        left_at = self._former[project_id][1]
        # Once a history began, shards served shortly before it are kept, so that they can be named, however long ago
        # that was.
        return left_at < min(now, self._began_at or now) - SERVED_LATELY_SECONDS

    def lost_shards(self) -> tuple[m.FormerShard, ...]:
        """Return shards that the database may have lost, at most :data:`SERVED_PER_CALL`: this agent stopped
        serving them at most :data:`SERVED_LATELY_SECONDS` before or after a new history began. Empty if
        none has begun within :data:`NAMED_FOR_SECONDS`.
        """
        if self._began_at is None or self._clock.monotonic() > self._began_at + NAMED_FOR_SECONDS:
            return ()
        since, until = self._began_at - SERVED_LATELY_SECONDS, self._began_at + SERVED_LATELY_SECONDS
        left = [(project, epoch) for project, (epoch, at) in self._former.items() if since <= at <= until]
        return tuple(m.FormerShard(project_id=project, epoch=epoch) for project, epoch in left[:SERVED_PER_CALL])

    def forget_recovered(self, shards: tuple[m.FormerShard, ...]) -> None:
        """Remove shards that the database has processed from the lost shards, unless they were served again
        at another epoch.
        """
        for shard in shards:
            known = self._former.get(shard.project_id)
            # The shard may have been served and left again, at another epoch, while the call was under way.
            if known is not None and known[0] == shard.epoch:
                del self._former[shard.project_id]
