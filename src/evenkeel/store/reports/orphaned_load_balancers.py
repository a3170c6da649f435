"""Orphaned load balancers: they are on the devices of a shard, and the shard's definitions do not contain
them.

Some were deleted while a device was switched off, which still has them, or are on another shard now: they are
removed at once, because their addresses may be in use elsewhere. The database never contained the others,
because it lost commits or is an older copy: they may serve traffic, so they stay for the grace time and are
removed a few at a time. While agents know of an unknown history, only those that an operator names are
removed.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, exists, func, insert, select, true, update

from evenkeel.core.control.orphans import OrphanedLoadBalancer
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import COMMON_PROJECT, AgentId, LoadBalancerId, ShardId
from evenkeel.core.kit.words import count_with_noun
from evenkeel.core.protocol.messages import ORPHANS_PER_CALL, JudgeOrphans, OrphanVerdict
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import split_into_batches, upsert_rows
from evenkeel.store.ownership.histories import cap_history_start_at_now
from evenkeel.store.ownership.services import check_shard_owner
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import read_removal_halted
from evenkeel.store.reports.orphaned_networks import REMOVAL_PAUSE_SECONDS, decide_orphaned_networks
from evenkeel.store.reports.orphans import ORPHAN_SEEN_SECONDS
from evenkeel.store.writing.events import EventRow, event_row, record_events
from evenkeel.store.writing.operator_actions import record_operator_action_event

WHOLE_PARTITION_ID = ""
"""Stored in place of a load balancer's id where the time concerns everything in the partition."""
ID_CHARACTERS_MAX = 36
"""Maximum length of a load balancer's id: an object on a device whose mark names a longer one is left unchanged,
because it is not ours.
"""
REPEAT_SECONDS_MAX = ORPHAN_SEEN_SECONDS / 2

_orphaned_load_balancer = schema.orphaned_load_balancer
_removed_load_balancer = schema.removed_load_balancer
_load_balancer = schema.load_balancer
_shard = schema.shard


def record_removed_ids(connection: Connection, ids: Sequence[LoadBalancerId]) -> None:
    """Store the ids of load balancers marked deleted whose rows are about to be removed, because their
    devices confirmed the removal.
    """
    for batch in split_into_batches(ids):
        going = select(_load_balancer.c.id, db_now()).where(
            is_in_list(_load_balancer.c.id, batch),
            _load_balancer.c.deleted == true(),
            ~exists().where(_removed_load_balancer.c.id == _load_balancer.c.id),
        )
        connection.execute(insert(_removed_load_balancer).from_select(["id", "removed_at"], going))


def decide_orphans(connection: Connection, call: JudgeOrphans, *, grace_seconds: float, limit: int) -> OrphanVerdict:
    """Decide which orphaned load balancers (or, on a common shard, networks) to remove from devices; record
    those that the database never had, with events. While removals are halted, only orphans are removed
    that an operator named. A constant number of statements.

    ``grace_seconds``: time for which orphans stay; 0: permanently. ``limit``: maximum number of orphans
    removed because their grace time is over. Raises :class:`SessionLost` unless the agent owns the shard.
    """
    place = check_shard_owner(connection, call.agent_id, call.session_id, call.shard_id, call.epoch)
    if place.project_id == COMMON_PROJECT:
        return decide_orphaned_networks(connection, call)
    found = sorted({one for one in call.load_balancer_ids if 0 < len(one) <= ID_CHARACTERS_MAX})[:ORPHANS_PER_CALL]
    known = {
        row.id: row.shard_id
        for row in connection.execute(
            select(_load_balancer.c.id, _load_balancer.c.shard_id).where(is_in_list(_load_balancer.c.id, found))
        )
    }
    deleted = set(
        connection.scalars(select(_removed_load_balancer.c.id).where(is_in_list(_removed_load_balancer.c.id, found)))
    )
    # It belongs to another shard now, whose devices serve it: here it is a remainder.
    elsewhere = {one for one, shard_id in known.items() if shard_id not in (None, call.shard_id)}
    let_go = [one for one in found if one in elsewhere or (one in deleted and one not in known)]
    unknown = [one for one in found if one not in known and one not in deleted]
    halted = read_removal_halted(connection)
    # a database without the history that agents saw removes only orphans that an operator names
    orphans = _ReportedOrphans(connection, call.shard_id, unknown, 0.0 if halted else grace_seconds)
    remove = orphans.take_due(limit)
    orphans.record(environment=place.environment, agent_id=call.agent_id)
    kept = orphans.kept_seconds()
    if not halted:
        return OrphanVerdict(remove=(*let_go, *remove), kept=kept, again_seconds=orphans.seconds_until_next_request())
    kept |= dict.fromkeys(let_go)
    # a short interval, so that they go soon after an operator has accepted the history
    return OrphanVerdict(remove=tuple(remove), kept=kept, again_seconds=REMOVAL_PAUSE_SECONDS if kept else None)


