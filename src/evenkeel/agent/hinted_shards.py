"""Shards whose workers began by a hint, without a read of the assignments, and what is known of the assignments since.

Every change of a session's assignments raises their revision by one, and the hint about a new shard names the revision
that its creation made. So hints without a gap after the last complete round show all that has changed since, and no
other round is needed. A round under way may be older than a hint's shard, and then must not end its worker.
"""

from collections.abc import Set

from evenkeel.core.kit.ids import ShardId

AHEAD_MAX = 1000
"""Maximum number of revisions remembered beyond a gap; a complete round closes it."""


class HintedShards:
    """Assignments revision up to which all changes are known to a session, and shards that began by hints and
    that the complete round under way may not name.
    """

    def __init__(self) -> None:
        self.revision = -1
        """Revision up to which all changes are known; -1 before the first complete round."""
        self._answered = -1
        """The newest revision in an answer, also to a read of some shards only; -1 before the first answer."""
        self._shards: dict[ShardId, int] = {}
        """Revisions at which hinted shards were created that began during the round under way."""
        self._ahead: set[int] = set()
        """Revisions of hints beyond a gap."""

    def may_begin(self, revision: int) -> bool:
        """Return whether a shard created at ``revision`` is still the session's, as far as is known: the last
        complete round had an earlier revision, and no answer shows a later change. False before the first
        complete round.
        """
        return 0 <= self.revision < revision and self._answered <= revision

    def add(self, shard_id: ShardId, revision: int) -> None:
        """Record a shard that a hint has named and whose worker begins; ``revision``: the assignments
        revision that the shard's creation made.
        """
        self._shards[shard_id] = revision
        if len(self._ahead) < AHEAD_MAX:
            self._ahead.add(revision)
        self._close_gap()

    def answer_received(self, revision: int) -> None:
        """Record that the database has answered a request for assignments at ``revision``."""
        self._answered = max(self._answered, revision)

    def round_begun(self) -> None:
        """Record that a complete round of the assignments begins. Shards that began before are forgotten,
        because the round names them unless the database lost commits.
        """
        self._shards.clear()

    def round_completed(self, revision: int) -> Set[ShardId]:
        """Record a complete round of the assignments at ``revision``; returns the shards that began during
        the round and were created after that revision, so that it may not name them.
        """
        self.revision = max(self.revision, revision)
        self._ahead = {at for at in self._ahead if at > self.revision}
        self._close_gap()
        return {id_ for id_, at in self._shards.items() if at > revision}

    def _close_gap(self) -> None:
        while self.revision + 1 in self._ahead:
            self.revision += 1
            self._ahead.discard(self.revision)
