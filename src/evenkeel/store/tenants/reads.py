"""Reads load balancers and their children."""

from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, case, func, select

from evenkeel.core.control.environments import LoadBalancerProviderFacts
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import ListenerStatistics, address_of_single_family
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.in_list import is_in_list, storable_text
from evenkeel.store.records import schema
from evenkeel.store.records.listing import list_page
from evenkeel.store.records.rows import (
    L7POLICY,
    L7RULE,
    LOAD_BALANCER,
    MEMBER,
    POOL,
    RATE_LIMIT_POLICY,
    RATE_LIMIT_RULE,
    Kind,
    decode_vips,
)
from evenkeel.store.reports.applied import PENDING_STATUSES
from evenkeel.store.writing.revision_lock import WriteTarget, read_target_row

_listener_statistics = schema.listener_statistics


@cache
def _serving_environment_query(kind: Kind) -> Select[Any]:
    root, table = schema.load_balancer, kind.table
    is_root = root.c.id == bindparam("object_id")
    if kind is not LOAD_BALANCER:
        owner = select(table.c.load_balancer_id).where(table.c.id == bindparam("object_id"))
        is_root = root.c.id == owner.scalar_subquery()
    environment = schema.environment
    return (
        select(
            root.c.id.label("load_balancer_id"),
            root.c.project_id,
            root.c.provider,
            environment.c.device_driver,
            case((root.c.root_pool_id.is_(None), root.c.vip_address)).label("vip_address"),
            root.c.additional_vips,
            root.c.data_path,
        )
        .join(environment, environment.c.name == root.c.provider)
        .where(is_root)
    )


def read_serving_environment(connection: Connection, kind: Kind, object_id: str) -> LoadBalancerProviderFacts | None:
    """Return the environment of the load balancer that the object is or belongs to, with its device driver
    and the load balancer's project and VIP; None if the object does not exist. One query.
    """
    row = connection.execute(_serving_environment_query(kind), {"object_id": storable_text(object_id)}).first()
    if row is None:
        return None
    known = dict(row._mapping)
    more = [vip.address for vip in decode_vips(known.pop("additional_vips"))]
    return LoadBalancerProviderFacts(**known | {"vip_address": address_of_single_family(known["vip_address"], more)})


def filter_pending_load_balancers(
    connection: Connection, load_balancer_ids: Collection[LoadBalancerId]
) -> frozenset[LoadBalancerId]:
    """Return those of the load balancers whose provisioning status is PENDING. One query."""
    root = schema.load_balancer.c
    statement = select(root.id).where(
        is_in_list(root.id, load_balancer_ids), root.provisioning_status.in_(PENDING_STATUSES)
    )
    return frozenset(LoadBalancerId(row.id) for row in connection.execute(statement))


_PARENT_KINDS = {MEMBER: POOL, L7RULE: L7POLICY, RATE_LIMIT_RULE: RATE_LIMIT_POLICY}
"""{kind: kind of the parent whose id is in the API's path}."""


def list_objects(kind: Kind, query: ListQuery, parent_id: str | None, *, checks_parent: bool = True) -> Op[Page]:
    """Return an operation that reads a page of objects; ``parent_id``: pool of members, or policy of rules;
    None: any. ``checks_parent``: look for the parent of an empty page.

    One query, unless there is a marker or a filter by tags, or the page of a parent is empty. Raises
    :class:`Invalid` for unknown filter or sort names and markers, :class:`NotFound` for the parent.
    """

    def run_transaction(connection: Connection) -> Page:
        page = list_page(connection, kind, query, parent_id=parent_id)
        if parent_id is not None and checks_parent and not page.items:
            read_target_row(connection, WriteTarget(_PARENT_KINDS[kind], parent_id, query.project_id))
        return page

    return run_transaction


def read_statistics(
    connection: Connection, load_balancer_id: LoadBalancerId, listener_id: str | None = None
) -> ListenerStatistics:
    """Return the traffic totals of one listener or, with ``listener_id`` None, the sum over the load balancer's
    listeners; zeros if nothing was counted yet. One query.
    """
    names = ListenerStatistics.__struct_fields__
    statement = select(*(func.sum(_listener_statistics.c[name]) for name in names)).where(
        _listener_statistics.c.load_balancer_id == load_balancer_id
    )
    if listener_id is not None:
        statement = statement.where(_listener_statistics.c.listener_id == listener_id)
    row = connection.execute(statement).one()
    # PostgreSQL sums big integers to decimals
    return ListenerStatistics(**{name: int(total or 0) for name, total in zip(names, row, strict=True)})
