"""Attachments of a shard's devices to networks: reading, allocating and releasing numbers and addresses.

Allocations of one device group are serialized on its row, so numbers and addresses are the lowest free ones.
Both are released when no load balancer row of the shard uses the network: such a row stays until its removal
from the devices is confirmed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import structlog
from sqlalchemy import Connection, Select, delete, exists, false, select, union, update

from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.networking.attachment import (
    AttachedNetworks,
    DeviceAddressPort,
    DevicePort,
    KnownSubnet,
    NetworkNotAttachable,
    SubnetsInUse,
    is_network_shared_on_devices,
    route_domain_without_overlap,
    subnets_to_attach,
    uses_only_common_route_domain,
    wanted_addresses,
)
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.networks import common
from evenkeel.store.networks.claims import set_claim_holder
from evenkeel.store.networks.device_addresses import (
    allocate_device_addresses,
    device_address_port,
    read_device_addresses,
)
from evenkeel.store.networks.shard_locations import ShardLocation
from evenkeel.store.records import schema
from evenkeel.store.records.rows import NETWORK_COLUMNS, SUBNET_COLUMNS, network_from_row, subnet_from_row
from evenkeel.store.records.standby import is_held_by_any_shard, is_held_by_shard

log = structlog.get_logger(__name__)

ROUTE_DOMAINS_MAX = 65_534
"""The highest id of a BIG-IP's route domains."""

_attached_network = schema.attached_network
_route_domain = schema.route_domain
_device_address = schema.device_address
_device_group = schema.device_group
_subnet, _network = schema.subnet, schema.network
_load_balancer_move = schema.load_balancer_move
_load_balancer, _vip_address, _member = schema.load_balancer, schema.vip_address, schema.member


class AllocationResult(NamedTuple):
    """Result of an allocation of route domains and addresses: what load balancers still lack."""

    problems: dict[LoadBalancerId, str]
    """{load balancer id: reason why its devices cannot be attached to its networks}."""
    ports: dict[LoadBalancerId, tuple[DevicePort, ...]]
    """{load balancer id: ports to be created before its devices can be attached}."""


def read_known_subnets(connection: Connection, subnet_ids: Collection[str]) -> dict[str, KnownSubnet]:
    """Return {subnet id: stored subnet with its network}, without unknown subnets; one query."""
    columns = len(SUBNET_COLUMNS)
    statement = (
        select(*SUBNET_COLUMNS, *NETWORK_COLUMNS)
        .join(_network, _network.c.id == _subnet.c.network_id, isouter=True)
        .where(is_in_list(_subnet.c.id, subnet_ids))
    )
    return {row[0]: _known_subnet(row, columns) for row in connection.execute(statement)}


def _known_subnet(row: Sequence[object], columns: int) -> KnownSubnet:
    network = None if row[columns] is None else network_from_row(row[columns:])
    return KnownSubnet(subnet=subnet_from_row(row[:columns]), network=network)


def read_attachments(connection: Connection, shard_id: ShardId) -> AttachedNetworks:
    """Return the route domains and addresses that devices have for the shard; two queries."""
    numbers = connection.execute(
        select(
            _attached_network.c.network_id, _attached_network.c.route_domain, _attached_network.c.needed_revision
        ).where(_attached_network.c.shard_id == shard_id)
    ).all()
    return AttachedNetworks(
        route_domains={row.network_id: row.route_domain for row in numbers},
        addresses=read_device_addresses(connection, _device_address.c.shard_id == shard_id),
        needed={row.network_id: row.needed_revision for row in numbers},
    )


# -- allocation


def allocate_addresses(
    connection: Connection, location: ShardLocation, wanted: Mapping[LoadBalancerId, SubnetsInUse]
) -> AllocationResult:
    """Allocate the route domains and addresses that load balancers need in the subnets ``wanted``, under the
    lock of the device group, after the shard's unused networks were released. Return what the database
    cannot decide: load balancers that cannot be attached, and ports to be created at the network service.
    """
    _lock_group_allocations(connection, location)
    # First, so that numbers and addresses without users are available to this allocation.
    release_unused_networks_locked(connection, location.shard_id)
    known = read_known_subnets(connection, frozenset().union(*(each.all for each in wanted.values())))
    lacks = AllocationResult(problems={}, ports={})
    for load_balancer_id, uses in sorted(wanted.items(), key=lambda item: item[0]):
        try:
            subnets = subnets_to_attach(uses, known, location.layout, location.project_id)
            # A savepoint: a load balancer that cannot be attached leaves nothing allocated, and the others keep theirs.
            with connection.begin_nested():
                ports = tuple(_attach_devices(connection, location, subnets))
        except NetworkNotAttachable as error:
            lacks.problems[load_balancer_id] = str(error)
            continue
        if ports:
            lacks.ports[load_balancer_id] = ports
    return lacks


