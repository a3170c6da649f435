"""Addresses for devices: the lowest free ones of a subnet, or ports to be created at the network service."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, select

from evenkeel.core.kit.ids import ShardId
from evenkeel.core.networking.attachment import (
    DevicePort,
    KnownSubnet,
    NetworkNotAttachable,
    WantedAddress,
    free_addresses,
)
from evenkeel.core.networking.networks import AddressUse, DeviceAddress
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.networks.shard_locations import ShardLocation
from evenkeel.store.records import schema

_device_address, _device_port = schema.device_address, schema.device_port
_READ_ADDRESSES = select(_device_address, _device_port.c.port_id).join(
    _device_port, _device_port.c.claim_id == _device_address.c.claim_id, isouter=True
)


def read_device_addresses(connection: Connection, *where: ColumnElement[bool]) -> dict[str, tuple[DeviceAddress, ...]]:
    """Return {subnet id: addresses of devices}, without addresses that are leaving the devices; one query.

    ``where``: conditions on rows of ``device_address``.
    """
    found: dict[str, list[DeviceAddress]] = {}
    for row in connection.execute(_READ_ADDRESSES.where(_device_address.c.leaving_revision.is_(None), *where)):
        address = DeviceAddress(
            use=AddressUse(row.purpose),
            owner=row.owner,
            address=row.address,
            index=row.number,
            port_id=row.port_id or "",
        )
        found.setdefault(row.subnet_id, []).append(address)
    return {subnet_id: tuple(each) for subnet_id, each in found.items()}


def device_address_port(
    location: ShardLocation, subnet: KnownSubnet, use: AddressUse, owner: str, index: int, *, common: bool = False
) -> DevicePort:
    return DevicePort(
        subnet_id=subnet.subnet.id,
        network_id=subnet.subnet.network_id,
        use=use,
        owner=owner,
        index=index,
        binding_host=location.layout.binding_host or location.home_host,
        common=common,
    )


def allocate_device_addresses(
    connection: Connection, shard_id: ShardId, known: KnownSubnet, lacking: Sequence[WantedAddress]
) -> None:
    """Allocate the addresses ``lacking`` of a subnet to the shard: the lowest free ones of those reserved for
    devices. Raises :class:`NetworkNotAttachable` if too few are free.
    """
    subnet = known.subnet
    # Those of all shards, because an address is unique in its network.
    here = select(_device_address.c.address).where(_device_address.c.network_id == subnet.network_id)
    free = free_addresses(subnet, set(connection.scalars(here)))
    rows: list[dict[str, object]] = []
    for use, owner, index in lacking:
        address = next(free, None)
        if address is None:
            raise NetworkNotAttachable(
                f"subnet {subnet.id} has too few addresses for devices: {len(lacking)} more needed,"
                f" {len(rows)} free of {', '.join(subnet.device_addresses) or 'none'} (device_addresses)"
            )
        rows.append(
            {
                "shard_id": shard_id,
                "subnet_id": subnet.id,
                "purpose": use.value,
                "owner": owner,
                "number": index,
                "network_id": subnet.network_id,
                "address": address,
            }
        )
    insert_rows(connection, _device_address, rows)
