"""Collects assignments that are read in pages, and determines which shards a complete round has named.

Only a complete round shows that a shard is not the agent's any more. Pages are read one after the other, and shards
come and go meanwhile. That is safe, because the order is by ids, which never change: a shard that the page of its id
did not name was not the agent's when that page was read. If it became the agent's since then, its epoch is higher and
the revision, too, so that the shards are read again. A round is void if the database itself is in doubt: pages of two
histories, or a revision that went back.
"""

from collections.abc import Mapping

from evenkeel.core.kit.ids import ShardId
from evenkeel.core.protocol import messages as m


class AssignmentRound:
    """The pages of assignments of one round, in order."""

    def __init__(self) -> None:
        self.after_id = ""
        """Id after which the next page begins; empty at the start of a round."""
        self.complete = False
        self._epochs: dict[ShardId, int] = {}
        self._first: m.Assignments | None = None
        self._newest_revision = 0

    @property
    def revision(self) -> int:
        """Assignments revision of the round's first page; -1 before the first page. Later changes may be
        missing in the round.
        """
        return self._first.revision if self._first is not None else -1

    @property
    def epochs(self) -> Mapping[ShardId, int]:
        """Epoch of each shard in the pages so far, by shard id."""
        return self._epochs

    def add_page(self, page: m.Assignments) -> bool:
        """Add the answer to a request for the page after :attr:`after_id`. Returns False if the round is
        void: the page is another one, comes from another history or an older revision, repeats a shard, or
        is empty although more are announced.
        """
        # The answer to an earlier, repeated request may come late, and holds another page.
        if page.after_id != self.after_id:
            return False
        if self._first is None:
            self._first = page
        # Pages of two histories, or of a database that went back, cannot be combined: a shard that is missing would be
        # given up.
        elif page.history != self._first.history or page.revision < self._newest_revision:
            return False
        epochs = {shard.shard_id: shard.epoch for shard in page.shards}
        if epochs.keys() & self._epochs.keys() or (page.more and not epochs):  # it would never end
            return False
        self._epochs |= epochs
        self._newest_revision = page.revision
        self.complete = not page.more
        if page.more:
            self.after_id = page.shards[-1].shard_id
        return True