def _lock_group_allocations(connection: Connection, location: ShardLocation) -> None:
    connection.execute(
        update(_device_group)
        .where(_device_group.c.environment == location.environment, _device_group.c.number == location.group_number)
        .values(allocations=_device_group.c.allocations + 1)
    )


def lock_group_of_shard(connection: Connection, shard_id: ShardId) -> None:
    """Lock the allocations of the shard's device group until the transaction ends."""
    shard = schema.shard
    here = select(shard.c.environment).where(
        shard.c.id == shard_id,
        shard.c.environment == _device_group.c.environment,
        shard.c.group_number == _device_group.c.number,
    )
    connection.execute(update(_device_group).where(here.exists()).values(allocations=_device_group.c.allocations + 1))


def _attach_devices(
    connection: Connection, location: ShardLocation, subnets: Sequence[KnownSubnet]
) -> Iterator[DevicePort]:
    """Attach the shard's devices to subnets; yield the ports to create, where devices' addresses belong to
    ports. Raises :class:`NetworkNotAttachable` if another project has one of the networks, subnets overlap, or no
    route domain or too few addresses are free.
    """
    shared = [
        each
        for each in subnets
        if each.network is not None and is_network_shared_on_devices(each.network, location.layout)
    ]
    yield from _attach_tenant_subnets(connection, location, [each for each in subnets if each not in shared])
    yield from common.attach_common_subnets(connection, location, shared)


def _attach_tenant_subnets(
    connection: Connection, location: ShardLocation, subnets: Sequence[KnownSubnet]
) -> Iterator[DevicePort]:
    attached = read_attachments(connection, location.shard_id)
    networks = sorted({each.subnet.network_id for each in subnets} - attached.route_domains.keys())
    if networks:
        _check_networks_of_other_projects(connection, location, networks)
        new = [each for each in subnets if each.subnet.network_id in networks]
        beside = {attached.route_domains[id_] for each in subnets if (id_ := each.subnet.network_id) not in networks}
        number = _choose_route_domain(connection, location, new, beside)
        rows = [{"shard_id": location.shard_id, "network_id": id_, "route_domain": number} for id_ in networks]
        insert_rows(connection, _attached_network, rows)
        log.info("networks attached", shard=location.shard_id, networks=networks, route_domain=number)
    for each in subnets:
        has = {(one.use, one.owner, one.index) for one in attached.addresses.get(each.subnet.id, ())}
        lacking = [one for one in wanted_addresses(location.layout, location.project_id) if one not in has]
        if each.from_service:
            yield from (device_address_port(location, each, *one) for one in lacking)
        elif lacking:
            allocate_device_addresses(connection, location.shard_id, each, lacking)


def _check_networks_of_other_projects(connection: Connection, location: ShardLocation, networks: Sequence[str]) -> None:
    """Check that the group's devices are not attached to one of the networks for another project, because a
    segment can be in only one partition of a device. Raises :class:`NetworkNotAttachable` if the devices are.
    """
    shard = schema.shard
    other = connection.execute(
        select(shard.c.project_id, _attached_network.c.network_id)
        .join(_attached_network, _attached_network.c.shard_id == shard.c.id)
        .where(
            is_in_list(_attached_network.c.network_id, networks),
            shard.c.environment == location.environment,
            shard.c.group_number == location.group_number,
            shard.c.id != location.shard_id,
        )
    ).first()
    if other is not None:
        raise NetworkNotAttachable(
            f"network {other.network_id} is used by project {other.project_id} too, so it has to be declared as shared"
        )


