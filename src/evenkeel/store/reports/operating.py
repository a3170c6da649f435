"""Sets operating statuses of whole load balancers, and decides when a new operating status changes
``updated_at``.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Table, case, or_, update

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.statuses import PENDING, OperatingStatus
from evenkeel.core.status.operating import STATUSES_CHILDREN_KEEP
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema

_load_balancer = schema.load_balancer

CHILD_TABLES: tuple[Table, ...] = (schema.listener, schema.pool, schema.member)
_KEPT_STATUSES = tuple(sorted(status.value for status in STATUSES_CHILDREN_KEEP))


def updated_at_expression(table: Table, status: ColumnElement[str] | str) -> ColumnElement[float]:
    """Return the SQL expression for the new ``updated_at`` of a row whose operating status becomes ``status``: now if
    the status changes.

    For PENDING objects it stays, because there it is the time since which they are PENDING. Set it before the status:
    on MariaDB later assignments see earlier ones.
    """
    # not IN, which a statement for many rows cannot hold
    pending = (table.c.provisioning_status == each.value for each in sorted(PENDING))
    return case((or_(table.c.operating_status == status, *pending), table.c.updated_at), else_=db_now())


def set_operating_statuses(
    connection: Connection, load_balancer_ids: Sequence[LoadBalancerId], status: OperatingStatus, reason: str
) -> None:
    """Set the operating status of load balancers, with the reason, and that of their listeners, pools and
    members, except for those that are OFFLINE or NO_MONITOR. Four statements.
    """
    connection.execute(
        update(_load_balancer)
        .where(is_in_list(_load_balancer.c.id, load_balancer_ids))
        .ordered_values(
            (_load_balancer.c.updated_at, updated_at_expression(_load_balancer, status.value)),
            (_load_balancer.c.operating_status, status.value),
            (_load_balancer.c.operating_reason, reason),
        )
    )
    for table in CHILD_TABLES:
        connection.execute(
            update(table)
            .where(
                is_in_list(table.c.load_balancer_id, load_balancer_ids),
                table.c.operating_status.not_in((*_KEPT_STATUSES, status.value)),
            )
            .ordered_values(
                (table.c.updated_at, updated_at_expression(table, status.value)),
                (table.c.operating_status, status.value),
            )
        )
