"""Queries for pages of lists, and the pages."""

from collections.abc import Mapping
from typing import Any

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value


class StuckLoadBalancers(Value):
    """Counts of load balancers that do not become ACTIVE: of one device group, or of one environment if they
    are not placed.
    """

    environment: str
    group_number: int | None
    """Number of the device group; None: the load balancers are not placed yet."""
    failed: int = 0
    """Number of load balancers in ERROR."""
    waiting: int = 0
    """Number of load balancers that are PENDING with a reason."""
    example: str = ""
    """Id of one load balancer that waits."""
    pending_seconds: float = 0.0
    """Seconds since the oldest change was accepted that is PENDING without a reason; 0 if there is none."""


class LoadBalancerSummary(Value):
    """Counts of all load balancers by status, and of those that do not become ACTIVE."""

    by_status: Mapping[str, int]
    """Number of load balancers by provisioning status, zeros included."""
    by_operating_status: Mapping[str, int]
    """Number of load balancers by operating status, zeros included."""
    waiting: int
    """Number of PENDING load balancers with a reason, for which more than time is needed."""
    oldest_pending_seconds: float
    """Seconds since the oldest change was accepted that is still PENDING; 0 if there is none."""
    stuck: tuple[StuckLoadBalancers, ...] = ()
    """Load balancers that do not become ACTIVE, by environment and device group; groups without any are missing."""
    age_seconds: float = 0.0
    """Seconds since the load balancers were counted; 0: they were counted for this answer."""


class TagFilter(Value):
    """Filter by tags that objects must or must not have; an empty attribute filters nothing. No tag contains a comma
    here.
    """

    every: tuple[str, ...] = ()
    """Tags that an object must all have."""
    some: tuple[str, ...] = ()
    """Tags of which an object must have at least one."""
    not_every: tuple[str, ...] = ()
    """Tags that an object must not have all together."""
    none: tuple[str, ...] = ()
    """Tags of which an object must have none."""


class ListQuery(Value):
    """A list request: equality filters (every name must match one of its values), order and page.
    ``project_id`` None: all projects. ``sort``: (attribute, descending) pairs; ``created_at``, ``id`` is
    always appended so that the order is total. ``limit`` None: no limit. ``marker``: key of the object
    after which the page begins (with ``page_reverse``: before which it ends); None: at the end of the
    list.
    """

    filters: dict[str, tuple[Any, ...]] = {}
    tags: TagFilter | None = None
    project_id: ProjectId | None = None
    sort: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    marker: str | None = None
    page_reverse: bool = False


class Page(Value):
    """One page of a list, in order. ``before``, ``after``: whether there are more objects before the first
    and after the last one.
    """

    items: tuple[Any, ...]
    before: bool = False
    after: bool = False


class FoundLoadBalancer(Value):
    """A load balancer as operators' searches show it."""

    id: LoadBalancerId
    name: str
    project_id: ProjectId
    vip_address: str
    environment: str
    group_number: int | None
    """Number of the device group; None: the load balancer is not placed yet."""
    provisioning_status: str
    operating_status: str
    status_reason: str
    operating_reason: str
    held: bool
    """True: the load balancer was imported, and the other system still serves it."""
    created_at: float
    updated_at: float | None


class FoundPage(Value):
    """One page of the load balancers that a search finds, with their total number."""

    page: Page
    """The found load balancers of the page, as :class:`FoundLoadBalancer`."""
    total: int
    total_is_exact: bool
    """False: more than ``total`` load balancers match; counting stopped there."""
