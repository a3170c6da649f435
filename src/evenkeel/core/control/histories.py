"""Histories: spans of commits that the same database has, and agents that know of another one."""

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
    """A history of the database without lost commits: another history begins when the database lost commits."""

    id: str
    """Random id of the history; empty: unknown."""
    begun_at: float
    unknown: tuple[UnknownHistory, ...] = ()
    """Histories of other databases; they halt every removal from devices until an operator accepts them."""
