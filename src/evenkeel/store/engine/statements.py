"""Statements whose syntax differs between databases, and statements for many rows."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ClauseElement, Connection, Insert, Table
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import MARIADB_DIALECTS

T = TypeVar("T")


MAX_IDS_PER_STATEMENT = 1_000
"""Maximum number of values looked up by one statement."""


DUPLICATE_KEY_CODE = 1062
"""MariaDB's error number of a violated unique constraint."""


def _insert_for_dialect(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that can have ``ON CONFLICT``, whose syntax is the same on SQLite and PostgreSQL."""
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


def upsert_rows(connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, which must be sorted by key; if a row's primary key exists (on MariaDB: or another unique
    key), set the columns ``names`` of the existing row instead. At least one row.
    """
    # Callers sort the rows by key: upserts of several transactions would otherwise deadlock.
    connection.execute(_cached_upsert(connection.dialect.name, table, tuple(names)), [dict(row) for row in rows])


@cache
def _cached_upsert(dialect: str, table: Table, names: tuple[str, ...]) -> Insert:
    """Return the cached statement of :func:`upsert_rows`: building it costs more than running it."""
    if dialect in MARIADB_DIALECTS:
        insert = mysql.insert(table)
        return insert.on_duplicate_key_update({name: insert.inserted[name] for name in names})
    other = _insert_for_dialect(dialect, table)
    return other.on_conflict_do_update(
        index_elements=list(table.primary_key.columns), set_={name: other.excluded[name] for name in names}
    )


def insert_if_absent(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row unless it would violate a unique constraint, which does not fail the transaction; True if
    the row was inserted. Raises ``IntegrityError`` for other constraints.

    If another transaction is inserting the same row, this one waits, and the next statement sees that row.
    """
    if connection.dialect.name in MARIADB_DIALECTS:
        return _insert_unless_duplicate(connection, table, values)
    given = {name: value for name, value in values.items() if not isinstance(value, ClauseElement)}
    dated = tuple(sorted(values.keys() - given.keys()))
    if all(isinstance(values[name], db_now) for name in dated):
        statement = _cached_insert_if_absent(connection.dialect.name, table, dated)
    else:
        expressions = {name: value for name, value in values.items() if name not in given}
        statement = _cached_insert_if_absent(connection.dialect.name, table, ()).values(expressions)
    return connection.execute(statement, given).rowcount == 1


@cache
def _cached_insert_if_absent(dialect: str, table: Table, time_columns: tuple[str, ...]) -> Insert:
    """Return the cached statement of :func:`insert_if_absent`; ``time_columns``: columns with the database's time."""
    statement = _insert_for_dialect(dialect, table).on_conflict_do_nothing()
    return statement.values({name: db_now() for name in time_columns}) if time_columns else statement


def insert_all_if_absent(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, all with the same columns, except for rows that would violate a unique constraint."""
    if connection.dialect.name in MARIADB_DIALECTS:
        for row in rows:
            _insert_unless_duplicate(connection, table, row)
    elif rows:
        statement = _insert_for_dialect(connection.dialect.name, table).on_conflict_do_nothing()
        connection.execute(statement, [dict(row) for row in rows])


def _insert_unless_duplicate(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row on MariaDB; False if it would violate a unique constraint. Raises ``IntegrityError`` for
    other constraints.

    MariaDB undoes only the failed statement and keeps the transaction. INSERT IGNORE would hide other errors.
    """
    try:
        connection.execute(table.insert().values(**values))
    except IntegrityError as error:
        if error.orig is not None and error.orig.args[0] == DUPLICATE_KEY_CODE:
            return False
        raise
    return True


def json_text(value: object) -> str:
    """Return a value as JSON text, in the form stored in columns."""
    return msgspec.json.encode(value).decode()


def split_into_batches(items: Iterable[T], size: int = MAX_IDS_PER_STATEMENT) -> Iterable[Sequence[T]]:
    """Yield ``items`` in order, in sequences of at most ``size``."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
