"""Subnets of the built-in network service, which are its address pools."""

from msgspec.structs import replace
from sqlalchemy import Connection, delete, exists, or_, select, update

from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.networking.addresses import parsed_address, parsed_range
from evenkeel.core.resources.model import Subnet
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.records import schema
from evenkeel.store.records.rows import SUBNET_COLUMNS, row_from_subnet, subnet_from_row
from evenkeel.store.writing.operator_actions import record_operator_action_event

_subnet = schema.subnet


def read_subnets(connection: Connection) -> tuple[Subnet, ...]:
    """Return all stored subnets, declared by operators or read from the network service, sorted by name. One
    query.
    """
    rows = connection.execute(select(*SUBNET_COLUMNS).order_by(_subnet.c.name))
    return tuple(subnet_from_row(row) for row in rows)


def subnet_with_name(subnet: Subnet) -> Subnet:
    """Return the subnet; without a name it is named after its id."""
    return replace(subnet, name=subnet.name or subnet.id)


def add_subnet(connection: Connection, subnet: Subnet) -> None:
    """Store a subnet, and record the operator's act. Raises ``IntegrityError`` if the id or name exists."""
    insert_rows(connection, _subnet, [row_from_subnet(subnet)])
    record_operator_action_event(
        connection,
        kind="subnet_added",
        done=f"subnet {name_and_id(subnet.name, subnet.id)} was added",
        details=f": {subnet.cidr}",
    )


def set_device_addresses(connection: Connection, subnet: Subnet) -> None:
    """Store the subnet's addresses reserved for devices, and record the operator's act. Raises
    :class:`NotFound`; :class:`Conflict` if a load balancer has one of the addresses, or a device has an
    address that would no longer be reserved.
    """
    values = {
        name: value for name, value in row_from_subnet(subnet).items() if name in ("device_addresses", "reserved")
    }
    if connection.execute(update(_subnet).where(_subnet.c.id == subnet.id).values(**values)).rowcount == 0:
        raise NotFound("Subnet", subnet.id)
    ranges = [parsed_range(text) for text in subnet.device_addresses]
    for table, forbidden in ((schema.vip_address, True), (schema.device_address, False)):
        for address in connection.scalars(select(table.c.address).where(table.c.subnet_id == subnet.id)):
            if any(each.holds(parsed_address(address)) for each in ranges) is forbidden:
                what = "a load balancer has it" if forbidden else "a device has it"
                raise Conflict(f"Subnet {subnet.id}, device_addresses: address {address} is in use: {what}.")
    record_operator_action_event(
        connection,
        kind="subnet_changed",
        done=f"the addresses for devices of subnet {name_and_id(subnet.name, subnet.id)} were set",
        details=f": {', '.join(subnet.device_addresses) or 'none'}",
    )


def delete_subnet(connection: Connection, subnet_id: str) -> None:
    """Delete a subnet, and record the operator's act. Raises :class:`NotFound`, :class:`Conflict` while a
    load balancer or a device has an address in it.
    """
    used = exists().where(schema.vip_address.c.subnet_id == subnet_id)
    attached = exists().where(schema.device_address.c.subnet_id == subnet_id)
    if connection.scalar(select(or_(used, attached))):
        raise Conflict(f"Subnet {subnet_id} is in use by a load balancer.")
    if connection.execute(delete(_subnet).where(_subnet.c.id == subnet_id)).rowcount == 0:
        raise NotFound("Subnet", subnet_id)
    record_operator_action_event(connection, kind="subnet_deleted", done=f"subnet {subnet_id} was deleted")
