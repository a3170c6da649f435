"""The last revisions of each load balancer: the user who requested each, its time, and the agent that applied it.

A revision's row has its number modulo :data:`REVISIONS_KEPT` as its key, so that the statement that stores the newest
revision overwrites the oldest: nothing has to be trimmed.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Double,
    Update,
    case,
    literal,
    null,
    select,
    update,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite

from evenkeel.core.kit.ids import AgentId, LoadBalancerId
from evenkeel.core.kit.request_context import requester
from evenkeel.core.status.provisioning import StatusChange
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import MARIADB_DIALECTS
from evenkeel.store.engine.inserting import TableRows
from evenkeel.store.engine.rows_statements import BindParameter, RowsStatement, StatementWithRows
from evenkeel.store.engine.statements import upsert_rows
from evenkeel.store.records import schema

REVISIONS_KEPT = 50
"""Number of revisions kept of each load balancer."""

_load_balancer_revision = schema.load_balancer_revision
_load_balancer = schema.load_balancer
_KEY_COLUMNS = ("load_balancer_id", "slot")
_VALUE_COLUMNS = tuple(column.name for column in _load_balancer_revision.columns if column.name not in _KEY_COLUMNS)


def first_revision_rows(load_balancer_id: LoadBalancerId, at: float) -> TableRows:
    """Return the row of the first revision of a load balancer that this transaction stores, with the user who
    requested it. ``at``: the database's time in seconds since the epoch.
    """
    return TableRows(_load_balancer_revision, [_revision_values(load_balancer_id, 1, at)])


def store_revision_requester(
    connection: Connection, load_balancer_id: LoadBalancerId, revision: int, at: float
) -> None:
    """Store the user who requested this revision, in the transaction that creates it. One statement. ``at``:
    the database's time in seconds since the epoch.
    """
    upsert_rows(connection, _load_balancer_revision, _VALUE_COLUMNS, [_revision_values(load_balancer_id, revision, at)])


def store_revision_requesters(connection: Connection, condition: ColumnElement[bool]) -> None:
    """Store the requesting user for the present revisions of all load balancers that meet ``condition``, in
    the transaction that raised them. One statement.
    """
    asked = _revision_values(LoadBalancerId(""), 0, 0.0) | {
        "load_balancer_id": _load_balancer.c.id,
        "slot": _load_balancer.c.revision % REVISIONS_KEPT,
        "revision": _load_balancer.c.revision,
        "accepted_at": db_now(),
    }
    columns = [
        value if isinstance(value, ColumnElement) else literal(value, _load_balancer_revision.c[name].type)
        for name, value in asked.items()
    ]
    statement = _insert_statement(connection.dialect.name).from_select(list(asked), select(*columns).where(condition))
    if isinstance(statement, mysql.Insert):
        connection.execute(
            statement.on_duplicate_key_update({name: statement.inserted[name] for name in _VALUE_COLUMNS})
        )
    else:
        set_ = {name: statement.excluded[name] for name in _VALUE_COLUMNS}
        connection.execute(statement.on_conflict_do_update(index_elements=list(_KEY_COLUMNS), set_=set_))


def _insert_statement(dialect: str) -> Any:
    if dialect in MARIADB_DIALECTS:
        return mysql.insert(_load_balancer_revision)
    return (
        postgresql.insert(_load_balancer_revision)
        if dialect == "postgresql"
        else sqlite.insert(_load_balancer_revision)
    )


def _revision_values(load_balancer_id: LoadBalancerId, revision: int, at: float) -> dict[str, Any]:
    by = requester()
    return {
        "load_balancer_id": load_balancer_id,
        "slot": revision % REVISIONS_KEPT,
        "revision": revision,
        "accepted_at": at,
        "user_name": by.user,
        "project_id": by.project_id,
        "request_id": by.request_id,
        "applied_at": None,
        "agent_id": "",
        "host": "",
        "epoch": None,
        "problem": "",
    }


class AppliedBy(NamedTuple):
    """The agent, host and epoch that applied a revision."""

    agent_id: AgentId
    host: str
    epoch: int


def outcomes_statement(changes: Iterable[tuple[StatusChange, AppliedBy]]) -> StatementWithRows:
    """Return the statement, with its rows, that stores which agent applied each of the revisions, or why that
    failed; changes without an outcome, and removed load balancers, are left out.
    """
    rows = [
        {
            "id": each.was.id,
            "revision": each.was.revision if each.confirmed_revision is None else each.confirmed_revision,
            "applied": each.confirmed_revision is not None,
            "problem": each.now.status_reason if each.failed else "",
            "agent_id": by.agent_id,
            "host": by.host,
            "epoch": by.epoch,
        }
        for each, by in changes
        if not each.removed and (each.failed or each.confirmed_revision is not None)
    ]
    return StatementWithRows(_STORE_OUTCOME, rows)


_OUTCOME_COLUMNS = ("problem", "agent_id", "host", "epoch")


def _outcome_statement(given: BindParameter) -> Update:
    return (
        update(_load_balancer_revision)
        .where(
            _load_balancer_revision.c.load_balancer_id == given("id"),
            # Revisions that were skipped, because a newer one was applied first, were applied with it.
            _load_balancer_revision.c.revision <= given("revision"),
            # The first agent that applied a revision is the one to show; repeated reports change nothing.
            _load_balancer_revision.c.applied_at.is_(None),
        )
        .values(
            applied_at=case((given("applied"), db_now()), else_=null().cast(Double())),
            **{name: given(name) for name in _OUTCOME_COLUMNS},
        )
    )


_STORE_OUTCOME = RowsStatement(
    _load_balancer_revision.c.load_balancer_id,
    {
        "revision": _load_balancer_revision.c.revision.type,
        "applied": Boolean(),
        **{name: _load_balancer_revision.c[name].type for name in _OUTCOME_COLUMNS},
    },
    _outcome_statement,
)
