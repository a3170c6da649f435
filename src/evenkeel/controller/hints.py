"""Sends hints about work to agents.

A hint only saves the wait until the agent polls, so sending one never delays and never fails a request: hints
are merged per shard, sent by a background task, and dropped when the bus refuses them.
"""

import asyncio
from collections.abc import Mapping

import structlog
from msgspec.structs import replace

from evenkeel.controller.inlined_definitions import InlinedDefinition, inlined_definition, inlined_definitions
from evenkeel.core.control.shards import CreatedShard, Placement, ShardOwner
from evenkeel.core.control.writes import Change, RecheckRequest
from evenkeel.core.kit.errors import BusUnavailable, EvenKeelError
from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.kit.tracing import Origin, tracer
from evenkeel.core.ports import Bus
from evenkeel.core.protocol.inquiries import Inquiry, hint_for_inquiry
from evenkeel.core.protocol.messages import (
    ApplyHint,
    AssignmentsHint,
    NewShard,
    RecheckHint,
    ReportAgainHint,
    ResyncAllHint,
    ResyncHint,
    WorkHint,
    agent_queue,
)

log = structlog.get_logger(__name__)

MAX_WAITING_SHARDS = 10_000
MAX_IDS_PER_HINT = 200
SEND_SECONDS = 2.0
"""Time-out of a hint, so that a slow queue does not delay the hints of others."""
SENDS_AT_ONCE = 100
"""Number of concurrent sends; thousands of hints wait after a mass event, and each time-out begins with the send."""


class Hints:
    """Merges hints for agents by shard, and sends them in the background. Hints may be lost."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._work: dict[tuple[str, ShardId], dict[LoadBalancerId, InlinedDefinition | None]] = {}
        """Changed load balancers by queue and shard, with definitions that may be inlined in the hint."""
        self._created: dict[tuple[str, ShardId], CreatedShard] = {}
        """Shards of :attr:`_work` that were created for its load balancers, by queue and shard id."""
        self._rechecks: dict[tuple[str, ShardId], RecheckRequest] = {}
        self._assignments: set[str] = set()
        self._origins: dict[str, Origin] = {}
        """Origin of each queue's next hint, for traces; the first if there are several."""
        self._wake = asyncio.Event()
        self._sending = asyncio.Semaphore(SENDS_AT_ONCE)

    def notify_work(
        self, owner: ShardOwner, load_balancer_id: LoadBalancerId, definition: InlinedDefinition | None = None
    ) -> None:
        """Send a hint soon that the load balancer has a newer revision. ``definition``: its definition, if it
        was created just now; None: the agent requests it. Dropped if :data:`MAX_WAITING_SHARDS` shards, or
        :data:`MAX_IDS_PER_HINT` load balancers of the shard, wait for hints already.
        """
        self._add_work(_shard_key(owner), load_balancer_id, definition)

    def notify_placed(
        self, placement: Placement, load_balancer_id: LoadBalancerId, created: Change | None = None
    ) -> None:
        """Send a hint soon that a load balancer was placed, which describes the shard if the placement
        created it. ``created``: the change that created the load balancer just now; None: its definition
        is not inlined. Dropped if too many hints wait.
        """
        key, shard = _shard_key(placement.owner), placement.created
        definition = None if shard is None or created is None else _first_definition(shard, created)
        if self._add_work(key, load_balancer_id, definition) and shard is not None:
            self._created[key] = shard

    def _add_work(
        self, key: tuple[str, ShardId], load_balancer_id: LoadBalancerId, definition: InlinedDefinition | None
    ) -> bool:
        """Add a load balancer to the next hint of its shard, unless the hint names :data:`MAX_IDS_PER_HINT`
        already. Returns False if hints for too many shards wait, so that there will be none for this
        shard.
        """
        ids = self._work.get(key)
        if ids is None:
            # Dropped like a lost hint: the agent's next sync, or a repeated hint, finds the work.
            if len(self._work) >= MAX_WAITING_SHARDS:
                return False
            ids = self._work[key] = {}
        if load_balancer_id in ids:
            ids[load_balancer_id] = None  # it has changed since
        # A shard with more changes at once gets the rest by a repeated hint.
        elif len(ids) < MAX_IDS_PER_HINT:
            ids[load_balancer_id] = definition
        self._record_trace_origin(key[0])
        self._wake.set()
        return True

    def notify_change(self, change: Change) -> None:
        """Send a hint soon about an accepted change, if an agent acts for its shard."""
        if change.owner is not None:
            self.notify_work(change.owner, change.load_balancer_id)

    def notify_recheck(self, recheck: RecheckRequest) -> None:
        """Send a hint soon that the shard's owner must check load balancers, or everything, on the devices;
        several are merged. Dropped if too many hints wait.
        """
        owner = recheck.owner
        key = (agent_queue(owner.environment, owner.group_number, owner.host), owner.shard_id)
        waiting = self._rechecks.get(key)
        if waiting is None and len(self._rechecks) >= MAX_WAITING_SHARDS:
            return  # like a lost hint: observers report lasting differences again
        ids = {*recheck.load_balancer_ids, *(waiting.load_balancer_ids if waiting else ())}
        complete = recheck.complete or len(ids) > MAX_IDS_PER_HINT or (waiting is not None and waiting.complete)
        kept = () if complete else tuple(sorted(ids))
        self._rechecks[key] = RecheckRequest(owner=owner, load_balancer_ids=kept, complete=complete)
        self._wake.set()

    def notify_assignments(self, owner: ShardOwner) -> None:
        """Send a hint soon that the shards that the agent owns have changed."""
        queue = agent_queue(owner.environment, owner.group_number, owner.host)
        self._assignments.add(queue)
        self._record_trace_origin(queue)
        self._wake.set()

    def _record_trace_origin(self, queue: str) -> None:
        if (origin := tracer().origin()) is not None:
            self._origins.setdefault(queue, origin)

    async def send_inquiry(self, owner: ShardOwner, inquiry: Inquiry) -> None:
        """Send an operator's inquiry at once. Raises :class:`BusUnavailable` if the bus does not take it
        within :data:`SEND_SECONDS`; then there will be no answer.
        """
        queue = agent_queue(owner.environment, owner.group_number, owner.host)
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._bus.send(queue, hint_for_inquiry(inquiry, owner.shard_id))
        except TimeoutError as error:
            raise BusUnavailable(f"the message bus did not take a message for {queue}") from error

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            # Before the flush takes the hints, so that one that arrives during the flush wakes the loop again.
            self._wake.clear()
            try:
                await self._send_waiting_hints()
            except Exception:  # without hints every change would wait for the agents' next sync
                log.exception("unexpected error while sending hints")

    async def _send_waiting_hints(self) -> None:
        # All are taken without an await in between, so each hint belongs to exactly one flush.
        queues, self._assignments = self._assignments, set()
        work, self._work = self._work, {}
        created, self._created = self._created, {}
        rechecks, self._rechecks = self._rechecks, {}
        origins, self._origins = self._origins, {}
        sends = [
            self._send_hint_when_slot_is_free(queue, AssignmentsHint(), origins.get(queue)) for queue in sorted(queues)
        ]
        sends += [
            self._send_hint_when_slot_is_free(key[0], _apply_hint(key[1], ids, created.get(key)), origins.get(key[0]))
            for key, ids in work.items()
        ]
        sends += [
            self._send_hint_when_slot_is_free(queue, _recheck_hint(recheck)) for (queue, _), recheck in rechecks.items()
        ]
        await asyncio.gather(*sends)

    async def _send_hint_when_slot_is_free(
        self, queue: str, hint: WorkHint | AssignmentsHint, origin: Origin | None = None
    ) -> None:
        async with self._sending:
            await self._send_hint_now(queue, hint, origin)

    async def _send_hint_now(self, queue: str, hint: WorkHint | AssignmentsHint, origin: Origin | None) -> None:
        with tracer().span_following_from(
            origin, "send hint", attributes={"messaging.destination.name": queue}
        ) as span:
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await self._bus.send(queue, hint)
            except (EvenKeelError, TimeoutError) as error:
                span.fail(type(error).__name__)
                log.warning("hint dropped; the agent's next sync finds the work", queue=queue, error=str(error))


