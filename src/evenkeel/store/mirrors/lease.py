"""The lease of the process that writes a provider's load balancers, by the database's clock."""

from sqlalchemy import Connection, or_, select, update

from evenkeel.core.control.mirrors import LEASE_SECONDS_MAX, WriterLease
from evenkeel.store.engine.clock import db_now, is_past
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema

_lease = schema.mirror_lease


def take_lease(connection: Connection, provider: str, holder: str, seconds: float) -> WriterLease:
    """Take, renew or (0 seconds) give back the lease; see
    :meth:`evenkeel.core.ports.mirrors.MirrorStore.take_lease`.
    """
    free = is_past(_lease.c.expires_at, far_seconds=LEASE_SECONDS_MAX)
    mine = or_(_lease.c.holder == holder, free)
    values = {"holder": holder, "expires_at": db_now() + seconds}
    # The condition is the check: of two that take an expired lease at once, one finds it held.
    taken = connection.execute(update(_lease).where(_lease.c.provider == provider, mine).values(values)).rowcount > 0
    if not taken:
        taken = insert_if_absent(connection, _lease, {"provider": provider, **values})
    if taken:
        return WriterLease(holder=holder if seconds > 0 else "", is_held=seconds > 0)
    now = connection.execute(select(_lease.c.holder, free.label("free")).where(_lease.c.provider == provider)).one()
    return WriterLease(holder="" if now.free else now.holder, is_held=False)
