"""The address pools of the built-in network."""

from msgspec.structs import replace
from sqlalchemy import Connection, delete, exists, select
from sqlalchemy.exc import IntegrityError

from evenkeel.core.errors import Conflict, NotFound
from evenkeel.core.model import Subnet
from evenkeel.store.options import Part
from evenkeel.store.records import schema
from evenkeel.store.records.rows import SUBNET_COLUMNS, subnet_of, subnet_row
from evenkeel.store.writing.steps import insert_all

_table = schema.subnet


class TenantSubnets(Part):
    """The part of :class:`evenkeel.core.ports.TenantStore` that keeps address pools."""

    async def subnets(self) -> tuple[Subnet, ...]:
        """All address pools of the built-in network, by name."""
        statement = select(*SUBNET_COLUMNS).order_by(_table.c.name)
        rows = await self._db.read(lambda connection: connection.execute(statement).fetchall())
        return tuple(subnet_of(row) for row in rows)

    async def add_subnet(self, subnet: Subnet) -> Subnet:
        """Store an address pool; one without a name is named after its id.

        Raises :class:`Conflict` if the id or name exists.
        """
        stored = replace(subnet, name=subnet.name or subnet.id)
        row = subnet_row(stored)
        try:
            await self._db.write(lambda connection: insert_all(connection, _table, [row]))
        except IntegrityError as error:
            raise Conflict(f"Subnet {stored.id}: its id or its name {stored.name!r} exists already.") from error
        return stored

    async def delete_subnet(self, subnet_id: str) -> None:
        """Raises :class:`NotFound`, :class:`Conflict` while a load balancer uses it."""

        def op(connection: Connection) -> None:
            used = exists().where(schema.vip_address.c.subnet_id == subnet_id)
            if connection.scalar(select(used)):
                raise Conflict(f"Subnet {subnet_id} is in use by a load balancer.")
            if connection.execute(delete(_table).where(_table.c.id == subnet_id)).rowcount == 0:
                raise NotFound("Subnet", subnet_id)

        await self._db.write(op)
