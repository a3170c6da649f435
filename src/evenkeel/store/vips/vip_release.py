"""VIPs that are released before their load balancer is deleted: VIPs of LBaaS v1 vips.

A load balancer created for a pool of LBaaS v1 releases its VIP with its last listener. The address and its port stay
allocated until the device has confirmed that revision: until then it may still listen there.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, exists, false, null, select, update

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.store.networks.claims import release_claims_of_vips
from evenkeel.store.records import schema
from evenkeel.store.records.rows import NO_NETWORK_ID
from evenkeel.store.vips.addresses import release_addresses
from evenkeel.store.writing.revision_lock import LockedLoadBalancer

_load_balancer = schema.load_balancer
_HAS_WANTED_ID = _load_balancer.c.id == bindparam("b_id")

_CLEAR_VIP = (
    update(_load_balancer)
    .where(_HAS_WANTED_ID)
    .values(
        # The column takes no NULL and is unique with the network: no other load balancer can have this id as an
        # address.
        vip_address=bindparam("b_id"),
        vip_subnet_id="",
        vip_network_id=NO_NETWORK_ID,
        vip_port_id="",
        vip_leaving_revision=null(),
    )
)


def remove_released_vips(connection: Connection, load_balancer_ids: Sequence[LoadBalancerId]) -> None:
    """Remove the VIPs of these load balancers, which devices have released, and release their addresses and
    ports. Four statements, none without load balancers.
    """
    if not load_balancer_ids:
        return
    connection.execute(_CLEAR_VIP, [{"b_id": id_} for id_ in load_balancer_ids])
    # Only now may another load balancer have the addresses: the device listens there no longer, or never did.
    release_addresses(connection, load_balancer_ids)
    release_claims_of_vips(connection, load_balancer_ids)


_SET_VIP_LEAVING_REVISION = (
    update(_load_balancer)
    .where(
        _HAS_WANTED_ID,
        _load_balancer.c.vip_leaving_revision.is_(None),
        _load_balancer.c.vip_network_id != NO_NETWORK_ID,
    )
    .values(vip_leaving_revision=bindparam("b_revision"))
)
_live_listener = exists().where(
    schema.listener.c.load_balancer_id == bindparam("b_id"), schema.listener.c.deleted == false()
)


def begin_vip_release(connection: Connection, locked: LockedLoadBalancer) -> None:
    """Begin to release the VIP if the deleted listener was the last one of a load balancer created for an
    LBaaS v1 pool; release it at once if the load balancer was never placed.
    """
    if locked.row.root_pool_id is None or connection.scalar(select(_live_listener), {"b_id": locked.id}):
        return
    if not locked.placed:  # no device has it
        remove_released_vips(connection, [locked.id])
    else:
        connection.execute(_SET_VIP_LEAVING_REVISION, {"b_id": locked.id, "b_revision": locked.revision})


def check_has_vip(locked: LockedLoadBalancer) -> None:
    """Check that the load balancer has a VIP that is not being released. Raises :class:`Conflict` if it has
    none.
    """
    if locked.row.vip_network_id == NO_NETWORK_ID or locked.row.vip_leaving_revision is not None:
        raise Conflict(
            f"Load Balancer {locked.id} was made for pool {locked.row.root_pool_id} of LBaaS v1 and has no VIP:"
            " a vip of that pool brings one.",
            code="no_vip",
        )
