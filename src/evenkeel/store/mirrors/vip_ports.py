"""Ports created for VIPs of another system's load balancers, while that system has not committed these yet.

A claim on such a port, once it is kept, is not due after the usual grace: the other system may have committed the load
balancer, and its writer may be away for longer. The writer names those that the other system does not have, and their
claims are abandoned. A load balancer that is put holds its claim like any other.
"""

from msgspec.structs import replace
from sqlalchemy import Connection, bindparam, exists, select, update

from evenkeel.core.control.mirrors import IDS_MAX, MirroredSourceState
from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.store.engine.clock import db_now
from evenkeel.store.mirrors.source_states import lock_source_state
from evenkeel.store.networks.claims import KEPT_SECONDS_MAX, NO_GRACE_SECONDS, claim_from_row
from evenkeel.store.records import schema

_vip_claim, _mirror = schema.vip_claim, schema.mirror
_IS_CLAIM_OF_ROOT = _vip_claim.c.load_balancer_id == bindparam("wanted_id")
_IS_UNUSED = _vip_claim.c.held_by.is_(None)


def store_vip_port(connection: Connection, load_balancer_id: LoadBalancerId, provider: str, port_id: str) -> None:
    """Store that a claimed port is kept for a load balancer of the provider, until that load balancer is
    stored or the port is given back.

    Raises :class:`NetworkUnavailable` if the port's deletion has begun, :class:`MirrorConflict` if the load
    balancer is another provider's, or has a newer snapshot because it was stored or deleted already.
    """
    lock_source_state(connection, load_balancer_id, MirroredSourceState(provider=provider, snapshot=0.0, digest=""))
    statement = (
        update(_vip_claim)
        # An attempt means that some controller may be deleting the port; NO_GRACE_SECONDS, that it was given back.
        .where(_vip_claim.c.load_balancer_id == load_balancer_id, _IS_UNUSED, _vip_claim.c.attempts == 0)
        .where(_vip_claim.c.due_at > NO_GRACE_SECONDS)
        .values(port_id=port_id, due_at=db_now() + KEPT_SECONDS_MAX)
    )
    if not connection.execute(statement).rowcount:
        raise NetworkUnavailable("the port is being deleted, because making it took too long")


_READ_UNUSED_PORTS = (
    select(_vip_claim.c.load_balancer_id)
    .join(_mirror, _mirror.c.load_balancer_id == _vip_claim.c.load_balancer_id)
    # neither given back nor being deleted already
    .where(
        _IS_UNUSED,
        _mirror.c.provider == bindparam("provider"),
        _mirror.c.removed_at.is_(None),
        _vip_claim.c.attempts == 0,
    )
    .where(_vip_claim.c.made_at < db_now() - bindparam("older", type_=_vip_claim.c.made_at.type))
    .order_by(_vip_claim.c.made_at)
    .limit(IDS_MAX)
)


def find_unused_ports(connection: Connection, provider: str, older_seconds: float) -> tuple[LoadBalancerId, ...]:
    """Return at most :data:`IDS_MAX` of the provider's load balancers whose ports were created more than
    ``older_seconds`` ago, and that were never stored, longest ago first. One query.
    """
    return tuple(connection.scalars(_READ_UNUSED_PORTS, {"provider": provider, "older": older_seconds}))


def make_port_deletion_due(connection: Connection, load_balancer_id: LoadBalancerId) -> None:
    """Make the port of a load balancer that is not stored due to be deleted; nothing happens if there is no such
    port.
    """
    mine = _vip_claim.c.load_balancer_id == load_balancer_id
    connection.execute(update(_vip_claim).where(mine, _IS_UNUSED).values(due_at=NO_GRACE_SECONDS))


_READ_CLAIM = select(_vip_claim).where(_IS_CLAIM_OF_ROOT).with_for_update()


def plan_with_created_port(connection: Connection, load_balancer_id: LoadBalancerId, plan: VipPlan) -> VipPlan:
    """Return the plan with the stored claim on the load balancer's port if that port was created here; else
    the plan unchanged. Part of the transaction that stores the load balancer; at most one query. Raises
    :class:`NetworkUnavailable` while another port that was created for the load balancer is being deleted.
    """
    row = None if plan.claim is None else connection.execute(_READ_CLAIM, {"wanted_id": load_balancer_id}).first()
    if row is None or not row.device_owner:
        return plan
    if row.port_id != plan.port_id:
        raise NetworkUnavailable(f"another port of load balancer {load_balancer_id} is being deleted")
    return replace(plan, claim=claim_from_row(row, _vip_claim))


_IS_CREATED_BY_CONTROLLER = select(
    exists().where(_vip_claim.c.held_by == bindparam("wanted_id"), _vip_claim.c.device_owner != "")
)


def is_port_created_by_controller(connection: Connection, load_balancer_id: LoadBalancerId) -> bool:
    """Whether the port of a stored load balancer was created by this system."""
    return bool(connection.scalar(_IS_CREATED_BY_CONTROLLER, {"wanted_id": load_balancer_id}))
