"""The queue of one partition's changes, and the changes that are being applied: one pass at a time."""

import asyncio
from collections.abc import Iterable, Mapping

from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.haproxyd import wire

WAITING_MAX = 200
"""Maximum length of one partition's queue."""


class PartitionBusy(EvenKeelError):
    """Too many changes are queued, or a change takes too long; the client may retry later."""


class QueuedChange:
    """A queued change. ``receipt``: future of its receipt, or of the error by which the change is refused."""

    def __init__(self, change: wire.PartitionChange, *, complete: bool) -> None:
        """``complete``: the change replaces the whole content of the partition (PUT)."""
        self.change = change
        self.complete = complete
        self.receipt: asyncio.Future[wire.Receipt] = asyncio.get_running_loop().create_future()
        self.receipt.add_done_callback(_retrieve_exception)

    @property
    def names_load_balancers(self) -> bool:
        """Whether the change concerns load balancers, not only peers."""
        return self.complete or bool(self.change.load_balancers or self.change.removed)

    def refuse(self, error: EvenKeelError) -> None:
        """Refuse the whole change with an error, unless it is complete already."""
        # A change that the guard or the merge refused earlier in the pass has its error already.
        if not self.receipt.done():
            self.receipt.set_exception(error)

    def complete_with_receipt(
        self,
        how: wire.ApplyMethod,
        errors: Mapping[str, str],
        lacking: Mapping[str, tuple[str, ...]],
        peer: wire.HaproxyPeer | None,
        peers: tuple[wire.HaproxyPeer, ...],
        repaired: dict[str, tuple[str, ...]],
    ) -> None:
        """Complete the change with a receipt: applied, except for load balancers with ``errors``. A change
        that is complete already keeps its result.

        ``errors``, ``lacking`` (digests of missing contents) and ``repaired`` are keyed by load balancer id.
        """
        revisions = {one.id: one.revision for one in self.change.load_balancers}
        outcomes = tuple(
            wire.LoadBalancerOutcome(
                load_balancer_id=name,
                revision=revisions.get(name, 0),
                error=errors.get(name, ""),
                lacking=lacking.get(name, ()),
            )
            for name in (*revisions, *self.change.removed)
        )
        if not self.receipt.done():
            self.receipt.set_result(wire.Receipt(outcomes=outcomes, how=how, peer=peer, peers=peers, repaired=repaired))


def _retrieve_exception(receipt: "asyncio.Future[wire.Receipt]") -> None:
    """Mark the exception as retrieved: asyncio logs it otherwise, and the requester may have disconnected."""
    if not receipt.cancelled():
        receipt.exception()


class ChangeQueue:
    """A partition's queued changes in order of arrival, at most :data:`WAITING_MAX`."""

    def __init__(self, partition: str) -> None:
        self._partition = partition
        self._waiting: list[QueuedChange] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, change: wire.PartitionChange, *, complete: bool) -> QueuedChange:
        """Queue a change. Raises :class:`PartitionBusy` if the queue is full."""
        if len(self._waiting) >= WAITING_MAX:
            raise PartitionBusy(f"{WAITING_MAX} changes of partition {self._partition} wait already")
        queued = QueuedChange(change, complete=complete)
        self._waiting.append(queued)
        return queued

    def take_all(self) -> list[QueuedChange]:
        """Remove and return all queued changes, in order of arrival."""
        waiting, self._waiting = self._waiting, []
        return waiting


class ApplyPass:
    """Queued changes of one partition that are applied to HAProxy together, called a pass, with an event for
    its end.
    """

    def __init__(self, changes: Iterable[QueuedChange]) -> None:
        self._owners = {(queued.change.epoch, queued.change.session_id) for queued in changes}
        self._ended = asyncio.Event()

    def has_other_owner(self, epoch: int, session_id: str) -> bool:
        """Whether any change of the pass is from another owner than the one with this epoch and session."""
        return bool(self._owners - {(epoch, session_id)})

    @property
    def has_ended(self) -> bool:
        """Whether :meth:`end` was called."""
        return self._ended.is_set()

    def end(self) -> None:
        """Mark the pass as ended and release callers that wait for it."""
        self._ended.set()

    async def wait_until_ended(self, limit_seconds: float) -> None:
        """Wait until the pass has ended. Raises :class:`PartitionBusy` if that takes longer than
        ``limit_seconds``.
        """
        try:
            async with asyncio.timeout(limit_seconds):
                await self._ended.wait()
        except TimeoutError as error:
            raise PartitionBusy("a change of an older owner is still under way; try again later") from error
