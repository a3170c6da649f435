"""May a project have so many more, and a load balancer? Counted in the transaction that makes them, under the project's
quota row.

There is no counter that could drift: the rows themselves are counted, those marked deleted no more, so that a successor
may be made at once. Two transactions that make objects of one project would each count without the other's; so each
writes the project's row first. On one server the second waits for the first's commit, and its count, a later statement,
sees it; at two nodes of a Galera cluster one of them is rolled back and runs again. Projects without limits never come
here: whether there are any is told by the statements that look around or lock anyway.

What a load balancer may hold is counted under its own lock, by the same statement as a quota that it comes under.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Table, bindparam, exists, false, func, select, update

from evenkeel.core.errors import QuotaMet
from evenkeel.core.ids import LoadBalancerId, ProjectId
from evenkeel.core.limits import LoadBalancerLimits, check_limits, growing
from evenkeel.core.model import HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancer, Member, Pool
from evenkeel.core.quota import TITLES, Quotas, exceeded
from evenkeel.store.engine.returning import returning
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema

_quota = schema.quota

COUNTED: dict[str, Table] = {
    "loadbalancer": schema.load_balancer,
    "listener": schema.listener,
    "pool": schema.pool,
    "member": schema.member,
    "healthmonitor": schema.health_monitor,
    "l7policy": schema.l7policy,
    "l7rule": schema.l7rule,
}
QUOTA_OF: dict[type[Any], str] = {
    LoadBalancer: "loadbalancer",
    Listener: "listener",
    Pool: "pool",
    Member: "member",
    HealthMonitor: "healthmonitor",
    L7Policy: "l7policy",
    L7Rule: "l7rule",
}
"""By class of what is made."""

_IS_IT = _quota.c.project_id == bindparam("quota_project_id")
_LOCK = returning(
    update(_quota).where(_IS_IT).values(checks=_quota.c.checks + 1), *(_quota.c[name] for name in TITLES), by=_IS_IT
)


def has_quota(project_id: ColumnElement[str]) -> ColumnElement[bool]:
    """The project of another statement's row or parameter has a quota row: for that statement to tell, too."""
    return exists().where(_quota.c.project_id == project_id).correlate_except(_quota).label("has_quota")


def made(rows: Iterable[Any]) -> Counter[str]:
    """How many of each kind these objects are; a monitor that pools share was counted when it was made."""
    return Counter(
        QUOTA_OF[type(row)] for row in rows if not (isinstance(row, HealthMonitor) and row.shared_monitor_id)
    )


class Holder(NamedTuple):
    """A load balancer whose lock is ours, and what it may hold."""

    load_balancer_id: LoadBalancerId
    limits: LoadBalancerLimits


def check_quota(
    connection: Connection,
    project_id: ProjectId,
    wanted: Mapping[str, int],
    *,
    defaults: Quotas,
    has_quota: bool,
    holder: Holder | None = None,
) -> None:
    """Raises :class:`QuotaMet` unless the project may have as many more of each kind, :class:`LimitMet` unless the
    ``holder`` may. Nothing is asked where there is no holder and there are neither limits of the project's own
    (``has_quota``) nor default ones."""
    asked = {name for name, count in wanted.items() if count > 0}
    quotas = Quotas()
    names: tuple[str, ...] = ()
    if asked and (has_quota or asked & defaults.limited()):
        quotas = defaults.with_own(_locked(connection, project_id))
        names = tuple(name for name in COUNTED if name in asked & quotas.limited())
    below = growing(wanted) if holder is not None else ()
    if not names and not below:
        return
    parameters = {"quota_project_id": project_id, "holder_id": holder.load_balancer_id if holder else ""}
    used = connection.execute(_counts(names, below), parameters).one()
    if met := exceeded(quotas, dict(zip(names, used[: len(names)], strict=True)), wanted):
        raise QuotaMet(met)
    if holder is not None:
        held = dict(zip(below, used[len(names) :], strict=True))
        check_limits(holder.load_balancer_id, holder.limits, held, wanted)


def _locked(connection: Connection, project_id: ProjectId) -> dict[str, int | None]:
    """The project's own limits; the row is ours until the transaction ends."""
    parameters = {"quota_project_id": project_id}
    row = _LOCK.first(connection, parameters)
    if row is None:
        insert_if_absent(connection, _quota, {"project_id": project_id, "checks": 0})
        row = _LOCK.first(connection, parameters)
    return {name: getattr(row, name) for name in TITLES}


@cache
def _counts(names: tuple[str, ...], below: tuple[str, ...]) -> Select[Any]:
    """Of the project, and of the load balancer."""
    own = (_count(COUNTED[name]).label(name) for name in names)
    return select(*own, *(_count_below(COUNTED[name]).label(f"{name}_below") for name in below))


def _count_below(table: Table) -> Any:
    return _live_count(table, table.c.load_balancer_id == bindparam("holder_id"))


def _count(table: Table) -> Any:
    own = table.c.project_id == bindparam("quota_project_id")
    if table is schema.health_monitor:
        # one that pools share counts once, whether any has it or not
        shared = schema.shared_monitor
        alone = select(func.count()).select_from(shared).where(shared.c.project_id == bindparam("quota_project_id"))
        return _live_count(table, own, table.c.shared_monitor_id.is_(None)) + alone.scalar_subquery()
    return _live_count(table, own)


def _live_count(table: Table, *conditions: ColumnElement[bool]) -> Any:
    return select(func.count()).select_from(table).where(*conditions, table.c.deleted == false()).scalar_subquery()
