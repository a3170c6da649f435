"""The history of a database: detects that it lost commits.

A fail-over to a replica that was behind, or a restored backup, loses the last commits, and nothing in the database
shows it. But agents keep running and know what was confirmed to them: the number of their last keepalive, which is a
committed write every second on a row of their own, and the last change whose report was accepted. Commits are lost from
the end: a database that still has the newest confirmed data has lost nothing, and one that is behind it has lost
commits. Then a new history begins: another random id, which every agent gets in the answer to its next keepalive. The
agent then drops its cached state of the devices and checks everything it serves.

A confirmed load balancer that is missing proves nothing: the agent may have removed it after its report. Then only its
shard gets a complete pass.

Until an agent has done so, it is unknown whether devices hold what the database says: ACTIVE load balancers become
PENDING_UPDATE.

The database must not answer from lagging replicas (see ``docs/how-to/deploy.md``): each would look like a loss.
"""

from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, ScalarSelect, or_, select, update

from evenkeel.core.changes import contradicts
from evenkeel.core.control import History
from evenkeel.core.epochs import plausible
from evenkeel.core.ids import AgentId, LoadBalancerId
from evenkeel.core.messages import Seen, ShardEpoch
from evenkeel.core.statuses import ProvisioningStatus
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event

CONFIRMED_ANEW = "the database has lost changes: its device is being looked at again"
"""The reason on load balancers that were ACTIVE; becoming ACTIVE again is no event."""
BY_OPERATOR = "an operator says that the database was restored or has lost changes"

SPACING_SECONDS = 60.0
"""The least time between two histories that agents begin: a faulty agent must not keep all others busy."""

_history = schema.history
_root = schema.load_balancer
_shard = schema.shard


class Histories:
    """Begins a new history when an agent proves that the database lost commits."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._deadline_seconds = options.pending_deadline_seconds

    async def begin(self, seen_id: str, reason: str) -> str:
        """As :func:`begin_history`, in a transaction of its own."""
        return await self._db.write(
            lambda connection: begin_history(
                connection, seen_id, reason, self._deadline_seconds, spacing_seconds=SPACING_SECONDS
            )
        )


def renew_history(connection: Connection, deadline_seconds: float) -> History:
    """Begin a new history because an operator states that commits were lost, however recent the last one is."""
    begin_history(connection, read_history(connection).id, BY_OPERATOR, deadline_seconds, spacing_seconds=0.0)
    return read_history(connection)


def history_id() -> ScalarSelect[str]:
    """SQL expression: the id of the current history."""
    return select(_history.c.id).where(_history.c.number == 1).scalar_subquery()


def ensure_history(connection: Connection) -> None:
    """Create the row in a database that was filled without it."""
    if connection.scalar(select(_history.c.id)) is None:
        insert_if_absent(connection, _history, {"number": 1, "id": str(uuid4()), "begun_at": db_now()})


def begin_history(
    connection: Connection, seen_id: str, reason: str, deadline_seconds: float, *, spacing_seconds: float
) -> str:
    """Begin a new history if the current one is still ``seen_id`` and older than ``spacing_seconds``; returns the
    current id. Locks all load balancers that were ACTIVE.
    """
    age = db_now() - _history.c.begun_at  # below 0: from before the database's clock was set back
    begun = connection.execute(
        update(_history)
        .where(
            _history.c.number == 1,
            _history.c.id == seen_id,
            or_(age >= float(spacing_seconds), age < -float(spacing_seconds)),
        )
        .values(id=str(uuid4()), begun_at=db_now())
    )
    if begun.rowcount == 1:
        connection.execute(
            update(_root)
            .where(_root.c.provisioning_status == ProvisioningStatus.ACTIVE.value, _root.c.shard_id.is_not(None))
            .values(
                provisioning_status=ProvisioningStatus.PENDING_UPDATE.value,
                status_reason=CONFIRMED_ANEW,
                pending_deadline=db_now() + float(deadline_seconds),
            )
        )
        record_event(
            connection,
            kind="history_begun",
            text=f"the database lost commits; all agents check everything they serve: {reason}",
        )
    return read_history(connection).id


class SeenCheck(NamedTuple):
    """The result of comparing the database with what was confirmed to an agent."""

    lost: str = ""
    """The proof that commits were lost; empty: there is none."""
    unknown_in: ShardEpoch | None = None
    """See :attr:`evenkeel.core.messages.SessionState.unknown_in`."""


def check_seen(
    connection: Connection, agent_id: AgentId, seen: Seen | None, *, history: str, keepalives: int
) -> SeenCheck:
    """One statement if a change was recently confirmed to the agent; one more if its load balancer is gone, and one if
    a shard recently left its assignments.
    """
    if seen is None or not history or seen.history != history:
        return SeenCheck()
    if keepalives < seen.keepalives:
        return SeenCheck(f"keepalive {seen.keepalives} was confirmed to it, and the database knows of {keepalives}")
    if seen.left is not None and connection.scalar(select(_shard.c.id).where(_shard.c.id == seen.left)) is None:
        return SeenCheck(f"it was told to serve shard {seen.left}, and the database does not know it")
    if seen.confirmed is None:
        return SeenCheck()
    outcome = seen.confirmed
    row: Any = connection.execute(
        select(_root.c.revision, _root.c.change_id).where(_root.c.id == outcome.load_balancer_id)
    ).first()
    if row is None:
        return SeenCheck(unknown_in=seen.confirmed_in if _owns(connection, agent_id, seen.confirmed_in) else None)
    if not contradicts(outcome, revision=row.revision, change_id=row.change_id):
        return SeenCheck()
    return SeenCheck(contradiction(outcome.load_balancer_id, outcome.revision, row.revision))


def _owns(connection: Connection, agent_id: AgentId, shard: ShardEpoch | None) -> bool:
    """Whether the agent still owns the shard, at the same epoch."""
    if shard is None or not plausible(shard.epoch):
        return False
    found = select(_shard.c.id).where(
        _shard.c.id == shard.shard_id, _shard.c.epoch == shard.epoch, _shard.c.acting_agent_id == agent_id
    )
    return connection.scalar(found) is not None


def contradiction(load_balancer_id: LoadBalancerId, told: int, revision: int) -> str:
    """The reason (human-readable)."""
    knows = "another change" if told == revision else f"revision {revision}"
    return f"it was told revision {told} of load balancer {load_balancer_id}, and the database knows {knows}"


def read_history(connection: Connection) -> History:
    """The current history of the database."""
    row = connection.execute(select(_history.c.id, _history.c.begun_at).where(_history.c.number == 1)).first()
    return History(id="", begun_at=0.0) if row is None else History(id=row.id, begun_at=row.begun_at)
