"""Addresses for devices: the lowest free ones of a subnet, or ports that have to be made at the network service."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from evenkeel.core.attachment import DevicePort, KnownSubnet, NotAttachable, WantedAddress, free_addresses
from evenkeel.core.ids import ShardId
from evenkeel.core.networks import AddressUse
from evenkeel.store.networks.places import ShardPlace
from evenkeel.store.records import schema
from evenkeel.store.writing.steps import insert_all

_address = schema.device_address


def device_port(
    place: ShardPlace, each: KnownSubnet, use: AddressUse, owner: str, index: int, *, common: bool = False
) -> DevicePort:
    """The port for an address."""
    return DevicePort(
        subnet_id=each.subnet.id,
        network_id=each.subnet.network_id,
        use=use,
        owner=owner,
        index=index,
        binding_host=place.layout.binding_host or place.home_host,
        common=common,
    )


def take_addresses(
    connection: Connection, shard_id: ShardId, known: KnownSubnet, lacking: Sequence[WantedAddress]
) -> None:
    """Allocate addresses to the shard. Raises :class:`NotAttachable` if there are too few."""
    subnet = known.subnet
    here = select(_address.c.address).where(_address.c.network_id == subnet.network_id)
    free = free_addresses(subnet, set(connection.scalars(here)))
    rows: list[dict[str, object]] = []
    for use, owner, index in lacking:
        address = next(free, None)
        if address is None:
            raise NotAttachable(
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
    insert_all(connection, _address, rows)
