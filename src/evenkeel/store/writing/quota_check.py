"""Checks quotas of a project and limits of a load balancer, in the transaction that creates objects.

There is no counter that could drift: the rows themselves are counted, without rows marked deleted, so that a successor
may be created at once.

Two transactions that create objects of one project would each count without the other's; so each writes the project's
quota row first. On one server the second waits for the first's commit, and its count, a later statement, sees it; at
two nodes of a Galera cluster one of them is rolled back and runs again. Projects without limits skip the check:
statements that read or lock anyway return whether there are any. The objects of a load balancer are counted under its
own lock, by the same statement as the quota.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Table, bindparam, exists, false, func, select, update

from evenkeel.core.kit.errors import QuotaReached
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.limits import LoadBalancerLimits, check_limits, limited_kinds_with_additions
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)
from evenkeel.core.resources.quota import TITLES, Quotas, exceeded_quotas
from evenkeel.store.engine.returning import update_returning
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema

_quota = schema.quota

TABLE_BY_KIND: dict[str, Table] = {
    "loadbalancer": schema.load_balancer,
    "listener": schema.listener,
    "pool": schema.pool,
    "member": schema.member,
    "healthmonitor": schema.health_monitor,
    "l7policy": schema.l7policy,
    "l7rule": schema.l7rule,
    "ratelimitpolicy": schema.rate_limit_policy,
    "ratelimitrule": schema.rate_limit_rule,
}
"""{kind of objects that a quota or a load balancer's limit counts: their table}."""
KIND_BY_CLASS: dict[type[Any], str] = {
    LoadBalancer: "loadbalancer",
    Listener: "listener",
    Pool: "pool",
    Member: "member",
    HealthMonitor: "healthmonitor",
    L7Policy: "l7policy",
    L7Rule: "l7rule",
    RateLimitPolicy: "ratelimitpolicy",
    RateLimitRule: "ratelimitrule",
}
"""{class of the created object: name of the quota or limit that counts it}. Rate limits have no quota of their own, as
in Octavia's specification; the load balancer's limits count them.
"""

_IS_QUOTA_OF_PROJECT = _quota.c.project_id == bindparam("quota_project_id")
_LOCK_QUOTA = update_returning(
    update(_quota).where(_IS_QUOTA_OF_PROJECT).values(checks=_quota.c.checks + 1),
    *(_quota.c[name] for name in TITLES),
    by=_IS_QUOTA_OF_PROJECT,
)


def has_own_quotas(project_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the SQL condition that the project has quotas of its own, for use in other statements."""
    return exists().where(_quota.c.project_id == project_id).correlate_except(_quota).label("has_quota")


def count_new_objects(rows: Iterable[Any]) -> Counter[str]:
    """Return {kind of object: number of new objects}; monitors that copy a shared one are left out, because
    that was counted when it was created.
    """
    return Counter(
        KIND_BY_CLASS[type(row)] for row in rows if not (isinstance(row, HealthMonitor) and row.shared_monitor_id)
    )


class LimitedLoadBalancer(NamedTuple):
    """A locked load balancer and its limits, for :func:`check_quota`."""

    load_balancer_id: LoadBalancerId
    limits: LoadBalancerLimits


def check_quota(
    connection: Connection,
    project_id: ProjectId,
    wanted: Mapping[str, int],
    *,
    defaults: Quotas,
    has_quota: bool,
    holder: LimitedLoadBalancer | None = None,
) -> None:
    """Check that the project may get the ``wanted`` numbers of objects.

    Raises :class:`QuotaReached` for a quota of the project, :class:`ObjectLimitReached` for a limit of the load
    balancer in ``holder``. No query without a holder if there are neither quotas of the project's own (``has_quota``)
    nor default ones.
    """
    asked = {name for name, count in wanted.items() if count > 0}
    quotas = Quotas()
    names: tuple[str, ...] = ()
    if asked and (has_quota or asked & defaults.limited_kinds()):
        quotas = defaults.with_project_limits(lock_project_quotas(connection, project_id))
        # In the order of COUNTED, so that few different statements are built and cached.
        names = tuple(name for name in TABLE_BY_KIND if name in asked & quotas.limited_kinds())
    below = limited_kinds_with_additions(wanted) if holder is not None else ()
    if not names and not below:
        return
    parameters = {"quota_project_id": project_id, "holder_id": holder.load_balancer_id if holder else ""}
    used = connection.execute(_counts_query(names, below), parameters).one()
    if met := exceeded_quotas(quotas, dict(zip(names, used[: len(names)], strict=True)), wanted):
        raise QuotaReached(met)
    if holder is not None:
        held = dict(zip(below, used[len(names) :], strict=True))
        check_limits(holder.load_balancer_id, holder.limits, held, wanted)


def lock_project_quotas(connection: Connection, project_id: ProjectId) -> dict[str, int | None]:
    """Return the project's own quotas, {kind: limit; None: it has none of its own}, and lock them until the
    transaction ends, so that what is counted afterwards is exact. Creates the project's row without limits
    if it is missing.
    """
    parameters = {"quota_project_id": project_id}
    row = _LOCK_QUOTA.first_row(connection, parameters)
    if row is None:
        # A project with default quotas only has no row yet; without one there would be nothing to lock.
        insert_if_absent(connection, _quota, {"project_id": project_id, "checks": 0})
        row = _LOCK_QUOTA.first_row(connection, parameters)
    return {name: getattr(row, name) for name in TITLES}


@cache
def _counts_query(project_kinds: tuple[str, ...], load_balancer_kinds: tuple[str, ...]) -> Select[Any]:
    """Return a query that counts the project's objects of the kinds ``project_kinds``, and the load balancer's of
    ``load_balancer_kinds``.
    """
    own = (_project_count_query(TABLE_BY_KIND[name]).label(name) for name in project_kinds)
    return select(
        *own, *(_load_balancer_count_query(TABLE_BY_KIND[name]).label(f"{name}_below") for name in load_balancer_kinds)
    )


def _load_balancer_count_query(table: Table) -> Any:
    return _live_count_query(table, table.c.load_balancer_id == bindparam("holder_id"))


def _project_count_query(table: Table) -> Any:
    own = table.c.project_id == bindparam("quota_project_id")
    if table is schema.health_monitor:
        # a shared one counts once, associated or not
        shared = schema.shared_monitor
        alone = select(func.count()).select_from(shared).where(shared.c.project_id == bindparam("quota_project_id"))
        return _live_count_query(table, own, table.c.shared_monitor_id.is_(None)) + alone.scalar_subquery()
    return _live_count_query(table, own)


def _live_count_query(table: Table, *conditions: ColumnElement[bool]) -> Any:
    return select(func.count()).select_from(table).where(*conditions, table.c.deleted == false()).scalar_subquery()
