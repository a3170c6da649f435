"""Histories of the database: a history is a span of commits without loss, with a random id. Agents may know histories
of another database.
"""

from evenkeel.core.kit.values import Value


class UnknownHistory(Value):
    """A history that an agent reported and this database never had: the database was replaced by another one."""

    id: str
    noted_at: float
    """Database time at which an agent first reported the history, in seconds since 1970."""
    agent_id: str
    """Id of the first agent that reported the history."""
    host: str = ""
    """Host of the agent that reported the history; empty if the agent was deleted."""


class History(Value):
    """The current history of the database: a span of commits without loss, which ends when the database loses
    commits. ``begun_at``: its begin by the database's clock, in seconds since 1970.
    """

    id: str
    """Random id of the history; empty: unknown."""
    begun_at: float
    unknown: tuple[UnknownHistory, ...] = ()
    """Unknown histories: those of other databases, named by agents. Until an operator accepts them, objects that the
    database does not contain are not removed automatically.
    """
