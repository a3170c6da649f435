"""The history of a database: detects that it lost commits.

A fail-over to a replica that was behind, or a restored backup, loses the last commits, and nothing in the database
shows it. But agents keep running and remember the data confirmed to them: the number of their last keepalive, which is
a committed write every second on a row of their own, and the last change whose report was accepted. Commits are lost
from the end: a database that still has the newest confirmed data has lost nothing, and one that is behind it has lost
commits. Then a new history begins: another random id, which every agent gets in the answer to its next keepalive. The
agent then drops its cached state of the devices and checks everything it serves.

A missing confirmed load balancer proves nothing: the agent may have removed it after its report. Then only its shard
gets a complete pass.

Until an agent has done so, it is unknown whether devices agree with the database: ACTIVE load balancers become
PENDING_UPDATE. The database must not answer from lagging replicas, each of which would look like a loss: see
``docs/how-to/run-the-database.md``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, ScalarSelect, or_, select, update

from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.control.histories import History
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.kit.request_context import NO_REQUESTER, Requester, requester
from evenkeel.core.protocol.messages import ConfirmedState
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.status.changes import contradicts_database
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership.foreign_histories import (
    read_unknown_histories,
    record_unknown_histories,
    store_former_history,
)
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event

HISTORY_RENEWED_REASON = "the database has lost changes: its device is being looked at again"
"""Status reason of load balancers that were ACTIVE when a new history began; no event is recorded when they are ACTIVE
again.
"""

RENEWAL_SPACING_SECONDS = 60.0
"""Minimum interval between new histories that agents cause, so that a faulty agent does not keep all others busy."""

_history = schema.history
_load_balancer = schema.load_balancer
_shard = schema.shard


class Histories:
    """Begins a new history when an agent proves that the database lost commits."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._deadline_seconds = options.pending_deadline_seconds

    async def begin_history(self, seen_id: str, agent_id: AgentId, lost: str) -> str:
        """Begin a new history of the database in a transaction of its own, unless the current one is another
        or younger than :data:`RENEWAL_SPACING_SECONDS`; return the current id. ``seen_id``: history in which the
        loss was noticed; ``lost``: the agent's proof that commits were lost.
        """

        def run_transaction(connection: Connection) -> str:
            host = connection.scalar(select(schema.agent.c.host).where(schema.agent.c.id == agent_id)) or ""
            reason = f"agent {name_and_id(host, agent_id)}: {lost}"
            return begin_history(
                connection, seen_id, reason, self._deadline_seconds, spacing_seconds=RENEWAL_SPACING_SECONDS
            )

        return await self._db.write(run_transaction)


def renew_history(connection: Connection, deadline_seconds: float) -> History:
    """Begin a new history because an operator states that commits were lost, however recent the last one is,
    and return it. ``deadline_seconds``: deadline of load balancers that become PENDING.
    """
    by = requester()
    reason = f"{by.user or 'an operator'} states that the database was restored or has lost changes"
    # The id just read is named, so that two operators at once begin one history, not two.
    begin_history(connection, read_history(connection).id, reason, deadline_seconds, spacing_seconds=0.0, by=by)
    return read_history(connection)


def history_id_expression() -> ScalarSelect[str]:
    """Return the SQL expression for the id of the current history; NULL if there is none."""
    return select(_history.c.id).where(_history.c.number == 1).scalar_subquery()


def ensure_history(connection: Connection) -> None:
    """Create the row of the current history if the database has none."""
    if connection.scalar(select(_history.c.id)) is None:
        insert_if_absent(connection, _history, {"number": 1, "id": str(uuid4()), "begun_at": db_now()})


def cap_history_start_at_now(connection: Connection) -> None:
    """Set the start of the history to now if it is in the future, because the database's clock was set back. Deadlines
    relative to the start would otherwise be late by as much.
    """
    connection.execute(update(_history).where(_history.c.begun_at > db_now()).values(begun_at=db_now()))


def begin_history(
    connection: Connection,
    seen_id: str,
    reason: str,
    deadline_seconds: float,
    *,
    spacing_seconds: float,
    by: Requester = NO_REQUESTER,
) -> str:
    """Begin a new history if the current one is still ``seen_id`` and older than ``spacing_seconds``; return
    the current id.

    Then all placed ACTIVE load balancers are locked, and become PENDING_UPDATE for ``deadline_seconds``; an
    event is recorded. ``by``: the operator who requested it.
    """
    age = db_now() - _history.c.begun_at  # below 0: from before the database's clock was set back
    begun = connection.execute(
        update(_history)
        .where(
            _history.c.number == 1,
            _history.c.id == seen_id,
            # The condition on the id makes it compare-and-set: of many agents that report the same loss, one begins a
            # history.
            or_(age >= float(spacing_seconds), age < -float(spacing_seconds)),
        )
        .values(id=str(uuid4()), begun_at=db_now())
    )
    if begun.rowcount == 1:
        # In the same transaction: a crash in between would make the former id an unknown one, and halt removals.
        store_former_history(connection, seen_id)
        connection.execute(
            update(_load_balancer)
            .where(
                _load_balancer.c.provisioning_status == ProvisioningStatus.ACTIVE.value,
                _load_balancer.c.shard_id.is_not(None),
            )
            .values(
                provisioning_status=ProvisioningStatus.PENDING_UPDATE.value,
                status_reason=HISTORY_RENEWED_REASON,
                pending_deadline=db_now() + float(deadline_seconds),
                updated_at=db_now(),
            )
        )
        record_event(
            connection,
            kind="history_begun",
            text=f"the database lost commits; all agents check everything they serve: {reason}",
            by=by,
        )
    return read_history(connection).id


