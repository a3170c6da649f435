"""Inserts new rows into one table, or into several tables.

Each statement is a round trip to a server, which costs a controller more than the statement costs the server.
So on PostgreSQL the rows of several tables are one statement, whose text depends on the tables and columns
only: the rows are one parameter for each table, as JSON.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Insert, Table, Text, TextClause, bindparam, insert, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from evenkeel.store.engine.statements import json_text

_identifier_preparer = postgresql.dialect().identifier_preparer  # type: ignore[no-untyped-call]


class TableRows(NamedTuple):
    """New rows of a table, with the same columns."""

    table: Table
    rows: Sequence[Mapping[str, Any]]


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert any number of rows, with the same columns, into one table with one statement; none without rows."""
    if rows:
        connection.execute(_insert_statement(table), rows if len(rows) > 1 else rows[0])


def insert_into_tables(connection: Connection, parts: Iterable[TableRows]) -> None:
    """Insert the rows of several tables in this order, with a statement for each table. On PostgreSQL one statement
    inserts all, and foreign keys are checked after it.
    """
    wanted = [part for part in parts if part.rows]
    if connection.dialect.name != "postgresql" or len(wanted) < 2:
        for part in wanted:
            insert_rows(connection, part.table, part.rows)
        return
    # A textual INSERT gets no defaults from SQLAlchemy.
    whole = [TableRows(part.table, [{**_column_defaults(part.table), **row} for row in part.rows]) for part in wanted]
    shape = tuple((part.table, tuple(part.rows[0])) for part in whole)
    given = {_rows_parameter_name(at): json_text(part.rows) for at, part in enumerate(whole)}
    connection.execute(_compile_insert(shape), given)


@cache
def _column_defaults(table: Table) -> dict[str, Any]:
    """Return {column: default} from the definition of the table; SQLAlchemy adds these defaults to its own INSERTs
    only.
    """
    return {
        column.name: column.default.arg
        for column in table.columns
        if isinstance(column.default, ScalarElementColumnDefault)
    }


@cache
def _insert_statement(table: Table) -> Insert:
    return insert(table)


def _rows_parameter_name(number: int) -> str:
    return f"rows_{number}"


@cache
def _compile_insert(shape: tuple[tuple[Table, tuple[str, ...]], ...]) -> TextClause:
    """Return one INSERT for several tables; ``shape`` has each table with the names of the given columns.

    PostgreSQL executes every writing part of a WITH, whether or not the SELECT reads that part, the last part first.
    """
    parts = [f"part_{at} AS ({_select_from_json(table, names, at)})" for at, (table, names) in enumerate(shape)]
    parameters = [bindparam(_rows_parameter_name(at), type_=Text()) for at in range(len(shape))]
    return text(f"WITH {', '.join(reversed(parts))} SELECT 1").bindparams(*parameters)


def _select_from_json(table: Table, names: Sequence[str], number: int) -> str:
    into, columns = _identifier_preparer.format_table(table), ", ".join(map(_identifier_preparer.quote, names))
    # The table's own row type converts each value, so no column types are repeated here.
    source = f"json_populate_recordset(CAST(NULL AS {into}), CAST(:{_rows_parameter_name(number)} AS json))"
    return f"INSERT INTO {into} ({columns}) SELECT {columns} FROM {source}"  # noqa: S608  # values are bound