def _shard_key(owner: ShardOwner) -> tuple[str, ShardId]:
    return agent_queue(owner.environment, owner.group_number, owner.host), owner.shard_id


def _first_definition(shard: CreatedShard, change: Change) -> InlinedDefinition | None:
    """Return the definition of the load balancer for which the shard was created. None if its agent has to
    request it: it has changed since, needs networks from the database, or :func:`inlined_definition`
    excludes it.
    """
    # A definition of an earlier revision would hide the newer one until the agent's next sync.
    usable = not shard.attached and shard.load_balancer_revision == change.revision
    return inlined_definition(replace(change, term=shard.term if usable else None))


def _apply_hint(
    shard_id: ShardId, ids: Mapping[LoadBalancerId, InlinedDefinition | None], created: CreatedShard | None
) -> ApplyHint:
    return ApplyHint(
        shard_id=shard_id,
        load_balancer_ids=tuple(sorted(ids)),
        inlined=inlined_definitions(ids),
        new_shard=None if created is None else _new_shard(created),
    )


def _new_shard(created: CreatedShard) -> NewShard:
    term = created.term
    return NewShard(
        project_id=created.project_id,
        session_id=term.session_id,
        history=term.history,
        revision=created.assignments_revision,
    )


def _recheck_hint(recheck: RecheckRequest) -> WorkHint:
    shard_id = recheck.owner.shard_id
    if not shard_id:
        return ResyncAllHint()
    if recheck.complete:
        return ResyncHint(shard_id=shard_id)
    if recheck.load_balancer_ids:
        return RecheckHint(shard_id=shard_id, load_balancer_ids=recheck.load_balancer_ids)
    return ReportAgainHint(shard_id=shard_id)
