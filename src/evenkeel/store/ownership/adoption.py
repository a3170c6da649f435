"""Adoption of networks: a shard takes over the route domain and the addresses that another program gave to the devices
of its group.

Everything is one transaction, with the device group's allocations locked: a number or an address is the shard's, or
nothing has changed. The devices have the numbers and addresses already, and are written after the commit.
"""

from collections.abc import Collection, Iterator, Mapping
from ipaddress import ip_address

import structlog
from sqlalchemy import Connection, and_, delete, or_, select

from evenkeel.core.devices.adoption import ADDRESSES_MAX, SEVERAL_ROUTE_DOMAINS, AdoptedNetworks, FoundAddress
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import ShardId
from evenkeel.core.kit.words import count_with_noun
from evenkeel.core.networking.addresses import parsed_range
from evenkeel.core.networking.attachment import (
    DeviceAddressPort,
    KnownSubnet,
    WantedAddress,
    wanted_addresses,
)
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN
from evenkeel.core.protocol.messages import AdoptNetworks
from evenkeel.core.resources.model import Subnet
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.networks.claims import claim_from_row, store_adopted_port_claim
from evenkeel.store.networks.device_addresses import device_address_port
from evenkeel.store.networks.network_attachment import (
    ROUTE_DOMAINS_MAX,
    lock_group_of_shard,
    read_attachments,
    read_known_subnets,
)
from evenkeel.store.networks.shard_locations import ShardLocation
from evenkeel.store.ownership.adopted_domains import RouteDomainsToAdopt
from evenkeel.store.ownership.services import check_shard_owner
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event

log = structlog.get_logger(__name__)

_device_address, _device_port = schema.device_address, schema.device_port


def find_addresses_needing_ports(connection: Connection, call: AdoptNetworks) -> tuple[tuple[str, FoundAddress], ...]:
    """Return (network id, address) of those addresses in ``call`` that need a port: their subnet is one of
    the network service, and they do not belong to the shard yet.

    Raises :class:`SessionLost` unless the agent owns the shard, :class:`Conflict` for numbers out of range or
    too many addresses or route domains.
    """
    check_shard_owner(connection, call.agent_id, call.session_id, call.shard_id, call.epoch)
    _check_adoption_limits(call)
    known = read_known_subnets(connection, {each.subnet_id for each in call.addresses})
    mine = read_attachments(connection, call.shard_id).addresses
    has = {(subnet_id, one.address) for subnet_id, found in mine.items() for one in found}
    return tuple(
        (known[each.subnet_id].subnet.network_id, each)
        for each in call.addresses
        if each.subnet_id in known and known[each.subnet_id].from_service and (each.subnet_id, each.address) not in has
    )


def adopt_networks(
    connection: Connection, call: AdoptNetworks, ports: Mapping[FoundAddress, PortClaim]
) -> AdoptedNetworks:
    """Reserve the route domain numbers and the addresses for the shard, record an event, and return them;
    without ``call.apply`` only check, and return what would be reserved. Addresses that the shard does not
    need or may not have are left out.

    ``ports``: {address: claim on its port}. Raises :class:`Conflict` if the shard cannot have the numbers, or
    a number is out of range, :class:`SessionLost` unless the agent owns the shard.
    """
    location = check_shard_owner(connection, call.agent_id, call.session_id, call.shard_id, call.epoch)
    _check_adoption_limits(call)
    # From here on no other transaction can assign a route domain or an address of this group.
    lock_group_of_shard(connection, location.shard_id)
    numbers = RouteDomainsToAdopt.from_call(connection, location, call)
    known = read_known_subnets(connection, {each.subnet_id for each in call.addresses})
    addresses = tuple(_adoptable_addresses(connection, location, known, call.addresses, ports))
    # A preview makes the same checks under the same lock, and writes nothing.
    if not call.apply:
        return AdoptedNetworks(route_domain=call.route_domain, addresses=addresses, route_domains=numbers.reported)
    numbers.store_numbers(connection)
    _store_adopted(connection, location, known, addresses, ports)
    with_addresses = count_with_noun(len(addresses), "address", "addresses")
    text = f"route domain {numbers.numbers_text} and {with_addresses} were taken over from another program"
    record_event(
        connection, kind="networks_adopted", text=text, environment=location.environment, shard_id=location.shard_id
    )
    log.warning(
        "networks adopted", shard=location.shard_id, route_domain=numbers.numbers_text, addresses=len(addresses)
    )
    return AdoptedNetworks(
        route_domain=call.route_domain,
        addresses=addresses,
        ports=_taken_addresses(connection, location, known, addresses),
        route_domains=numbers.reported,
    )