def _choose_route_domain(
    connection: Connection, location: ShardLocation, new: Sequence[KnownSubnet], required_domains: Collection[int]
) -> int:
    """Return the number of the route domain for these subnets: one of the shard's in which they fit, else a
    new one, which is stored. ``required_domains``: route domains of the load balancer's other networks, which must
    all be the same one. Raises :class:`NetworkNotAttachable` if they differ, the subnets do not fit there, or no
    number is free.
    """
    if uses_only_common_route_domain(location.layout):
        return COMMON_ROUTE_DOMAIN
    there: dict[int, list[str]] = {
        number: []
        for number in connection.scalars(
            select(_route_domain.c.number)
            .where(_route_domain.c.shard_id == location.shard_id)
            .order_by(_route_domain.c.number)
        )
    }
    rows = connection.execute(
        select(_attached_network.c.route_domain, _subnet.c.cidr)
        .join(_subnet, _subnet.c.network_id == _attached_network.c.network_id)
        .where(
            _attached_network.c.shard_id == location.shard_id, _attached_network.c.route_domain != COMMON_ROUTE_DOMAIN
        )
    )
    for row in rows:
        there.setdefault(row.route_domain, []).append(row.cidr)
    # First those beside which the new ones have to be: the tenant may have several, in which they would fit, too.
    chosen = route_domain_without_overlap(
        new, dict(sorted(there.items(), key=lambda one: one[0] not in required_domains)), location.layout
    )
    return _new_route_domain(connection, location) if chosen is None else chosen


def _new_route_domain(connection: Connection, location: ShardLocation) -> int:
    """Store the lowest free route domain number for the shard, and return it. Raises :class:`NetworkNotAttachable`
    if there is none.
    """
    number = free_route_domain(connection, location)
    row = {
        "environment": location.environment,
        "group_number": location.group_number,
        "number": number,
        "shard_id": location.shard_id,
    }
    insert_rows(connection, _route_domain, [row])
    return number


def free_route_domain(connection: Connection, location: ShardLocation, excluded: Collection[int] = ()) -> int:
    """Return the lowest number, from 1, of a route domain that no shard of the device group has, except for
    those in ``excluded``. Raises :class:`NetworkNotAttachable` if there is none.
    """
    here = _route_domain.c.environment == location.environment, _route_domain.c.group_number == location.group_number
    taken = {*connection.scalars(select(_route_domain.c.number).where(*here)), *excluded}
    number = next((number for number in range(1, ROUTE_DOMAINS_MAX + 1) if number not in taken), None)
    if number is None:
        raise NetworkNotAttachable(
            f"device group {location.environment}/{location.group_number} has no free route domain"
        )
    return number


def store_allocated_address(connection: Connection, shard_id: ShardId, taken: DeviceAddressPort) -> bool:
    """Store the address of a port that was created for the shard's devices; True if it was stored. False: the
    devices do not need it any more, or have got another address meanwhile. Raises
    :class:`NetworkUnavailable` if deleting the port has begun.
    """
    lock_group_of_shard(connection, shard_id)
    port = taken.port
    attached = select(_attached_network.c.network_id).where(
        _attached_network.c.shard_id == shard_id, _attached_network.c.network_id == port.network_id
    )
    # Creating a port takes a call to the network service, outside of any transaction.
    if connection.scalar(attached) is None:  # released while the port was created
        return False
    holder = common.find_common_shard(connection, shard_id) if port.common else shard_id
    row = {
        "shard_id": holder,
        "subnet_id": port.subnet_id,
        "purpose": port.use.value,
        "owner": port.owner,
        "number": port.index,
    }
    has = select(_device_address.c.address).where(*(_device_address.c[name] == value for name, value in row.items()))
    stored = holder is not None and connection.scalar(has) is None
    if stored:
        more = {"network_id": port.network_id, "address": taken.address, "claim_id": taken.claim.claim_id}
        insert_rows(connection, _device_address, [row | more])
        set_claim_holder(connection, taken.claim, taken.port_id, table=schema.device_port)
    if port.common and holder is not None:
        common.record_needed_revision(connection, holder, shard_id, port.network_id, changed=stored)
    return stored


# -- release


def release_unused_networks(connection: Connection, shard_id: ShardId) -> None:
    """Release the networks and addresses that no load balancer of the shard uses any more."""
    lock_group_of_shard(connection, shard_id)
    release_unused_networks_locked(connection, shard_id)


def release_common_network(connection: Connection, network: common.SharedNetwork) -> None:
    """Find the subnets of a shared network that no load balancer uses any more, and mark them as leaving the
    devices.
    """
    lock_group_of_shard(connection, network[0])
    common.mark_unused_subnets_leaving(connection, [network])


