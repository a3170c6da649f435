"""Reads which shards the agent's session owns, and has them served.

The assignments of all shards are read in rounds, after a hint that anything may have changed, and
periodically in case a hint was lost. A round costs as much as the agent has shards, so rounds have a minimum
interval. Shards that hints name are read without the others, as soon as no request is under way: that is how
a new tenant's first load balancer gets its worker without waiting for a round.
"""

import asyncio
import random
from collections.abc import Callable

import structlog

from evenkeel.agent.assignment_round import AssignmentRound
from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.agent.ownership import Ownership
from evenkeel.agent.session import Session
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.state_reports import FULL_EVERY
from evenkeel.core.kit.backoff import with_jitter
from evenkeel.core.kit.errors import BusUnavailable, CallRefused
from evenkeel.core.kit.ids import ShardId
from evenkeel.core.ports import Clock
from evenkeel.core.protocol import messages as m

log = structlog.get_logger(__name__)


class AssignmentRequests:
    """Assignments that still have to be read, across all sessions of the process."""

    def __init__(self) -> None:
        self.all = asyncio.Event()
        """Event that is set when all assignments have to be read."""
        self.named = asyncio.Event()
        """Event that is set when the assignments of single shards have to be read."""
        self._shards: set[ShardId] = set()

    def request_all(self) -> None:
        """Request that all assignments are read."""
        self.all.set()

    def request_shard(self, shard_id: ShardId) -> None:
        """Request that one shard's assignment is read. If more than ``NAMED_ASSIGNMENTS_MAX`` shards wait,
        all assignments are read instead.
        """
        self._shards.add(shard_id)
        if len(self._shards) > m.NAMED_ASSIGNMENTS_MAX:
            self._shards.clear()
            self.request_all()
        else:
            self.named.set()

    def take_named(self) -> tuple[ShardId, ...]:
        """Return the requested shards, sorted, and remove the requests for them."""
        self.named.clear()
        taken = tuple(sorted(self._shards))
        self._shards.clear()
        return taken


