"""Rows of work outside of the database, such as calls of the network service, which are repeated until they succeed.

One process at a time takes each row, and the row is due again after a growing pause. A table of such rows has the
columns ``due_at`` and ``attempts``, and one column as its primary key.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Table, update

from evenkeel.core.kit.backoff import Backoff
from evenkeel.store.engine.clock import db_now, is_past


def primary_key_column(table: Table) -> Column[str]:
    """Return the table's primary key, a single column."""
    (column,) = table.primary_key.columns
    return column


def take_due_rows(
    connection: Connection, table: Table, rows: Iterable[Any], backoff: Backoff, *conditions: ColumnElement[bool]
) -> list[Any]:
    """Take due rows that no other process took since they were read, and that meet the conditions; return
    them, as they were read. A taken row is due again after the pause of ``backoff``, which grows with the
    attempts.
    """
    key = primary_key_column(table)
    taken = []
    for row in rows:
        attempts = row.attempts + 1
        statement = (
            update(table)
            # The number of attempts changes with each taking, so it serves as the version for compare-and-set.
            .where(key == row._mapping[key], *conditions, is_past(table.c.due_at), table.c.attempts == row.attempts)
            # Due again already now: if this process dies, another one takes the row after the pause.
            .values(attempts=attempts, due_at=db_now() + backoff.nominal_seconds(attempts))
        )
        if connection.execute(statement).rowcount:
            taken.append(row)
    return taken
