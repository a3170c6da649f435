"""Runs UPDATEs and DELETEs once for each of many rows of values.

Each statement is one ``executemany``. On PostgreSQL, where an ``executemany`` is a round trip, several
statements are parts of one WITH, and the values for each are one JSON parameter. All parts see the rows as
they were before the WITH, so no two of them may write the same row, or read what another one writes.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Connection,
    Delete,
    Select,
    Text,
    Update,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
)
from sqlalchemy.types import TypeEngine

from evenkeel.store.engine.in_list import is_in_bound_list
from evenkeel.store.engine.statements import json_text

BindParameter = Callable[[str], ColumnElement[Any]]
"""Function from the name of a value in the row to the SQL expression for that value."""


class RowsStatement:
    """A statement to run for each of many rows. Create it once: it is compared by identity."""

    def __init__(
        self, by: Column[Any], types: Mapping[str, TypeEngine[Any]], build: Callable[[BindParameter], Update | Delete]
    ) -> None:
        """``types``: {name of a value in a row: SQL type}. ``build`` returns the statement for given values;
        the condition of the statement compares the column ``by`` with the value ``id``.
        """
        self._by = by
        self._types = {"id": by.type, **types}
        self._build = build
        self.one = build(lambda name: bindparam(_bound_parameter_name(name), type_=self._types[name]))
        """The statement for one row at a time."""

    def joined_statement(self, number: int) -> Update | Delete:
        """Return the statement for all rows, which are in the JSON parameter with the number ``number``."""
        columns = [column(name, type_) for name, type_ in self._types.items()]
        rows = func.json_to_recordset(cast(bindparam(_rows_parameter_name(number), type_=Text()), JSON()))
        given = rows.table_valued(*columns).render_derived(name=f"given_{number}", with_types=True)
        # redundant, but without it the server, which cannot estimate the number of rows, would scan the table
        return self._build(lambda name: given.c[name]).where(is_in_bound_list(self._by, _ids_parameter_name(number)))


class StatementWithRows(NamedTuple):
    """A statement and the rows of values to run it with."""

    statement: RowsStatement
    rows: Sequence[Mapping[str, Any]]


def execute_statements_with_rows(connection: Connection, runs: Sequence[StatementWithRows]) -> None:
    """Run the statements in this order, or on PostgreSQL as one statement that locks rows in this order;
    statements without rows are skipped.

    Callers pass the same statements each time, with or without rows: on PostgreSQL every other combination of
    statements is another SQL text to cache.
    """
    wanted = [each for each in runs if each.rows]
    # A single statement gains nothing from WITH.
    if connection.dialect.name != "postgresql" or len(wanted) < 2:
        for each in wanted:
            bound = [{_bound_parameter_name(name): value for name, value in row.items()} for row in each.rows]
            connection.execute(each.statement.one, bound)
        return
    given: dict[str, Any] = {}
    # Statements without rows take part with empty parameters, so that the text stays the same.
    for at, each in enumerate(runs):
        given[_rows_parameter_name(at)] = json_text(each.rows)
        given[_ids_parameter_name(at)] = [row["id"] for row in each.rows]
    connection.execute(_join_statements(tuple(each.statement for each in runs)), given)


def _bound_parameter_name(name: str) -> str:
    return f"b_{name}"


def _rows_parameter_name(number: int) -> str:
    return f"rows_{number}"


def _ids_parameter_name(number: int) -> str:
    return f"ids_{number}"


@cache
def _join_statements(statements: tuple[RowsStatement, ...]) -> Select[Any]:
    """Return one SELECT that has all of the statements as parts of its WITH.

    PostgreSQL executes every writing part of a WITH, whether or not the SELECT reads that part, the last part first.
    """
    parts = [each.joined_statement(at).cte(f"part_{at}") for at, each in enumerate(statements)]
    # Reversed, because PostgreSQL runs unreferenced parts from the last to the first, and callers give the order of
    # locks.
    return select(literal_column("1")).add_cte(*reversed(parts))