def find_shards_with_unused_networks(connection: Connection, limit: int) -> list[ShardId]:
    """Return at most ``limit`` shards whose devices have networks that none of the shard's load balancers
    uses, because a process died before it released them.
    """
    vips = select(_vip_address.c.network_id).join(
        _load_balancer, _load_balancer.c.id == _vip_address.c.load_balancer_id
    )
    members = (
        select(_subnet.c.network_id)
        .join(_member, _member.c.subnet_id == _subnet.c.id)
        .join(_load_balancer, _load_balancer.c.id == _member.c.load_balancer_id)
    )
    copy = exists().where(
        _load_balancer_move.c.load_balancer_id == _load_balancer.c.id,
        _load_balancer_move.c.standby_shard_id == _attached_network.c.shard_id,
    )
    mine = (_load_balancer.c.shard_id == _attached_network.c.shard_id) | copy
    used = (
        vips.where(mine, _vip_address.c.network_id == _attached_network.c.network_id).exists()
        | members.where(mine, _subnet.c.network_id == _attached_network.c.network_id).exists()
    )
    return list(connection.scalars(select(_attached_network.c.shard_id).where(~used).distinct().limit(limit)))


def release_unused_networks_locked(connection: Connection, shard_id: ShardId) -> None:
    """Release the networks that no load balancer of the shard uses. The caller has locked the device group's
    allocations.
    """
    # Read before the rows go that show which common networks the shard used.
    shared = common.read_common_networks_of_shard(connection, shard_id)
    used = set(connection.scalars(_networks_in_use_query(shard_id)))
    there = connection.scalars(select(_attached_network.c.network_id).where(_attached_network.c.shard_id == shard_id))
    gone = sorted(set(there) - used)
    if gone:
        connection.execute(
            delete(_attached_network).where(
                _attached_network.c.shard_id == shard_id, is_in_list(_attached_network.c.network_id, gone)
            )
        )
        connection.execute(
            delete(_device_address).where(
                _device_address.c.shard_id == shard_id, is_in_list(_device_address.c.network_id, gone)
            )
        )
        log.info("networks released", shard=shard_id, networks=gone)
    common.mark_unused_subnets_leaving(connection, shared)
    numbers = select(_attached_network.c.route_domain).where(_attached_network.c.shard_id == shard_id)
    # Last: a number is free only when no network of the shard is in it any more.
    connection.execute(
        delete(_route_domain).where(_route_domain.c.shard_id == shard_id, _route_domain.c.number.not_in(numbers))
    )


def _networks_in_use_query(shard_id: ShardId) -> Select[tuple[str]]:
    """Return a query for the networks of the VIPs and members of the shard's load balancers, also of those being
    deleted.
    """
    vips = select(_vip_address.c.network_id).join(
        _load_balancer, _load_balancer.c.id == _vip_address.c.load_balancer_id
    )
    members = (
        select(_subnet.c.network_id)
        .join(_member, _member.c.subnet_id == _subnet.c.id)
        .join(_load_balancer, _load_balancer.c.id == _member.c.load_balancer_id)
    )
    here = is_held_by_shard(shard_id)
    both = union(vips.where(here), members.where(here)).subquery()
    return select(both.c.network_id)


def users_of_network_query(network_id: str) -> Select[tuple[str]]:
    """Return a query for load balancers with a VIP or a member in the network, on devices that are attached to the
    network.
    """
    shards = select(_attached_network.c.shard_id).where(_attached_network.c.network_id == network_id)
    here = select(_load_balancer.c.id).where(is_held_by_any_shard(shards), _load_balancer.c.deleted == false())
    vips = select(_vip_address.c.load_balancer_id).where(_vip_address.c.network_id == network_id)
    subnets = select(_subnet.c.id).where(_subnet.c.network_id == network_id)
    members = select(_member.c.load_balancer_id).where(_member.c.subnet_id.in_(subnets))
    return here.where(
        _load_balancer.c.id.in_(vips) | _load_balancer.c.id.in_(members.where(_member.c.load_balancer_id.in_(here)))
    )


def is_network_attached(connection: Connection, network_id: str) -> bool:
    """Whether any device is attached to the network, for a project's shard or for a group's common shard."""
    tables = _attached_network, schema.common_network
    found = (select(each.c.shard_id).where(each.c.network_id == network_id).limit(1) for each in tables)
    return any(connection.scalar(statement) is not None for statement in found)
