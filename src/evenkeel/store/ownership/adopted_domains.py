"""Route domain numbers of an adopted partition: a shard's networks get the numbers of the route domains in
which another program has these networks.

Another shard that has one of the numbers, and was never served in it, gets another number.
"""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, delete, select, update

from evenkeel.core.devices.adoption import SEVERAL_ROUTE_DOMAINS
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.attachment import (
    KnownSubnet,
    NetworkNotAttachable,
    route_domain_without_overlap,
    uses_only_common_route_domain,
)
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN
from evenkeel.core.protocol.messages import AdoptNetworks
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.networks.common import read_common_networks_of_shard
from evenkeel.store.networks.network_attachment import free_route_domain, read_attachments
from evenkeel.store.networks.shard_locations import ShardLocation
from evenkeel.store.records import schema
from evenkeel.store.records.rows import SUBNET_COLUMNS, subnet_from_row

_attached_network, _route_domain, _shard, _load_balancer = (
    schema.attached_network,
    schema.route_domain,
    schema.shard,
    schema.load_balancer,
)


class RouteDomainsToAdopt(Value):
    """Route domain numbers of a shard's networks, {network id: number}: before an adoption (``now``) and
    after it (``wanted``).
    """

    location: ShardLocation
    now: Mapping[str, int]
    wanted: Mapping[str, int]
    holders: Mapping[int, ShardId]
    """{wanted number: other shard that has the number now}; numbers that no other shard has are missing."""
    reported: Mapping[str, int]
    """{network id: wanted number} if the adopted partition has several route domains, else empty."""

    @classmethod
    def from_call(cls, connection: Connection, location: ShardLocation, call: AdoptNetworks) -> "RouteDomainsToAdopt":
        """Return the numbers that a call requests. The caller has locked the device group's allocations.
        Raises :class:`Conflict`, with the reason for the operator, unless the shard may have the numbers.
        """
        several = call.route_domain == SEVERAL_ROUTE_DOMAINS
        now = _present_numbers(connection, location, call.route_domain)
        if several:
            wanted = _wanted_numbers(connection, location, now, call.route_domains)
        else:
            wanted = dict.fromkeys(now, call.route_domain)
        holders = _checked_holders(connection, location, now, wanted)
        return cls(location=location, now=now, wanted=wanted, holders=holders, reported=wanted if several else {})

    @property
    def numbers_text(self) -> str:
        """Wanted route domain numbers for messages: ascending, without repetitions, separated by commas."""
        return _numbers_text(self.wanted.values())

    def store_numbers(self, connection: Connection) -> None:
        """Assign the wanted numbers to the shard. Other shards that had one of these numbers get a number
        that this shard had, or a free one. No statement if nothing changes. Raises :class:`Conflict` if no
        number is free.

        No device has used these assignments yet: in this shard's partition the devices have the wanted
        numbers already.
        """
        if self.now == self.wanted:
            return
        mine, before = set(self.wanted.values()), set(self.now.values())
        left = iter(sorted(before - mine))
        for each in sorted(mine | before):
            connection.execute(delete(_route_domain).where(*_is_route_domain(self.location, each)))
        self._insert_numbers(connection, dict.fromkeys(mine, self.location.shard_id))
        for number, holder in sorted(self.holders.items()):
            other = next(left, None) or _free_route_domain_number(connection, self.location)
            self._insert_numbers(connection, {other: holder})
            is_holders = _attached_network.c.shard_id == holder, _attached_network.c.route_domain == number
            connection.execute(update(_attached_network).where(*is_holders).values(route_domain=other))
        for number in sorted(mine):
            ids = [id_ for id_, wanted in self.wanted.items() if wanted == number]
            is_mine = (
                _attached_network.c.shard_id == self.location.shard_id,
                is_in_list(_attached_network.c.network_id, ids),
            )
            connection.execute(update(_attached_network).where(*is_mine).values(route_domain=number))

    def _insert_numbers(self, connection: Connection, owners: Mapping[int, ShardId]) -> None:
        group = {"environment": self.location.environment, "group_number": self.location.group_number}
        insert_rows(
            connection, _route_domain, [{**group, "number": each, "shard_id": id_} for each, id_ in owners.items()]
        )


def _numbers_text(numbers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(set(numbers))))


def _present_numbers(connection: Connection, location: ShardLocation, wanted: int) -> dict[str, int]:
    """Return {network id: current route domain number} of the shard. Raises :class:`Conflict` if the shard's
    networks cannot be those of a partition with the route domain ``wanted``.
    """
    if shared := sorted(network_id for _, network_id in read_common_networks_of_shard(connection, location.shard_id)):
        raise Conflict(
            f"load balancers of project {location.project_id} are on networks that projects share, whose objects in"
            f" /Common cannot be adopted: {', '.join(shared)}"
        )
    if uses_only_common_route_domain(location.layout) != (wanted == COMMON_ROUTE_DOMAIN):
        raise Conflict(f"route domain {wanted}: use_namespaces says otherwise; it has to be as it was for that program")
    numbers = dict(read_attachments(connection, location.shard_id).route_domains)
    if not numbers:
        raise Conflict(
            f"no load balancer of project {location.project_id} is attached to a network yet: its status_reason says"
            " why"
        )
    if len(set(numbers.values())) > 1 and wanted != SEVERAL_ROUTE_DOMAINS:
        raise Conflict(
            f"project {location.project_id} has route domains {_numbers_text(numbers.values())} here;"
            " only one can be adopted"
        )
    return numbers


