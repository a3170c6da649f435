"""LBaaS v1 vips: create, change, delete. A vip is a listener together with the VIP of its pool's load balancer."""

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from evenkeel.api.common.provider_lookup import ServedObject
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.errors import NeutronRefusal, bad_request
from evenkeel.api.neutron.v1.lists import VIPS, read_object
from evenkeel.api.neutron.v1.requests import V1Persistence, V1VipChange, V1VipNew
from evenkeel.api.usecases.attribute_values import values_to_change, values_to_create
from evenkeel.api.usecases.chaining import check_chaining
from evenkeel.api.usecases.parents import project_of
from evenkeel.api.usecases.rules import check_pool_rules, checked_vip_address
from evenkeel.api.usecases.vips import checked_plan
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.capabilities import listener_pool_problems, listener_problems, pool_problems
from evenkeel.core.kit.errors import Invalid, NotFound
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import lbaas_v1_port_mark
from evenkeel.core.networking.vip_networks import VipNetworks
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Listener, LoadBalancer, Pool, SessionPersistence
from evenkeel.core.resources.pool_rooted import LbaasV1Vip


def persistence_from_body(body: V1Persistence | None) -> SessionPersistence | None:
    """Return the pool's session persistence; None if the request's is absent or empty. Raises
    :class:`NeutronRefusal` (400) for a cookie name without a type.
    """
    if body is None or body == V1Persistence():
        return None
    if body.type is None:
        raise bad_request(
            "Session Persistence Invalid: 'cookie_name' is given without a 'type'.",
            "SessionPersistenceConfigurationInvalid",
        )
    return SessionPersistence(type=body.type, cookie_name=body.cookie_name)


async def make_vip(services: Services, call: Call, wanted: V1VipNew) -> LbaasV1Vip:
    """Create a vip: a listener and the VIP of the pool's load balancer; returns the stored vip.

    Raises :class:`NotFound` for the pool, :class:`NeutronRefusal`, :class:`Invalid`, :class:`Unsupported`,
    :class:`Conflict` if the pool has a vip or the address is in use, :class:`QuotaReached`,
    :class:`NetworkUnavailable`.
    """
    pool: Pool = await services.tenants.get(Pool, wanted.pool_id, project_id=call.caller.scope)
    _check_project_and_protocol(wanted, pool)
    row = _listener_row(wanted, pool, services.new_id())
    persistence = persistence_from_body(wanted.session_persistence)
    served = await services.providers.find_served_object(LoadBalancer, pool.load_balancer_id, call.caller.scope)
    served.raise_first_problem(listener_problems(served.table, asdict(row)))
    _check_persistence(served, row, pool, persistence)
    await services.change_accepted(await _store_vip(services, call, wanted, row, persistence, served))
    return await _find_vip(services, call, row.id)


async def _find_vip(services: Services, call: Call, vip_id: str) -> LbaasV1Vip:
    found: LbaasV1Vip = await read_object(services, call, VIPS, vip_id)
    return found


def _check_project_and_protocol(wanted: V1VipNew, pool: Pool) -> None:
    """Check that a vip is of its pool's project and protocol. Raises :class:`NeutronRefusal`: 403 for another
    project, 400 for another protocol.
    """
    if project_of(wanted, pool.project_id) != pool.project_id:
        raise NeutronRefusal(403, "NotAuthorized", "Not authorized: a vip belongs to the project of its pool.")
    if wanted.protocol != pool.protocol:
        raise bad_request(
            f"Protocol {wanted.protocol} does not match pool protocol {pool.protocol}", "ProtocolMismatch"
        )


def _listener_row(wanted: V1VipNew, pool: Pool, vip_id: str) -> Listener:
    return Listener(
        id=vip_id,
        load_balancer_id=pool.load_balancer_id,
        project_id=pool.project_id,
        protocol=wanted.protocol,
        protocol_port=wanted.protocol_port,
        default_pool_id=pool.id,
        **values_to_create(wanted, Listener),
    )


def _check_persistence(served: ServedObject, row: Listener, pool: Pool, persistence: SessionPersistence | None) -> None:
    """Check that protocol and provider support the session persistence. Raises :class:`Invalid` or
    :class:`Unsupported`.
    """
    check_pool_rules(replace(pool, session_persistence=persistence), any_cookies=True)
    served.raise_first_problem(
        pool_problems(served.table, {"protocol": pool.protocol, "session_persistence": persistence})
    )
    served.raise_first_problem(listener_pool_problems(served.table, row.protocol, pool.protocol, persistence))


