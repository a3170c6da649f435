"""Setting the operating status of a whole load balancer."""

from collections.abc import Sequence

from sqlalchemy import Connection, Table, update

from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.operating import KEPT_BELOW
from evenkeel.core.statuses import OperatingStatus
from evenkeel.store.engine.in_list import in_list
from evenkeel.store.records import schema

_root = schema.load_balancer

BELOW: tuple[Table, ...] = (schema.listener, schema.pool, schema.member)
_KEPT = tuple(sorted(status.value for status in KEPT_BELOW))


def set_operating(
    connection: Connection, load_balancer_ids: Sequence[LoadBalancerId], status: OperatingStatus, reason: str
) -> None:
    """Set the status of load balancers and all their children: see :func:`evenkeel.core.operating.below`. Four
    statements."""
    connection.execute(
        update(_root)
        .where(in_list(_root.c.id, load_balancer_ids))
        .values(operating_status=status.value, operating_reason=reason)
    )
    for table in BELOW:
        connection.execute(
            update(table)
            .where(in_list(table.c.load_balancer_id, load_balancer_ids), table.c.operating_status.not_in(_KEPT))
            .values(operating_status=status.value)
        )