class AssignmentReader:
    """Reads the assignments of one session and passes them to :class:`~evenkeel.agent.ownership.Ownership`,
    one request at a time.
    """

    def __init__(
        self,
        session: Session,
        ownership: Ownership,
        requests: AssignmentRequests,
        *,
        controllers: ControllerClient,
        database_history: DatabaseHistory,
        clock: Clock,
        settings: AgentSettings,
        rng: random.Random,
        follow_history: Callable[[], None],
        is_stopping: Callable[[], bool],
        on_complete: Callable[[], None],
    ) -> None:
        """``follow_history`` is called after each answer, because an answer may name a new history of the
        database; ``on_complete`` once, after the first complete round.
        """
        self._session = session
        self._ownership = ownership
        self._requests = requests
        self._controllers = controllers
        self._database_history = database_history
        self._clock = clock
        self._settings = settings
        self._rng = rng
        self._follow_history = follow_history
        self._is_stopping = is_stopping
        self._on_complete = on_complete
        # An answer that is older than another one must not be applied after it: one request at a time.
        self._reading = asyncio.Lock()

    async def read_all_when_requested(self) -> None:
        """Read all assignments after each request, and periodically in case a hint was lost, until cancelled.
        Raises :class:`SessionLost`.
        """
        complete = False
        while True:
            try:
                async with asyncio.timeout(self._poll_seconds()):
                    await self._requests.all.wait()
            except TimeoutError:  # polled, because a hint may have been lost
                pass
            self._requests.all.clear()
            # The event was cleared before reading, so a hint that arrives meanwhile leads to another round.
            async with self._reading:
                done = await self._read_all()
            if not done:
                self._requests.request_all()
            elif not complete and not self._is_stopping():
                self._on_complete()
                complete = True
            # Bounds the rate when a storm of hints, or a round that has to be repeated, sets the event all the time.
            await self._clock.sleep(self._settings.sync_spacing_seconds)

    async def read_named_when_hinted(self) -> None:
        """Read the assignments of shards that hints name, as soon as no other request is under way, until
        cancelled. If that does not suffice, a complete round is requested. Raises :class:`SessionLost`.
        """
        while True:
            await self._requests.named.wait()
            async with self._reading:
                # Taken only now: hints that came during another request are answered together.
                shard_ids = self._requests.take_named()
                if not await self._read_named(shard_ids):
                    self._requests.request_all()

    async def _read_named(self, shard_ids: tuple[ShardId, ...]) -> bool:
        """Read the assignments of the named shards and have these served. Returns False if a complete round
        is needed, because the answer may be outdated or does not name all shards. Raises
        :class:`SessionLost`.
        """
        # Lost shards are named to controllers in complete rounds only, and have to be first.
        if self._database_history.lost_shards() or self._ownership.revision < 0:
            return False
        known = self._ownership.revision  # hints may raise it while the answer is on its way
        asked_at, page = await self._request_page(
            m.GetAssignments(
                agent_id=self._settings.agent_id,
                session_id=self._session.id,
                takes_parts=True,
                shard_ids=shard_ids,
                limit=self._settings.assignments_per_call,
            )
        )
        is_current = self._database_history.record_history(page.history, asked_at=asked_at)
        self._follow_history()
        if self._is_stopping():
            return True
        # A database that went back may name former owners.
        if not is_current or page.revision < known:
            return False
        self._ownership.apply_assignments(page)
        # What is missing is another agent's by now, or the controller does not know how to answer for named shards.
        return {shard.shard_id for shard in page.shards}.issuperset(shard_ids)

    async def _read_all(self) -> bool:
        """Read all pages of assignments, and make the workers match them. Returns False if the round must be
        repeated; True also if the agent is stopping. Raises :class:`SessionLost`.
        """
        pages, served = AssignmentRound(), self._database_history.lost_shards()
        self._ownership.begin_round()
        named = True
        while not pages.complete:
            asked_at, page = await self._request_page(
                m.GetAssignments(
                    agent_id=self._settings.agent_id,
                    session_id=self._session.id,
                    takes_parts=True,
                    served=served,
                    after_id=pages.after_id,
                    limit=self._settings.assignments_per_call,
                )
            )
            is_current = self._database_history.record_history(page.history, asked_at=asked_at)
            named = named and not page.served_ignored
            # A controller that could not process the lost shards says so; they are named again in the next round.
            if served and not page.served_ignored:
                self._database_history.forget_recovered(served)
            served = ()  # sent with the first page only
            self._follow_history()
            # No worker may start while the agent is ending the others.
            if self._is_stopping():
                return True
            # Starting again is safe: shards already applied keep their workers, and none is ended before a round is
            # complete.
            if not is_current or not pages.add_page(page):
                log.info("assignments changed while they were read; reading them again", after=pages.after_id)
                return False
            # Page by page, because thousands of shards may be taken over; only the end of workers needs all pages.
            self._ownership.apply_assignments(page)
        self._ownership.end_unassigned(pages)
        return not (named and self._database_history.lost_shards())

    async def _request_page(self, call: m.GetAssignments) -> tuple[float, m.Assignments]:
        """Request a page of assignments; returns (monotonic time of the request, page).

        The request is repeated until it is answered, because pages that were read before stay valid. Raises
        :class:`SessionLost`.
        """
        while True:
            asked_at = self._clock.monotonic()
            try:
                return asked_at, await self._controllers.assignments(call)
            except (BusUnavailable, CallRefused) as error:
                log.warning("assignments not fetched", error=str(error))
                await self._clock.sleep(self._settings.retry.initial_seconds)

    def _poll_seconds(self) -> float:
        """Return the interval, in seconds and with jitter, at which assignments are requested without a hint."""
        return with_jitter(self._settings.report_interval_seconds * FULL_EVERY, self._rng.uniform)
