"""The addresses that load balancers hold: a row for each, first VIPs and additional ones alike.

Nothing but its unique constraint on (network, address) decides who has an address: the addresses of one load balancer
stand in several columns, which no other constraint could compare with each other's. So whatever gives a load balancer
an address takes it here in the same transaction, and whatever takes one away gives it back here. With the load
balancer's row they go by themselves.

Controllers of the version before additional VIPs do not know this: what they make while an upgrade is under way is
written down when the next controller starts.
"""

from collections.abc import Iterable

import structlog
from sqlalchemy import Connection, bindparam, delete, exists, select

from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.model import Vip
from evenkeel.store.engine.in_list import in_bound_list, in_list
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema
from evenkeel.store.records.rows import NO_NETWORK
from evenkeel.store.writing.steps import insert_all

log = structlog.get_logger(__name__)

_root = schema.load_balancer
_held = schema.vip_address

HELD = select(_held.c.address).where(_held.c.network_id == bindparam("network_id"))
"""Addresses that are held on a network."""
HELD_OF_SOME = HELD.where(in_bound_list(_held.c.address, "some"))
"""Those of some that are."""


def take(connection: Connection, load_balancer_id: LoadBalancerId, vips: Iterable[Vip]) -> None:
    """One statement. Raises ``IntegrityError`` naming this table if another load balancer has one of the addresses."""
    rows = [
        {
            "load_balancer_id": load_balancer_id,
            "address": vip.address,
            "network_id": vip.network_id,
            "subnet_id": vip.subnet_id,
        }
        for vip in vips
    ]
    # in one order, so that two that want the same do not wait for each other
    insert_all(connection, _held, sorted(rows, key=lambda row: row["address"]))


def give_back(connection: Connection, load_balancer_ids: Iterable[LoadBalancerId]) -> None:
    """All that the load balancers hold: their devices have let go of them."""
    connection.execute(delete(_held).where(in_list(_held.c.load_balancer_id, load_balancer_ids)))


_UNWRITTEN = select(
    _root.c.id.label("load_balancer_id"),
    _root.c.vip_address.label("address"),
    _root.c.vip_network_id.label("network_id"),
    _root.c.vip_subnet_id.label("subnet_id"),
).where(
    _root.c.vip_network_id != NO_NETWORK,
    ~exists().where(_held.c.load_balancer_id == _root.c.id, _held.c.address == _root.c.vip_address),
)


def take_unwritten(connection: Connection) -> None:
    """Write down the VIPs that a controller of an earlier version gave. One query if there are none."""
    for row in connection.execute(_UNWRITTEN).fetchall():
        if not insert_if_absent(connection, _held, row._asdict()):
            log.warning("two load balancers have one address", **row._asdict())
