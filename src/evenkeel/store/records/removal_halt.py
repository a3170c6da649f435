"""Halt of automatic removals while this database may be the wrong one, because agents saw a history of
another database: see :mod:`evenkeel.store.ownership.foreign_histories`.
"""

from sqlalchemy import ColumnElement, Connection, exists, select

from evenkeel.store.records import schema

UNKNOWN_HISTORY = "unknown"
"""Kind of a stored history: another database had it, and no operator has accepted it."""

_other_history = schema.other_history


def is_removal_halted() -> ColumnElement[bool]:
    """Return the SQL condition that an unknown history is not accepted yet, so neither objects on devices nor
    ports may be removed, unless an operator named them.
    """
    return exists(select(_other_history.c.id).where(_other_history.c.kind == UNKNOWN_HISTORY))


def read_removal_halted(connection: Connection) -> bool:
    """Whether an unknown history is not accepted yet, so that nothing may be removed automatically. One
    query.
    """
    return bool(connection.scalar(select(is_removal_halted())))
