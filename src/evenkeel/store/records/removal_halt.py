"""Halt of automatic removals while the database may be the wrong one.

See :mod:`evenkeel.store.ownership.foreign_histories`.
"""

from sqlalchemy import ColumnElement, Connection, exists, select

from evenkeel.store.records import schema

UNKNOWN = "unknown"
"""Kind of a history that another database had and no operator has accepted."""

_other = schema.other_history


def is_halted() -> ColumnElement[bool]:
    """SQL expression: an unknown history is not accepted yet, so neither objects on devices nor ports may be
    removed.
    """
    return exists(select(_other.c.id).where(_other.c.kind == UNKNOWN))


def halts_removal(connection: Connection) -> bool:
    """Whether an unknown history is not accepted yet. One query."""
    return bool(connection.scalar(select(is_halted())))
