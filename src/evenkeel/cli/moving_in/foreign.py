"""A load balancer of another system, in the form that our import API takes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

OBJECT_KINDS = ("load balancer", "listener", "pool", "member", "health monitor", "L7 policy", "L7 rule")
"""Kinds of objects, as they are called in reports."""
_VALUES_WITHOUT_EFFECT: tuple[Any, ...] = (None, "", False, 0, -1, "-1", "0", [], {})


class LostAttribute(NamedTuple):
    """An attribute of another system's object, with its value, that cannot be carried over to Even Keel."""

    kind: str
    """Kind of the object, such as ``listener``."""
    id: str
    """Id of the object at the source."""
    attribute: str
    value: Any
    reason: str = ""
    """Why the attribute cannot be carried over, and what helps; empty: there is nothing like it here."""

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.kind} {self.id}: {self.attribute} {self.value}{reason}"


class ForeignLoadBalancer(NamedTuple):
    """A load balancer of another system with all its children, and the attributes of these that cannot be
    carried over.
    """

    id: str
    name: str
    project_id: str
    provider: str
    """Name of the other system's provider; empty: not known."""
    body: Mapping[str, Any]
    """The load balancer in the form of our import API, without ``provider``."""
    lost: tuple[LostAttribute, ...] = ()
    remarks: tuple[str, ...] = ()
    """Notes for operators about the object's state at the source."""
    not_importable_reason: str = ""
    """Why the load balancer cannot be imported now, such as a change under way in its own system; empty: it can."""


class InvalidSourceData(Exception):
    """The data of the other system cannot be read as load balancers; the text names the place."""


def has_effect(value: Any) -> bool:
    """Whether an attribute that Even Keel does not have makes a difference with this value: not if it is
    null, empty, False, 0 or -1.
    """
    return not any(value == each and type(value) is type(each) for each in _VALUES_WITHOUT_EFFECT)