class _ReportedOrphans:
    """The orphaned load balancers of one shard that one report names, with the times at which they are
    removed; made by two queries.
    """

    def __init__(
        self, connection: Connection, shard_id: ShardId, ids: Sequence[LoadBalancerId], grace_seconds: float
    ) -> None:
        self._connection = connection
        self._shard_id = shard_id
        self._ids = ids
        begun = select(func.max(schema.history.c.begun_at)).scalar_subquery()
        now, begun_at = connection.execute(select(db_now(), func.coalesce(begun, 0.0))).one()
        self._now = float(now)
        if begun_at > now:
            cap_history_start_at_now(connection)
        rows = connection.execute(
            select(
                _orphaned_load_balancer.c.load_balancer_id,
                _orphaned_load_balancer.c.found_at,
                _orphaned_load_balancer.c.removal,
            ).where(
                _orphaned_load_balancer.c.shard_id == shard_id,
                is_in_list(_orphaned_load_balancer.c.load_balancer_id, [WHOLE_PARTITION_ID, *ids]),
                _orphaned_load_balancer.c.seen_at > self._now - ORPHAN_SEEN_SECONDS,
            )
        ).all()
        before = {row.load_balancer_id: float(row.found_at) for row in rows}
        # A partition that waited as a whole has waited for all of its objects.
        first = before.get(WHOLE_PARTITION_ID, self._now)
        self._known = before.keys() & set(ids)
        # the clock may have been set back since
        self._found_at = {one: min(before.get(one, first), self._now) for one in ids}
        self._removal = {row.load_balancer_id for row in rows if row.removal}
        self._remove_at = {
            one: self._now
            if one in self._removal
            else max(at, min(float(begun_at), self._now)) + grace_seconds
            if grace_seconds
            else None
            for one, at in self._found_at.items()
        }
        self._going: list[LoadBalancerId] = []
        self._more = False

    def take_due(self, limit: int) -> list[LoadBalancerId]:
        """Return orphans to remove now: all whose removal was decided before, and the first ``limit`` whose grace time
        is over.
        """
        # Without a limit: the removal was decided before, by an operator or by an earlier answer that may have been
        # lost.
        asked = [one for one in self._ids if one in self._removal]
        due = [one for one, at in self._remove_at.items() if at is not None and at <= self._now and one not in asked]
        # The longest known first, and then by id, so that each pass removes the same ones until they are gone.
        due.sort(key=lambda one: (self._found_at[one], one))
        self._more = len(due) > limit
        self._going = [*asked, *due[:limit]]
        return self._going

    def record(self, *, environment: str, agent_id: AgentId) -> None:
        """Store the reported orphans with the times of their removal, forget those not reported for
        :data:`ORPHAN_SEEN_SECONDS`, and record events: one for all new ones, one for each whose removal begins.
        """
        here = _orphaned_load_balancer.c.shard_id == self._shard_id
        self._connection.execute(
            delete(_orphaned_load_balancer).where(
                here, _orphaned_load_balancer.c.seen_at < self._now - ORPHAN_SEEN_SECONDS
            )
        )
        rows = [
            {
                "shard_id": self._shard_id,
                "load_balancer_id": one,
                "found_at": self._found_at[one],
                "seen_at": self._now,
                "remove_at": self._remove_at[one],
                "removal": one in self._going,
            }
            for one in self._ids
        ]
        if rows:
            upsert_rows(
                self._connection, _orphaned_load_balancer, ("found_at", "seen_at", "remove_at", "removal"), rows
            )

        def event(kind: str, text: str, load_balancer_id: LoadBalancerId) -> EventRow:
            return event_row(
                kind=kind,
                text=text,
                environment=environment,
                agent_id=agent_id,
                shard_id=self._shard_id,
                load_balancer_id=load_balancer_id,
            )

        new = [one for one in self._ids if one not in self._known]
        events = [
            event("orphan_removed", f"load balancer {one}, which the database does not know, is being removed", one)
            for one in self._going
            if one not in self._removal
        ]
        if new:
            others = f" and {count_with_noun(len(new) - 1, 'other')}" if len(new) > 1 else ""
            text = f"devices hold load balancer {new[0]}{others}, which the database does not know"
            events.append(event("orphan_found", text, new[0]))
        record_events(self._connection, events)

    def kept_seconds(self) -> dict[LoadBalancerId, float | None]:
        """Return {orphan that stays: seconds until it may be removed; None: never automatically}."""
        return {
            one: None if at is None else max(0.0, at - self._now)
            for one, at in self._remove_at.items()
            if one not in self._going
        }

    def seconds_until_next_request(self) -> float | None:
        """Return the seconds until the agent must request the next decision; None if no orphan stays."""
        kept = self.kept_seconds()
        if not kept:
            return None
        if self._more:
            return REMOVAL_PAUSE_SECONDS
        # At the latest before an orphan that was not reported again would be forgotten.
        return min([REPEAT_SECONDS_MAX, *(seconds + 0.01 for seconds in kept.values() if seconds is not None)])