def _wanted_numbers(
    connection: Connection, location: ShardLocation, now: Mapping[str, int], found: Mapping[str, int]
) -> dict[str, int]:
    """Return {network id: route domain number}: the ``found`` numbers, and numbers for the shard's other
    networks. Networks that are in one route domain ``now`` stay in one. Raises :class:`Conflict` if no
    number fits or is free.
    """
    wanted = {id_: found[id_] for id_ in now if id_ in found}
    subnets = _known_subnets(connection, now)
    taken = set(wanted.values())
    together: dict[int, list[str]] = {}
    for id_, number in now.items():
        if id_ not in wanted:
            together.setdefault(number, []).append(id_)
    if _is_served(connection, location.shard_id):
        # Repeated after a crash: devices may have them by now, and their numbers stay.
        wanted |= {id_: number for number, ids in together.items() if number not in taken for id_ in ids}
        together = {number: ids for number, ids in together.items() if number in taken}
    for number, ids in sorted(together.items()):
        # Its present number first: an adoption that is repeated finds the same.
        there: dict[int, list[str]] = {}
        for each in sorted(set(wanted.values()), key=lambda one: (one != number, one)):
            there[each] = [one.subnet.cidr for id_, some in subnets.items() if wanted.get(id_) == each for one in some]
        try:
            chosen = route_domain_without_overlap(
                [one for id_ in ids for one in subnets.get(id_, ())], there, location.layout
            )
        except NetworkNotAttachable as reason:
            raise Conflict(str(reason)) from reason
        if chosen is None:
            chosen = number if number not in there else _free_route_domain_number(connection, location, there)
        wanted |= dict.fromkeys(ids, chosen)
    return wanted


def _known_subnets(connection: Connection, network_ids: Collection[str]) -> dict[str, Sequence[KnownSubnet]]:
    found: dict[str, list[KnownSubnet]] = {}
    statement = select(*SUBNET_COLUMNS).where(is_in_list(schema.subnet.c.network_id, network_ids))
    for row in connection.execute(statement):
        one = KnownSubnet(subnet=subnet_from_row(row), network=None)
        found.setdefault(one.subnet.network_id, []).append(one)
    return dict(found)


def _free_route_domain_number(connection: Connection, location: ShardLocation, excluded: Collection[int] = ()) -> int:
    try:
        return free_route_domain(connection, location, excluded)
    except NetworkNotAttachable as reason:
        raise Conflict(str(reason)) from reason


def _checked_holders(
    connection: Connection, location: ShardLocation, now: Mapping[str, int], wanted: Mapping[str, int]
) -> dict[int, ShardId]:
    """Return {wanted route domain number: other shard that has the number now}; numbers that no other shard
    has are missing. Raises :class:`Conflict` if numbers change and load balancers of this shard or of one
    of the others are served in their route domains.
    """
    moved = sorted(id_ for id_ in now if now[id_] != wanted[id_])
    if not moved:
        return {}
    if _is_served(connection, location.shard_id):
        raise Conflict(
            f"load balancers of project {location.project_id} are served in route domain"
            f" {_numbers_text([now[id_] for id_ in moved])} already; that of the partition is"
            f" {_numbers_text([wanted[id_] for id_ in moved])}"
        )
    here = _route_domain.c.environment == location.environment, _route_domain.c.group_number == location.group_number
    rows = connection.execute(
        select(_route_domain.c.number, _route_domain.c.shard_id, _shard.c.project_id)
        .join(_shard, _shard.c.id == _route_domain.c.shard_id, isouter=True)
        .where(
            *here,
            _route_domain.c.number.in_(sorted(set(wanted.values()))),
            _route_domain.c.shard_id != location.shard_id,
        )
        .order_by(_route_domain.c.number)
    ).all()
    for row in rows:
        if _is_served(connection, row.shard_id):
            raise Conflict(
                f"route domain {row.number} of device group {location.environment}/{location.group_number} is that of"
                f" project {row.project_id}, whose load balancers are served in it"
            )
    return {row.number: ShardId(row.shard_id) for row in rows}


def _is_route_domain(location: ShardLocation, number: int) -> tuple[ColumnElement[bool], ...]:
    return (
        _route_domain.c.environment == location.environment,
        _route_domain.c.group_number == location.group_number,
        _route_domain.c.number == number,
    )


def _is_served(connection: Connection, shard_id: ShardId) -> bool:
    """Whether the devices have had a load balancer of the shard."""
    applied = (
        select(_load_balancer.c.id)
        .where(_load_balancer.c.shard_id == shard_id, _load_balancer.c.applied_revision > 0)
        .limit(1)
    )
    return connection.scalar(applied) is not None
