"""Facts read from the network service: networks, subnets, and hosts of members' ports."""

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import Connection, delete, exists, false, select, union, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.networking.attachment import KnownSubnet, NetworkToReread
from evenkeel.core.networking.networks import TUNNELS, MemberHost
from evenkeel.core.resources.model import Subnet
from evenkeel.store.engine.clock import db_now, is_past
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.engine.statements import insert_all_if_absent
from evenkeel.store.networks.common import raise_revisions_for_changed_facts
from evenkeel.store.networks.declared import raise_revisions_on_network, replace_network_facts
from evenkeel.store.networks.network_attachment import read_known_subnets
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.rows import NETWORK_COLUMNS, network_from_row, row_from_network, row_from_subnet

_network, _subnet = schema.network, schema.subnet
_attached_network, _member, _member_host = schema.attached_network, schema.member, schema.member_host


CHANGE_DELAY_SECONDS = 5.0
NEVER_CHECKED_AT = 0.0

# -- networks and subnets


def store_network_facts(
    connection: Connection, found: Iterable[KnownSubnet], options: StoreOptions
) -> tuple[Change, ...]:
    """Store subnets and networks that were read from the network service; return the changes of load
    balancers on networks whose facts changed. Subnets without a network are ignored. Raises
    ``IntegrityError`` if another process stores one of them meanwhile.
    """
    facts = {each.subnet.id: each for each in found if each.network is not None}
    networks = {each.network.id: each.network for each in facts.values() if each.network is not None}
    known = {
        row.id: network_from_row(row)
        for row in connection.execute(select(*NETWORK_COLUMNS).where(is_in_list(_network.c.id, networks)))
    }
    changed = _store_subnets(connection, [each.subnet for each in facts.values()])
    changes: list[Change] = []
    insert_rows(
        connection, _network, [row_from_network(networks[id_]) for id_ in sorted(networks.keys() - known.keys())]
    )
    for id_ in sorted(networks.keys() & known.keys()):
        if known[id_] != networks[id_]:
            changes += replace_network_facts(connection, networks[id_], options)
        elif id_ in changed:
            changes += raise_revisions_on_network(connection, id_, options)
    # Unchanged networks as well: the interval counts from the last read, not from the last change.
    connection.execute(update(_network).where(is_in_list(_network.c.id, networks)).values(read_at=db_now()))
    return tuple(changes)


def _store_subnets(connection: Connection, subnets: Iterable[Subnet]) -> set[str]:
    """Store subnets that were read; return the ids of the networks of subnets whose facts changed."""
    facts = {each.id: each for each in subnets}
    known = read_known_subnets(connection, facts)
    insert_rows(connection, _subnet, [row_from_subnet(each) for id_, each in facts.items() if id_ not in known])
    changed = set()
    for id_, each in facts.items():
        if id_ in known and known[id_].subnet != each:
            connection.execute(update(_subnet).where(_subnet.c.id == id_).values(**row_from_subnet(each)))
            changed.add(each.network_id)
    return changed


def take_due_network_facts(connection: Connection, older_seconds: float, limit: int) -> tuple[NetworkToReread, ...]:
    """Return at most ``limit`` networks, sorted by id, that were read more than ``older_seconds`` ago; no
    other process gets them meanwhile. Of the networks found, those to which no device is attached are
    deleted.
    """
    old = is_past(_network.c.read_at, ago_seconds=older_seconds)
    statement = select(_network.c.id, _network.c.read_at).where(old).order_by(_network.c.read_at).limit(limit)
    ids = []
    for row in connection.execute(statement).fetchall():
        # Compare-and-set on the time: of several controllers one reads the network.
        unchanged = _network.c.id == row.id, _network.c.read_at == row.read_at
        if connection.execute(update(_network).where(*unchanged).values(read_at=db_now())).rowcount:
            ids.append(row.id)
    columns = _attached_network.c.network_id, schema.common_network.c.network_id
    used = {id_ for each in columns for id_ in connection.scalars(select(each).where(is_in_list(each, ids)).distinct())}
    _delete_networks(connection, [id_ for id_ in ids if id_ not in used])
    return _networks_to_reread(connection, sorted(used))


def make_network_facts_due_for_agent(connection: Connection, agent_id: AgentId, network_ids: Collection[str]) -> None:
    """Make networks to which devices of the agent's group are attached due to be read again, because the agent noticed
    a change.

    Recently read networks are left out, so that agents cannot cause constant reads.
    """
    agent, shard = schema.agent, schema.shard
    of_group = (
        select(_attached_network.c.network_id)
        .join(shard, shard.c.id == _attached_network.c.shard_id)
        .join(agent, (agent.c.environment == shard.c.environment) & (agent.c.group_number == shard.c.group_number))
        .where(agent.c.id == agent_id)
    )
    not_now = is_past(_network.c.read_at, ago_seconds=CHANGE_DELAY_SECONDS)
    these = is_in_list(_network.c.id, network_ids), _network.c.id.in_(of_group), not_now
    connection.execute(update(_network).where(*these).values(read_at=NEVER_CHECKED_AT))


def make_network_facts_due(connection: Connection, network_ids: Collection[str]) -> None:
    """Make networks due to be read again soon."""
    connection.execute(update(_network).where(is_in_list(_network.c.id, network_ids)).values(read_at=NEVER_CHECKED_AT))