def record_partition_age(connection: Connection, shard_id: ShardId, found_at: float) -> None:
    """Record that the shard's whole partition was an orphan since ``found_at``, so that its objects need not wait
    again.
    """
    row = {
        "shard_id": shard_id,
        "load_balancer_id": WHOLE_PARTITION_ID,
        "found_at": found_at,
        "seen_at": db_now(),
        "removal": False,
    }
    connection.execute(insert(_orphaned_load_balancer).values(**row))


def read_orphaned_load_balancers(
    connection: Connection, environment: str, group_number: int
) -> tuple[OrphanedLoadBalancer, ...]:
    """Return the orphaned load balancers in partitions of tenants with a shard in the device group, longest
    known first, at most :data:`ORPHANS_PER_CALL`. One query.
    """
    rows = connection.execute(
        select(
            _orphaned_load_balancer.c.load_balancer_id,
            (db_now() - _orphaned_load_balancer.c.found_at).label("seconds"),
            (_orphaned_load_balancer.c.remove_at - db_now()).label("left"),
        )
        .join(_shard, _shard.c.id == _orphaned_load_balancer.c.shard_id)
        .where(
            _shard.c.environment == environment,
            _shard.c.group_number == group_number,
            _orphaned_load_balancer.c.load_balancer_id != WHOLE_PARTITION_ID,
            _orphaned_load_balancer.c.seen_at > db_now() - ORPHAN_SEEN_SECONDS,
        )
        .order_by(_orphaned_load_balancer.c.found_at, _orphaned_load_balancer.c.load_balancer_id)
        .limit(ORPHANS_PER_CALL)
    )
    return tuple(
        OrphanedLoadBalancer(
            load_balancer_id=row.load_balancer_id,
            seconds=row.seconds,
            removed_in_seconds=None if row.left is None else max(0.0, row.left),
        )
        for row in rows
    )


def request_orphan_removal(connection: Connection, load_balancer_id: LoadBalancerId) -> tuple[ShardOwner, ...]:
    """Mark an orphaned load balancer for removal, and record the operator's act; return the owners that have
    to make a pass, empty if no agent acts for its shard. Raises :class:`NotFound` unless there is such an
    orphan.
    """
    here = (
        _orphaned_load_balancer.c.load_balancer_id == load_balancer_id,
        _orphaned_load_balancer.c.load_balancer_id != WHOLE_PARTITION_ID,
        _orphaned_load_balancer.c.seen_at > db_now() - ORPHAN_SEEN_SECONDS,
    )
    changed = connection.execute(
        update(_orphaned_load_balancer).where(*here).values(removal=True, remove_at=db_now())
    ).rowcount
    if not changed:
        raise NotFound("Orphan", load_balancer_id)
    agent = schema.agent
    rows = connection.execute(
        select(_shard.c.id, _shard.c.environment, _shard.c.group_number, agent.c.host)
        .join(_orphaned_load_balancer, _orphaned_load_balancer.c.shard_id == _shard.c.id)
        .join(agent, agent.c.id == _shard.c.acting_agent_id)
        .where(*here)
    )
    owners = tuple(
        ShardOwner(shard_id=row.id, environment=row.environment, group_number=row.group_number, host=row.host)
        for row in rows
    )
    # also if no agent acts for its shard now: the next owner removes it
    places = [(owner.environment, owner.shard_id) for owner in owners] or [("", ShardId(""))]
    for environment, shard_id in places:
        record_operator_action_event(
            connection,
            kind="orphan_removed",
            done="the removal of a load balancer that the database does not know was requested",
            details=f": {load_balancer_id}",
            environment=environment,
            shard_id=shard_id,
            load_balancer_id=load_balancer_id,
        )
    return owners
