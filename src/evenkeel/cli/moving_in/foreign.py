"""A load balancer of another system, in the form that our import API takes."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ForeignLoadBalancer(NamedTuple):
    """A load balancer of another system with everything below it."""

    id: str
    name: str
    project_id: str
    provider: str
    """Name of the other system's provider; empty: not known."""
    body: Mapping[str, Any]
    """The load balancer in the form of our import API, without ``provider``."""
    lost: tuple[str, ...] = ()
    """Attributes that cannot be carried over, with their values."""


class BadSource(Exception):
    """The source cannot be read as load balancers; the text names the place."""