def _check_adoption_limits(call: AdoptNetworks) -> None:
    several = call.route_domain == SEVERAL_ROUTE_DOMAINS
    if not several and not COMMON_ROUTE_DOMAIN <= call.route_domain <= ROUTE_DOMAINS_MAX:
        raise Conflict(f"route_domain: {call.route_domain} is none; 0 to {ROUTE_DOMAINS_MAX} are allowed")
    if call.route_domains and not several:
        raise Conflict(f"route_domains: with one for all networks, {call.route_domain}, there are no others")
    if len(call.route_domains) > ADDRESSES_MAX:
        raise Conflict(f"route_domains: {len(call.route_domains)} were found; at most {ADDRESSES_MAX} are allowed")
    for network_id, number in call.route_domains.items():
        if not COMMON_ROUTE_DOMAIN < number <= ROUTE_DOMAINS_MAX:
            raise Conflict(
                f"route_domains: {number} of network {network_id} is none; 1 to {ROUTE_DOMAINS_MAX} are allowed"
            )
    if len(call.addresses) > ADDRESSES_MAX:
        raise Conflict(f"addresses: {len(call.addresses)} were found; at most {ADDRESSES_MAX} can be adopted at once")


# -- addresses


def _adoptable_addresses(
    connection: Connection,
    location: ShardLocation,
    known: Mapping[str, KnownSubnet],
    found: Collection[FoundAddress],
    ports: Mapping[FoundAddress, PortClaim],
) -> Iterator[FoundAddress]:
    """Yield the addresses out of ``found`` that the shard needs and may have."""
    attached = read_attachments(connection, location.shard_id)
    wanted = frozenset(wanted_addresses(location.layout, location.project_id))
    has = {
        (id_, one.use, one.owner, one.index, one.address) for id_, mine in attached.addresses.items() for one in mine
    }
    # Extended below by what is adopted, so that one address is never adopted for two purposes.
    taken = _addresses_of_others(connection, location.shard_id, {each.subnet.network_id for each in known.values()})
    done: set[tuple[str, WantedAddress]] = set()
    for each in found:
        subnet = known.get(each.subnet_id)
        if subnet is None or subnet.subnet.network_id not in attached.route_domains or each.wanted not in wanted:
            continue
        if (subnet.subnet.network_id, each.address) in taken or (each.subnet_id, each.wanted) in done:
            continue
        if (each.subnet_id, *each.wanted, each.address) in has or _is_address_adoptable(each, subnet, ports):
            taken.add((subnet.subnet.network_id, each.address))
            done.add((each.subnet_id, each.wanted))
            yield each


def _addresses_of_others(
    connection: Connection, shard_id: ShardId, network_ids: Collection[str]
) -> set[tuple[str, str]]:
    rows = connection.execute(
        select(_device_address.c.network_id, _device_address.c.address).where(
            is_in_list(_device_address.c.network_id, network_ids), _device_address.c.shard_id != shard_id
        )
    )
    return {(row.network_id, row.address) for row in rows}


def _is_address_adoptable(found: FoundAddress, known: KnownSubnet, ports: Mapping[FoundAddress, PortClaim]) -> bool:
    """Whether the shard may have the address: a port of the other program at the network service, or reserved for
    devices.
    """
    return found in ports if known.from_service else _is_reserved_for_devices(found.address, known.subnet)


