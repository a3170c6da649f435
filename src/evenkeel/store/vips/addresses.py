"""The allocated addresses of load balancers: a row for each VIP and additional VIP.

The table's unique constraint on (network, address) alone decides which load balancer has an address: a load
balancer's row has addresses in several columns, which no constraint can compare. So every allocation inserts
a row here in the same transaction, and every release removes the row. The rows of a load balancer are removed
with the load balancer.

Controllers of versions before additional VIPs do not write this table: addresses that they allocate during an
upgrade are added when the next controller starts.
"""

from collections.abc import Iterable

import structlog
from sqlalchemy import Connection, bindparam, delete, select

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import Vip
from evenkeel.store.engine.in_list import is_in_bound_list, is_in_list
from evenkeel.store.engine.inserting import TableRows
from evenkeel.store.records import schema

log = structlog.get_logger(__name__)

_load_balancer = schema.load_balancer
_vip_address = schema.vip_address

ALLOCATED_ADDRESSES = select(_vip_address.c.address).where(_vip_address.c.network_id == bindparam("network_id"))
"""Query of the allocated addresses of a network."""
ALLOCATED_AMONG_CANDIDATES = ALLOCATED_ADDRESSES.where(is_in_bound_list(_vip_address.c.address, "some"))
"""Query of those addresses in the bound list ``some`` that are allocated in a network."""


def address_rows(load_balancer_id: LoadBalancerId, vips: Iterable[Vip]) -> TableRows:
    """Return rows that allocate the addresses of a load balancer, sorted by address. Storing them raises
    ``IntegrityError`` naming this table if another load balancer has one of them.
    """
    rows = [
        {
            "load_balancer_id": load_balancer_id,
            "address": vip.address,
            "network_id": vip.network_id,
            "subnet_id": vip.subnet_id,
        }
        for vip in vips
    ]
    # in a fixed order, so that concurrent transactions do not deadlock
    return TableRows(_vip_address, sorted(rows, key=lambda row: row["address"]))


def release_addresses(connection: Connection, load_balancer_ids: Iterable[LoadBalancerId]) -> None:
    """Release all addresses of the load balancers, because their devices do not use them any more."""
    connection.execute(delete(_vip_address).where(is_in_list(_vip_address.c.load_balancer_id, load_balancer_ids)))