async def _store_vip(
    services: Services,
    call: Call,
    wanted: V1VipNew,
    row: Listener,
    persistence: SessionPersistence | None,
    served: ServedObject,
) -> Change:
    """Allocate the VIP and store the vip; the port of the VIP is released if that fails. Raises the errors of
    :func:`make_vip`.
    """
    permitted = await services.providers.vip_networks_of(served.by.provider)
    plan = await _vip_plan(services, call, wanted, row, permitted)
    try:
        unchained = await check_chaining(
            services,
            served.table,
            environment=served.by.provider,
            project_id=served.by.project_id,
            load_balancer_id=served.by.load_balancer_id,
            vips=(plan,),
        )
        return await services.lbaas_v1.add_vip(
            row, plan, persistence, project_id=call.caller.scope, unchained=unchained
        )
    except Exception:
        await services.network.abandon_vip(plan)
        raise


async def _vip_plan(services: Services, call: Call, wanted: V1VipNew, row: Listener, permitted: VipNetworks) -> VipPlan:
    address = wanted.address or None
    try:
        plan = await services.network.plan_vip(
            project_id=row.project_id,
            # The VIP's port is marked with the vip's id, because a load balancer may have several VIPs over time.
            load_balancer_id=LoadBalancerId(row.id),
            subnet_id=wanted.subnet_id,
            network_id=None,
            port_id=None,
            address=None if address is None else checked_vip_address("address", address, services.addresses),
            marked=lbaas_v1_port_mark(row.id),
            any_address=call.caller.scope is None,
            any_subnet=call.caller.scope is None,
            permitted=permitted,
        )
    except NotFound as error:
        raise Invalid(str(error), code="subnet_not_found") from error
    return await checked_plan(services, plan, "address")


async def change_vip(services: Services, call: Call, vip_id: str, wanted: V1VipChange) -> LbaasV1Vip:
    """Change a vip; returns the stored vip. Absent session persistence is removed. Raises :class:`NotFound`,
    :class:`NeutronRefusal` for a pool elsewhere, :class:`Invalid`, :class:`Unsupported`,
    :class:`Conflict`.
    """
    scope = call.caller.scope
    row, pool_id = await _find_listener(services, call, vip_id)
    pool: Pool = await services.tenants.get(Pool, pool_id, project_id=scope)
    if wanted.pool_id not in (UNSET, pool.id):
        pool = await _find_new_pool(services, call, row, wanted.pool_id)
    persistence = persistence_from_body(wanted.session_persistence)
    changes = values_to_change(wanted, Listener)
    served = await services.providers.find_served_object(LoadBalancer, row.load_balancer_id, scope)
    served.raise_first_problem(listener_problems(served.table, changes))
    _check_persistence(served, row, pool, persistence)
    if pool.id != pool_id:
        changes["default_pool_id"] = pool.id
    await services.change_accepted(await services.lbaas_v1.update_vip(row.id, changes, persistence, project_id=scope))
    return await _find_vip(services, call, row.id)


async def _find_new_pool(services: Services, call: Call, row: Listener, pool_id: str | UnsetType) -> Pool:
    """Return the vip's new pool, which must be of the same load balancer, because the VIP does not move.
    Raises :class:`NotFound`; :class:`NeutronRefusal`: 409 for another load balancer, 400 for another
    protocol.
    """
    other: Pool = await services.tenants.get(Pool, str(pool_id), project_id=call.caller.scope)
    if other.load_balancer_id != row.load_balancer_id:
        raise NeutronRefusal(
            409,
            "VipPoolChangeNotSupported",
            f"pool_id: vip {row.id} cannot move to pool {other.id}, which is served elsewhere. Delete the vip and make"
            " one for that pool.",
        )
    if other.protocol != row.protocol:
        raise bad_request(f"Protocol {row.protocol} does not match pool protocol {other.protocol}", "ProtocolMismatch")
    return other


async def remove_vip(services: Services, call: Call, vip_id: str) -> None:
    """Delete a vip: its listener and VIP. Raises :class:`NotFound`, :class:`Conflict`."""
    row, _ = await _find_listener(services, call, vip_id)
    await services.change_accepted(await services.tenants.delete_child(Listener, row.id, project_id=call.caller.scope))


async def _find_listener(services: Services, call: Call, vip_id: str) -> tuple[Listener, str]:
    """Return a vip's listener and the id of its pool. Raises :class:`NotFound`, also for a listener without a
    pool.
    """
    row: Listener = await services.tenants.get(Listener, vip_id, project_id=call.caller.scope)
    if row.default_pool_id is None:
        # A listener without a default pool is no vip.
        raise NotFound(VIPS.title, row.id)
    return row, row.default_pool_id