def record_unanswered_hosts(connection: Connection, members: Mapping[str, Collection[str]]) -> None:
    """Record that the network service did not answer on which hosts members are (``members``: addresses by network id),
    and make these networks due to be read again.

    Load balancers are served without these hosts. The process that reads the hosts first records a change.
    """
    rows = [
        {"network_id": network_id, "address": address, "mac_address": "", "vtep": ""}
        for network_id, addresses in sorted(members.items())
        for address in sorted(addresses)
    ]
    # An empty row makes the first answer a change, so that load balancers served without it are applied again.
    insert_all_if_absent(connection, _member_host, rows)
    make_network_facts_due(connection, members)


def _delete_networks(connection: Connection, network_ids: Collection[str]) -> None:
    for column in (_member_host.c.network_id, _subnet.c.network_id, _network.c.id):
        connection.execute(delete(column.table).where(is_in_list(column, network_ids)))


def _networks_to_reread(connection: Connection, network_ids: Collection[str]) -> tuple[NetworkToReread, ...]:
    """Return the given networks, in order, each with its subnets and the members whose hosts devices need.
    Stored hosts of deleted members are removed first, which raises the revisions of their networks.
    """
    here = select(_subnet.c.id).where(_subnet.c.network_id == _member_host.c.network_id)
    of_member = exists().where(_member.c.address == _member_host.c.address, _member.c.subnet_id.in_(here))
    gone = is_in_list(_member_host.c.network_id, network_ids), ~of_member
    for id_ in set(connection.scalars(select(_member_host.c.network_id).where(*gone).distinct())):
        connection.execute(delete(_member_host).where(*gone, _member_host.c.network_id == id_))
        raise_revisions_for_changed_facts(connection, id_, needed=False)
    subnets: dict[str, list[str]] = {}
    for row in connection.execute(
        select(_subnet.c.network_id, _subnet.c.id).where(is_in_list(_subnet.c.network_id, network_ids))
    ):
        subnets.setdefault(row.network_id, []).append(row.id)
    members = _member_addresses(connection, network_ids)
    return tuple(
        NetworkToReread(
            network_id=id_, subnets=frozenset(subnets.get(id_, ())), members=frozenset(members.get(id_, ()))
        )
        for id_ in network_ids
    )


def _member_addresses(connection: Connection, network_ids: Collection[str]) -> dict[str, list[str]]:
    """Return {network id: addresses of its members that devices reach by tunnel}, also of members whose hosts are not
    known yet.
    """
    of_tunnel = _network.c.from_service, is_in_list(_network.c.network_type, [each.value for each in TUNNELS])
    named = (
        select(_subnet.c.network_id, _member.c.address)
        .join(_subnet, _subnet.c.id == _member.c.subnet_id)
        .join(_network, _network.c.id == _subnet.c.network_id)
        .where(*of_tunnel, _member.c.deleted == false(), is_in_list(_subnet.c.network_id, network_ids))
    )
    known = select(_member_host.c.network_id, _member_host.c.address).where(
        is_in_list(_member_host.c.network_id, network_ids)
    )
    found: dict[str, list[str]] = {}
    for row in connection.execute(union(named, known)):
        found.setdefault(row.network_id, []).append(row.address)
    return found


# -- hosts of members


def read_member_hosts(
    connection: Connection, members: Collection[tuple[str, str]]
) -> dict[tuple[str, str], MemberHost]:
    """Return {(network id, member address): host} for members that were queried before; one query, none without
    members.
    """
    if not members:
        return {}
    rows = connection.execute(
        select(
            _member_host.c.network_id, _member_host.c.address, _member_host.c.mac_address, _member_host.c.vtep
        ).where(
            is_in_list(_member_host.c.network_id, {id_ for id_, _ in members}),
            is_in_list(_member_host.c.address, {address for _, address in members}),
        )
    )
    return {
        (row.network_id, row.address): MemberHost(address=row.address, mac_address=row.mac_address, vtep=row.vtep)
        for row in rows
    }


def store_member_hosts(
    connection: Connection, network_id: str, hosts: Mapping[str, MemberHost], options: StoreOptions, *, late: bool
) -> tuple[Change, ...]:
    """Store the hosts of members' ports (``hosts``: {member address: host}); return the changes of load
    balancers if a stored port has moved. ``late``: return them also if a host was found that was unknown
    before. Raises ``IntegrityError`` if another process stores one of them meanwhile.
    """
    known = {
        address: host
        for (_, address), host in read_member_hosts(connection, [(network_id, one) for one in hosts]).items()
    }
    rows = {
        address: {"network_id": network_id, "address": address, "mac_address": host.mac_address, "vtep": host.vtep}
        for address, host in sorted(hosts.items())
    }
    new = rows.keys() - known.keys()
    insert_rows(connection, _member_host, [rows[address] for address in sorted(new)])
    if new:
        raise_revisions_for_changed_facts(connection, network_id, needed=False)
    moved = [address for address in rows if address in known and known[address] != hosts[address]]
    for address in moved:
        is_it = _member_host.c.network_id == network_id, _member_host.c.address == address
        connection.execute(update(_member_host).where(*is_it).values(**rows[address]))
    found = late and any(hosts[address].mac_address for address in new)
    return raise_revisions_on_network(connection, network_id, options) if moved or found else ()