def _is_reserved_for_devices(address: str, subnet: Subnet) -> bool:
    found = ip_address(address)
    return any(parsed_range(text).holds(found) for text in subnet.device_addresses)


def _store_adopted(
    connection: Connection,
    location: ShardLocation,
    known: Mapping[str, KnownSubnet],
    addresses: Collection[FoundAddress],
    ports: Mapping[FoundAddress, PortClaim],
) -> None:
    """Store the adopted addresses instead of those allocated to the shard.

    The claims on ports of the replaced addresses lose their holders, so these ports are deleted later: no
    device has these addresses.
    """
    has = _stored_addresses(connection, location, addresses)
    new = [each for each in addresses if (each.subnet_id, *each.wanted, each.address) not in has]
    rows: list[dict[str, object]] = []
    for each in new:
        network_id = known[each.subnet_id].subnet.network_id
        same_place = and_(
            _device_address.c.subnet_id == each.subnet_id,
            _device_address.c.purpose == each.use.value,
            _device_address.c.owner == each.owner,
            _device_address.c.number == each.index,
        )
        same_address = and_(_device_address.c.network_id == network_id, _device_address.c.address == each.address)
        mine = _device_address.c.shard_id == location.shard_id
        # The row for the same purpose and a row with the same address would each violate a unique key.
        connection.execute(delete(_device_address).where(mine, or_(same_place, same_address)))
        claim = ports.get(each)
        rows.append(
            {
                "shard_id": location.shard_id,
                "subnet_id": each.subnet_id,
                "purpose": each.use.value,
                "owner": each.owner,
                "number": each.index,
                "network_id": network_id,
                "address": each.address,
                "claim_id": None if claim is None else claim.claim_id,
            }
        )
    # All rows go before any is inserted, because two of them may exchange their addresses.
    insert_rows(connection, _device_address, rows)
    for each in new:
        if (claim := ports.get(each)) is not None:
            store_adopted_port_claim(connection, claim, table=_device_port)


def _stored_addresses(
    connection: Connection, location: ShardLocation, addresses: Collection[FoundAddress]
) -> dict[tuple[str, str, str, int, str], PortClaim | None]:
    """Return {(subnet id, purpose, owner, number, address): claim on its port, None without a port} of the
    shard in the subnets of these addresses.
    """
    columns = (
        _device_address.c.subnet_id,
        _device_address.c.purpose,
        _device_address.c.owner,
        _device_address.c.number,
        _device_address.c.address,
    )
    statement = select(
        *columns, _device_port.c.claim_id, _device_port.c.device_owner, _device_port.c.device_id, _device_port.c.port_id
    )
    here = is_in_list(_device_address.c.subnet_id, {each.subnet_id for each in addresses})
    joined = statement.join(_device_port, _device_port.c.claim_id == _device_address.c.claim_id, isouter=True)
    found: dict[tuple[str, str, str, int, str], PortClaim | None] = {}
    for row in connection.execute(joined.where(_device_address.c.shard_id == location.shard_id, here)):
        claim = None if row.claim_id is None else claim_from_row(row, _device_port)
        found[row.subnet_id, row.purpose, row.owner, row.number, row.address] = claim
    return found


def _taken_addresses(
    connection: Connection,
    location: ShardLocation,
    known: Mapping[str, KnownSubnet],
    addresses: Collection[FoundAddress],
) -> tuple[DeviceAddressPort, ...]:
    rows = _stored_addresses(connection, location, addresses)
    found = []
    for each in addresses:
        claim = rows[each.subnet_id, *each.wanted, each.address]
        if claim is not None and claim.port_id:
            port = device_address_port(location, known[each.subnet_id], *each.wanted)
            found.append(DeviceAddressPort(port=port, address=each.address, port_id=claim.port_id, claim=claim))
    return tuple(found)
