"""Networks that projects share (*common* networks), as the device group's common shard has them.

The *common shard* of a device group belongs to no project: its owner makes the shared objects on the devices
and observes the group. A common network is to that shard what a load balancer is to a tenant's: it has a
revision that grows with each change of its configuration on the devices, and the revision that they have
confirmed. Users are not counted, but queried whenever a shard stops using something: the addresses of a
subnet without users are marked as leaving, with the first revision that lacks them, and released once the
devices have confirmed that revision. A network without users goes in the same way.

A tenant's shard stores the revision that contains what it needs, so that changes for others do not delay it.
All of this happens with the allocations of the device group locked, except for the new revision of a network
whose facts changed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import structlog
from msgspec.structs import replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    and_,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    update,
)

from evenkeel.core.kit.ids import COMMON_PROJECT, ShardId
from evenkeel.core.networking.attachment import (
    AttachedNetworks,
    CommonNetwork,
    DevicePort,
    KnownSubnet,
    WantedAddress,
    check_no_overlap,
    wanted_common_addresses,
)
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.networks.device_addresses import (
    allocate_device_addresses,
    device_address_port,
    read_device_addresses,
)
from evenkeel.store.networks.shard_locations import ShardLocation
from evenkeel.store.records import schema

log = structlog.get_logger(__name__)

_common_network = schema.common_network
_attached_network = schema.attached_network
_device_address = schema.device_address
_shard = schema.shard
_load_balancer, _vip_address, _member, _subnet = schema.load_balancer, schema.vip_address, schema.member, schema.subnet

SharedNetwork = tuple[ShardId, str]
"""Id of a device group's common shard, and id of one of the common shard's networks."""


def find_common_shard(connection: Connection, shard_id: ShardId) -> ShardId | None:
    """Return the id of the common shard of the shard's device group; None before the group's first agent registered."""
    other = _shard.alias()
    return connection.scalar(
        select(_shard.c.id)
        .join(other, _is_same_group(other))
        .where(other.c.id == shard_id, _shard.c.project_id == COMMON_PROJECT)
    )


def _is_same_group(other: FromClause, shard: FromClause = _shard) -> ColumnElement[bool]:
    return and_(shard.c.environment == other.c.environment, shard.c.group_number == other.c.group_number)


# -- what a shard has of them


def add_common_networks(
    connection: Connection, location: ShardLocation, attached: AttachedNetworks, networks: Collection[str]
) -> AttachedNetworks:
    """Return ``attached`` with the state of these common networks on the shard's devices; two queries, none without
    networks.
    """
    if not networks:
        return attached
    here = (
        select(_shard.c.id)
        .where(
            _shard.c.environment == location.environment,
            _shard.c.group_number == location.group_number,
            _shard.c.project_id == COMMON_PROJECT,
        )
        .scalar_subquery()
    )
    states = connection.execute(
        select(
            _common_network.c.network_id,
            _common_network.c.revision,
            _common_network.c.applied_revision,
            _common_network.c.reason,
        ).where(_common_network.c.shard_id == here, is_in_list(_common_network.c.network_id, networks))
    )
    return replace(
        attached,
        common={
            row.network_id: CommonNetwork(
                revision=row.revision, applied_revision=row.applied_revision, reason=row.reason
            )
            for row in states
        },
        common_addresses=read_device_addresses(
            connection, _device_address.c.shard_id == here, is_in_list(_device_address.c.network_id, networks)
        ),
    )


# -- allocation


def attach_common_subnets(
    connection: Connection, location: ShardLocation, subnets: Sequence[KnownSubnet]
) -> Iterator[DevicePort]:
    """Allocate the addresses that a tenant's shard needs in subnets of common networks; yield the ports to
    create, where devices' addresses belong to ports. Nothing happens before the group has a common shard.
    Raises :class:`NetworkNotAttachable` for overlapping subnets or too few free addresses.
    """
    if not subnets:
        return
    shard_id = find_common_shard(connection, location.shard_id)
    if shard_id is None:
        return
    for network_id in sorted({each.subnet.network_id for each in subnets}):
        theirs = [each for each in subnets if each.subnet.network_id == network_id]
        changed = _store_network_use(connection, location, shard_id, network_id, theirs)
        # Called in any case: "or" in the other order would skip it.
        changed = _cancel_address_removal(connection, shard_id, theirs) or changed
        for each, lacking in _subnets_lacking_addresses(connection, location, shard_id, theirs):
            if each.from_service:
                yield from (device_address_port(location, each, *one, common=True) for one in lacking)
            else:
                allocate_device_addresses(connection, shard_id, each, lacking)
                changed = True
        record_needed_revision(connection, shard_id, location.shard_id, network_id, changed=changed)


def _store_network_use(
    connection: Connection, location: ShardLocation, shard_id: ShardId, network_id: str, subnets: Sequence[KnownSubnet]
) -> bool:
    """Record that a tenant's shard uses the common network. True: the common shard does not have the network
    yet. Raises :class:`NetworkNotAttachable` if its subnets overlap with others of the common shard.
    """
    mine = {"shard_id": location.shard_id, "network_id": network_id}
    is_mine = [_attached_network.c[name] == value for name, value in mine.items()]
    number = connection.scalar(select(_attached_network.c.route_domain).where(*is_mine))
    if number is None:
        insert_rows(connection, _attached_network, [{**mine, "route_domain": COMMON_ROUTE_DOMAIN}])
    elif number != COMMON_ROUTE_DOMAIN:  # it was the project's alone
        connection.execute(update(_attached_network).where(*is_mine).values(route_domain=COMMON_ROUTE_DOMAIN))
        # Its own addresses are given up; the common shard gets others for all projects.
        old = _device_address.c.shard_id == location.shard_id, _device_address.c.network_id == network_id
        connection.execute(delete(_device_address).where(*old))
    _check_overlaps(connection, shard_id, subnets)
    known = select(_common_network.c.revision).where(
        _common_network.c.shard_id == shard_id, _common_network.c.network_id == network_id
    )
    if connection.scalar(known) is not None:
        return False
    row = {"shard_id": shard_id, "network_id": network_id, "revision": 0, "applied_revision": 0, "reason": ""}
    insert_rows(connection, _common_network, [row])
    log.info("shared network required", shard=shard_id, network=network_id)
    return True


def _check_overlaps(connection: Connection, shard_id: ShardId, subnets: Sequence[KnownSubnet]) -> None:
    """Check that new subnets of the common shard do not overlap with its other subnets. Raises
    :class:`NetworkNotAttachable` if they do.
    """
    ids = [each.subnet.id for each in subnets]
    there = (
        _device_address.c.shard_id == shard_id,
        is_in_list(_device_address.c.subnet_id, ids),
        _device_address.c.leaving_revision.is_(None),
    )
    has = set(connection.scalars(select(_device_address.c.subnet_id).where(*there)))
    new = [each for each in subnets if each.subnet.id not in has]
    if not new:
        return
    others = (
        select(_subnet.c.cidr)
        .join(_device_address, _device_address.c.subnet_id == _subnet.c.id)
        .where(_device_address.c.shard_id == shard_id, ~is_in_list(_subnet.c.id, [each.subnet.id for each in new]))
        .distinct()
    )
    check_no_overlap(new, list(connection.scalars(others)))


def _cancel_address_removal(connection: Connection, shard_id: ShardId, subnets: Sequence[KnownSubnet]) -> bool:
    """Keep addresses of these subnets that were to leave the devices; return whether there were any."""
    ids = [each.subnet.id for each in subnets]
    left = (
        _device_address.c.shard_id == shard_id,
        is_in_list(_device_address.c.subnet_id, ids),
        _device_address.c.leaving_revision.is_not(None),
    )
    return connection.execute(update(_device_address).where(*left).values(leaving_revision=None)).rowcount > 0


def _subnets_lacking_addresses(
    connection: Connection, location: ShardLocation, shard_id: ShardId, subnets: Sequence[KnownSubnet]
) -> Iterator[tuple[KnownSubnet, list[WantedAddress]]]:
    ids = [each.subnet.id for each in subnets]
    has = read_device_addresses(
        connection, _device_address.c.shard_id == shard_id, is_in_list(_device_address.c.subnet_id, ids)
    )
    for each in subnets:
        there = {(one.use, one.owner, one.index) for one in has.get(each.subnet.id, ())}
        lacking = [one for one in wanted_common_addresses(location.layout) if one not in there]
        if lacking:
            yield each, lacking


def record_needed_revision(
    connection: Connection, shard_id: ShardId, user: ShardId, network_id: str, *, changed: bool
) -> None:
    """Record that the tenant's shard ``user`` needs the current revision of a common network.

    ``changed``: the network has changed since its last revision, so it gets a new one first.
    """
    is_it = _common_network.c.shard_id == shard_id, _common_network.c.network_id == network_id
    if changed:
        _raise_network_revisions(connection, *is_it)
    revision = select(_common_network.c.revision).where(*is_it).scalar_subquery()
    connection.execute(
        update(_attached_network)
        .where(_attached_network.c.shard_id == user, _attached_network.c.network_id == network_id)
        .values(needed_revision=func.coalesce(revision, 0))
    )


def _raise_network_revisions(connection: Connection, *which: ColumnElement[bool]) -> None:
    changes = {"revision": _common_network.c.revision + 1, "reason": ""}
    connection.execute(update(_common_network).where(*which).values(**changes))


def raise_revisions_for_changed_facts(connection: Connection, network_id: str, *, needed: bool) -> None:
    """Give a network with changed facts a new revision in every device group that has it, so that the devices
    get the facts.

    ``needed``: load balancers on the network wait until their devices have confirmed that revision.
    """
    _raise_network_revisions(connection, _common_network.c.network_id == network_id)
    if not needed:
        return
    user = _shard.alias()
    revision = (
        select(_common_network.c.revision)
        .join(_shard, _shard.c.id == _common_network.c.shard_id)
        .join(user, _is_same_group(user))
        .where(_common_network.c.network_id == network_id, user.c.id == _attached_network.c.shard_id)
        .scalar_subquery()
    )
    connection.execute(
        update(_attached_network)
        .where(_attached_network.c.network_id == network_id)
        .values(needed_revision=func.coalesce(revision, _attached_network.c.needed_revision))
    )


# -- release


def read_common_networks_of_shard(connection: Connection, shard_id: ShardId) -> tuple[SharedNetwork, ...]:
    """Return the common networks to which the tenant's shard is attached, even if no load balancer uses them
    any more. One query.
    """
    user = _shard.alias()
    rows = connection.execute(
        select(_common_network.c.shard_id, _common_network.c.network_id)
        .join(_shard, _shard.c.id == _common_network.c.shard_id)
        .join(user, _is_same_group(user))
        .join(
            _attached_network,
            and_(
                _attached_network.c.shard_id == user.c.id,
                _attached_network.c.network_id == _common_network.c.network_id,
            ),
        )
        .where(user.c.id == shard_id)
    )
    return tuple((row.shard_id, row.network_id) for row in rows)


def mark_unused_subnets_leaving(connection: Connection, networks: Collection[SharedNetwork]) -> None:
    """Mark the subnets of these networks that no load balancer uses any more as leaving the devices, with new
    revisions of the networks.
    """
    for shard_id, network_id in networks:
        here = _device_address.c.shard_id == shard_id, _device_address.c.network_id == network_id
        staying = *here, _device_address.c.leaving_revision.is_(None)
        subnets = list(
            connection.scalars(
                select(_device_address.c.subnet_id).where(*staying, ~_is_subnet_used(_device_address)).distinct()
            )
        )
        is_it = _common_network.c.shard_id == shard_id, _common_network.c.network_id == network_id
        if not subnets:  # perhaps its ports were never made
            # A network without addresses and users gets a last revision, whose confirmation removes its row.
            unmade = ~exists().where(*here), ~_is_attached_in_group(shard_id, network_id)
            _raise_network_revisions(
                connection, *is_it, *unmade, _common_network.c.revision == _common_network.c.applied_revision
            )
            continue
        _raise_network_revisions(connection, *is_it)
        revision = select(_common_network.c.revision).where(*is_it).scalar_subquery()
        connection.execute(
            update(_device_address)
            .where(*staying, is_in_list(_device_address.c.subnet_id, subnets))
            .values(leaving_revision=revision)
        )
        log.info("shared network no longer required", shard=shard_id, network=network_id, subnets=subnets)


def _is_subnet_used(addresses: FromClause) -> ColumnElement[bool]:
    """Return the SQL condition that a load balancer of the group, even one being deleted, uses the subnet of an address
    of the common shard.
    """
    user, mine = _shard.alias(), _shard.alias()
    in_group = (
        select(literal(1))
        .select_from(user)
        .join(mine, _is_same_group(mine, user))
        .join(_load_balancer, _is_held_on_devices(user))
        .where(mine.c.id == addresses.c.shard_id)
    )
    uses = (
        in_group.join(each, each.c.load_balancer_id == _load_balancer.c.id).where(
            each.c.subnet_id == addresses.c.subnet_id
        )
        for each in (_vip_address, _member)
    )
    return or_(*(each.correlate(addresses).exists() for each in uses))


def _is_held_on_devices(user: FromClause) -> ColumnElement[bool]:
    """Return the SQL condition that the devices of the shard ``user`` hold the load balancer: the shard owns
    it, or has a copy because it moves.
    """
    move = schema.load_balancer_move
    copy = exists().where(move.c.load_balancer_id == _load_balancer.c.id, move.c.standby_shard_id == user.c.id)
    return or_(_load_balancer.c.shard_id == user.c.id, copy)


def _is_attached_in_group(shard_id: ShardId, network_id: str) -> ColumnElement[bool]:
    user, mine = _shard.alias(), _shard.alias()
    return (
        select(literal(1))
        .select_from(_attached_network)
        .join(user, user.c.id == _attached_network.c.shard_id)
        .join(mine, _is_same_group(mine, user))
        .where(mine.c.id == shard_id, _attached_network.c.network_id == network_id)
        .exists()
    )


def find_unused_common_networks(connection: Connection, limit: int) -> tuple[SharedNetwork, ...]:
    """Return at most ``limit`` common networks with a configured subnet that no load balancer uses.

    Either a process died before it marked the subnet as leaving, or the last user went before the devices had
    what it needed.
    """
    there = (
        select(_device_address.c.shard_id, _device_address.c.network_id, _device_address.c.subnet_id)
        .join(
            _common_network,
            and_(
                _common_network.c.shard_id == _device_address.c.shard_id,
                _common_network.c.network_id == _device_address.c.network_id,
            ),
        )
        .where(_device_address.c.leaving_revision.is_(None))
        .distinct()
        .subquery()
    )
    unused = select(there.c.shard_id, there.c.network_id).where(~_is_subnet_used(there)).distinct().limit(limit)
    return tuple((row.shard_id, row.network_id) for row in connection.execute(unused))


def record_confirmed_network_revisions(
    connection: Connection, shard_id: ShardId, applied: Mapping[str, int]
) -> set[str]:
    """Record the revisions that devices confirmed (``applied``: {network id: revision}), release addresses
    that these revisions do not contain any more, and delete networks that are then unused. Return the
    networks whose confirmed revision changed.
    """
    news = set()
    for network_id, revision in sorted(applied.items()):
        is_it = _common_network.c.shard_id == shard_id, _common_network.c.network_id == network_id
        # Reports may arrive out of order, or from before commits were lost.
        is_news = _common_network.c.applied_revision < revision, _common_network.c.revision >= revision
        if connection.execute(
            update(_common_network).where(*is_it, *is_news).values(applied_revision=revision, reason="")
        ).rowcount:
            news.add(network_id)
        here = _device_address.c.shard_id == shard_id, _device_address.c.network_id == network_id
        # Only a confirmed revision without the subnet proves that no device has the addresses any more.
        connection.execute(delete(_device_address).where(*here, _device_address.c.leaving_revision <= revision))
        done = _common_network.c.applied_revision == _common_network.c.revision
        unused = ~exists().where(*here), ~_is_attached_in_group(shard_id, network_id)
        if connection.execute(delete(_common_network).where(*is_it, done, *unused)).rowcount:
            log.info("shared network removed", shard=shard_id, network=network_id)
    return news


def record_refused_network_revisions(
    connection: Connection, shard_id: ShardId, reasons: Mapping[str, tuple[int, str]]
) -> set[str]:
    """Record the revisions that devices refused (``reasons``: {network id: (revision, reason)}). Return the networks
    whose reason changed.
    """
    news = set()
    for network_id, (revision, reason) in sorted(reasons.items()):
        is_it = _common_network.c.shard_id == shard_id, _common_network.c.network_id == network_id
        is_news = (
            _common_network.c.applied_revision < revision,
            _common_network.c.revision == revision,
            _common_network.c.reason != reason,
        )
        if connection.execute(update(_common_network).where(*is_it, *is_news).values(reason=reason)).rowcount:
            news.add(network_id)
    return news