class ConfirmedStateCheck(NamedTuple):
    """The result of comparing the database with the state that was confirmed to an agent."""

    lost: str = ""
    """Proof that commits were lost; empty if there is none."""
    unknown_in: ShardEpoch | None = None
    """Shard of a load balancer that was confirmed to the agent and is missing in the database; None: nothing is
    missing, or the agent does not own the shard any more.
    """


class KeepaliveToCheck(NamedTuple):
    """A keepalive to check: the state confirmed to an agent, and the database's answer."""

    agent_id: AgentId
    seen: ConfirmedState | None
    history: str
    keepalives: int


def check_confirmed_states(connection: Connection, keepalives: Sequence[KeepaliveToCheck]) -> list[ConfirmedStateCheck]:
    """Compare the database with the states that were confirmed to agents, and record unknown histories;
    results are in the order of ``keepalives``.

    One statement if changes were recently confirmed to agents; one more if a confirmed load balancer is gone,
    or a shard recently left an agent's assignments. Further statements only if an agent saw another history.
    """
    # Also for states of another history, which are not compared below.
    record_unknown_histories(connection, keepalives)
    told = [each.seen for each in keepalives if each.seen is not None and _is_of_this_history(each)]
    roots = _load_balancer_rows(
        connection, [seen.confirmed.load_balancer_id for seen in told if seen.confirmed is not None]
    )
    gone = [seen for seen in told if seen.confirmed is not None and seen.confirmed.load_balancer_id not in roots]
    named = [seen.left for seen in told if seen.left is not None]
    named += [seen.confirmed_in.shard_id for seen in gone if seen.confirmed_in is not None]
    shards = _shard_rows(connection, named)
    return [_check_confirmed_state(each, roots, shards) for each in keepalives]


def _is_of_this_history(keepalive: KeepaliveToCheck) -> bool:
    """Whether the agent's state was confirmed in the present history, so that a difference proves a loss."""
    return keepalive.seen is not None and bool(keepalive.history) and keepalive.seen.history == keepalive.history


def _load_balancer_rows(connection: Connection, ids: Sequence[LoadBalancerId]) -> dict[str, Any]:
    if not ids:
        return {}
    rows = connection.execute(
        select(_load_balancer.c.id, _load_balancer.c.revision, _load_balancer.c.change_id).where(
            is_in_list(_load_balancer.c.id, sorted(set(ids)))
        )
    )
    return {row.id: row for row in rows}


def _shard_rows(connection: Connection, ids: Sequence[ShardId]) -> dict[str, Any]:
    if not ids:
        return {}
    rows = connection.execute(
        select(_shard.c.id, _shard.c.epoch, _shard.c.acting_agent_id).where(is_in_list(_shard.c.id, sorted(set(ids))))
    )
    return {row.id: row for row in rows}


def _check_confirmed_state(
    keepalive: KeepaliveToCheck, roots: Mapping[str, Any], shards: Mapping[str, Any]
) -> ConfirmedStateCheck:
    seen = keepalive.seen
    if seen is None or not _is_of_this_history(keepalive):
        return ConfirmedStateCheck()
    # The database has counted fewer keepalives than it confirmed, so commits are missing.
    if keepalive.keepalives < seen.keepalives:
        return ConfirmedStateCheck(
            f"keepalive {seen.keepalives} was confirmed to it, and the database has {keepalive.keepalives}"
        )
    # A shard's row outlives its load balancers, so a missing one was lost.
    if seen.left is not None and seen.left not in shards:
        return ConfirmedStateCheck(f"shard {seen.left} was assigned to it, and is not in the database")
    if seen.confirmed is None:
        return ConfirmedStateCheck()
    outcome = seen.confirmed
    row = roots.get(outcome.load_balancer_id)
    # A confirmed load balancer may have been deleted since; only its shard gets a complete pass.
    if row is None:
        return ConfirmedStateCheck(
            unknown_in=seen.confirmed_in if _owns_shard(keepalive.agent_id, seen.confirmed_in, shards) else None
        )
    if not contradicts_database(outcome, revision=row.revision, change_id=row.change_id):
        return ConfirmedStateCheck()
    return ConfirmedStateCheck(contradiction_text(outcome.load_balancer_id, outcome.revision, row.revision))


def _owns_shard(agent_id: AgentId, shard: ShardEpoch | None, shards: Mapping[str, Any]) -> bool:
    """Whether the agent still owns the shard, at the same epoch."""
    row = None if shard is None else shards.get(shard.shard_id)
    return shard is not None and row is not None and (row.epoch, row.acting_agent_id) == (shard.epoch, agent_id)


def contradiction_text(load_balancer_id: LoadBalancerId, confirmed_revision: int, stored_revision: int) -> str:
    """Return the proof that commits were lost, as a text for people: ``confirmed_revision`` was confirmed to
    an agent, and ``stored_revision`` is in the database.
    """
    stored = "another change" if confirmed_revision == stored_revision else f"revision {stored_revision}"
    return f"it has revision {confirmed_revision} of load balancer {load_balancer_id}, and the database has {stored}"


def read_history(connection: Connection) -> History:
    """Return the current history of the database, with unknown histories; with an empty id if there is none."""
    row = connection.execute(select(_history.c.id, _history.c.begun_at).where(_history.c.number == 1)).first()
    if row is None:
        return History(id="", begun_at=0.0)
    return History(id=row.id, begun_at=row.begun_at, unknown=read_unknown_histories(connection))
