"""The lease of the process that writes a provider's load balancers, by the database's clock."""

from sqlalchemy import Connection, select

from evenkeel.core.control.mirrors import LEASE_SECONDS_MAX, WriterLease
from evenkeel.store.records import schema
from evenkeel.store.writing.leases import is_lease_free, take_or_renew_lease

_mirror_lease = schema.mirror_lease


def take_writer_lease(connection: Connection, provider: str, holder: str, seconds: float) -> WriterLease:
    """Take or renew the provider's lease for ``holder``, or with 0 seconds give it back; return the present
    holder (empty: nobody), and whether that is the caller.
    """
    if take_or_renew_lease(
        connection, _mirror_lease, {"provider": provider}, holder, seconds, seconds_max=LEASE_SECONDS_MAX
    ):
        return WriterLease(holder=holder if seconds > 0 else "", is_held=seconds > 0)
    free = is_lease_free(_mirror_lease, LEASE_SECONDS_MAX).label("free")
    now = connection.execute(select(_mirror_lease.c.holder, free).where(_mirror_lease.c.provider == provider)).one()
    return WriterLease(holder="" if now.free else now.holder, is_held=False)
