"""Create and change pools and their health monitors."""

from collections.abc import Sequence

from msgspec import structs
from msgspec.structs import asdict

from evenkeel.api.common.provider_lookup import ServedObject
from evenkeel.api.common.references import ReferencingObjectChange
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.responses.errors import invalid_input
from evenkeel.api.usecases import change_requests, requests
from evenkeel.api.usecases.build import monitor_row, pool_rows
from evenkeel.api.usecases.chaining import check_new_members
from evenkeel.api.usecases.changes import Changes, monitor_changes, persistence_after_change, pool_changes
from evenkeel.api.usecases.member_subnets import check_subnets
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.api.usecases.rules import check_monitor_fits_pool, check_pool_rules
from evenkeel.api.usecases.tls_rules import POOL_TLS, check_tls_allowed, fill_tls_defaults, refuse_empty_lists
from evenkeel.api.usecases.writes import object_after_write, write_changes
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.devices.capabilities import (
    algorithm_problems,
    ip_version_problems,
    listener_pool_problems,
    member_problems,
    monitor_problems,
    needs_capability_check,
    persistence_problems,
    pool_monitor_problems,
    pool_problems,
)
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, NewPool, Pool, SessionPersistence
from evenkeel.core.resources.protocol_pairs import check_protocol_pair
from evenkeel.core.tls.certificates import CheckedCertificate


async def make_pool(services: Services, call: Call, wanted: requests.PoolNew, *, any_cookies: bool = False) -> Pool:
    """Create a pool with its members and monitor; returns the stored pool. ``any_cookies``: accept session
    persistence by cookies with every pool protocol, not only with HTTP.

    Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`, :class:`QuotaReached`,
    :class:`KeyManagerUnavailable`, :class:`NetworkUnavailable`; then nothing is stored.
    """
    served, listener = await _find_parent(services, call, wanted)
    place = ParentContext(served.by.load_balancer_id, served.by.project_id, services.addresses, services.tls)
    rows = pool_rows(
        wanted, wanted.protocol, wanted.lb_algorithm, place, new_id=services.new_id, any_cookies=any_cookies
    )
    check_new_pool(served, rows, None if listener is None else listener.protocol)
    await check_subnets(services, call.caller.scope, rows.members)
    unchained = await check_new_members(services, served, rows.members)
    certificates = await services.references.read_and_check(
        [ReferencingObjectChange(rows.pool)], served.by.project_id, served.table
    )
    accepted = await services.tenants.add_pool(
        rows.pool,
        rows.members,
        rows.monitor,
        listener_id=wanted.listener_id,
        certificates=certificates,
        project_id=call.caller.scope,
        unchained=unchained,
    )
    await services.change_accepted(accepted)
    made: Pool = await object_after_write(services, call, Pool, accepted, rows.pool.id)
    return made


async def _find_parent(
    services: Services, call: Call, wanted: requests.PoolNew
) -> tuple[ServedObject, Listener | None]:
    """Return the load balancer of the new pool, as served by its provider, and its listener, None if the
    request names none. Raises :class:`NotFound` for either, and :class:`Invalid` if the request names
    neither, the two do not belong together, or the listener cannot have a pool of this protocol.
    """
    scope = call.caller.scope
    if wanted.listener_id is not None:
        listener: Listener = await services.tenants.get(Listener, wanted.listener_id, project_id=scope)
        if wanted.loadbalancer_id not in (None, listener.load_balancer_id):
            raise invalid_input(
                "listener_id",
                wanted.listener_id,
                f"The listener should be one of load balancer {wanted.loadbalancer_id}.",
            )
        check_protocol_pair(listener.protocol, wanted.protocol)
        return await services.providers.find_served_object(LoadBalancer, listener.load_balancer_id, scope), listener
    if wanted.loadbalancer_id is None:
        raise Invalid("Validation failure: Must provide at least one of: loadbalancer_id, listener_id")
    return await services.providers.find_served_object(LoadBalancer, wanted.loadbalancer_id, scope), None


def check_new_pool(served: ServedObject, new: NewPool, listener_protocol: str | None) -> None:
    """Check that the provider supports the pool, behind a listener of that protocol if there is one. Raises
    :class:`Unsupported` or :class:`Invalid`.
    """
    pool = new.pool
    served.raise_first_problem(pool_problems(served.table, asdict(pool)))
    if listener_protocol is not None:
        check_protocol_pair(listener_protocol, pool.protocol)
        served.raise_first_problem(
            listener_pool_problems(served.table, listener_protocol, pool.protocol, pool.session_persistence)
        )
    for member in new.members:
        served.raise_first_problem(member_problems(served.table, asdict(member)))
    served.raise_first_problem(ip_version_problems(served.table, served.by.vip_address, pool.protocol, new.members))
    if new.monitor is not None:
        served.raise_first_problem(monitor_problems(served.table, asdict(new.monitor)))
        served.raise_first_problem(
            pool_monitor_problems(served.table, pool.protocol, new.monitor.type, over_tls=pool.tls_enabled)
        )


async def change_pool(
    services: Services, call: Call, pool_id: str, body: change_requests.PoolChange, *, any_cookies: bool = False
) -> Pool:
    """Change a pool; returns the stored pool. ``any_cookies``: accept session persistence by cookies with
    every pool protocol. Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`,
    :class:`Conflict`, :class:`KeyManagerUnavailable`.
    """
    changes, certificates = await check_and_convert_changes(services, call, pool_id, body, any_cookies=any_cookies)
    row: Pool = await write_changes(services, call, Pool, pool_id, changes, None, certificates)
    return row


async def check_and_convert_changes(
    services: Services, call: Call, pool_id: str, body: change_requests.PoolChange, *, any_cookies: bool = False
) -> tuple[Changes, Sequence[CheckedCertificate]]:
    changes = pool_changes(body)
    certificates: Sequence[CheckedCertificate] = ()
    if needs_capability_check(changes) or changes.keys() & POOL_TLS.keys():
        served = await services.providers.find_served_object(Pool, pool_id, call.caller.scope)
        users = await _check_changes(services, call, served, pool_id, body, changes, any_cookies)
        served.raise_first_problem(pool_problems(served.table, changes))
        certificates = await services.references.read_and_check(users, served.by.project_id, served.table)
    return changes, certificates


async def _check_changes(
    services: Services,
    call: Call,
    served: ServedObject,
    pool_id: str,
    body: change_requests.PoolChange,
    changes: Changes,
    any_cookies: bool,
) -> list[ReferencingObjectChange]:
    """Check changes against the current pool, where needed, and against the provider; TLS attributes, which
    are written together, are completed in ``changes``. Return the changed pool if it may have new
    references, else an empty list. Raises :class:`NotFound`, :class:`Invalid` or :class:`Unsupported`.
    """
    about_tls = changes.keys() & POOL_TLS.keys()
    algorithm = changes.get("lb_algorithm") if served.table.pool_algorithms else None
    if not about_tls and not changes.get("session_persistence") and algorithm is None:
        return []
    pool: Pool = await services.tenants.get(Pool, pool_id, project_id=call.caller.scope)
    served.raise_first_problem(algorithm_problems(served.table, pool.protocol, algorithm))
    if isinstance(change := changes.get("session_persistence"), change_requests.PersistenceChange):
        changes["session_persistence"] = persistence_after_change(change, pool.session_persistence)
    after = fill_tls_defaults(structs.replace(pool, **changes), services.tls)
    refuse_empty_lists(body, after)
    check_tls_allowed(body, services.tls, after, pool)
    check_pool_rules(after, any_cookies=any_cookies)
    if about_tls:
        changes.update({name: getattr(after, name) for name in POOL_TLS})
        await _check_monitor(services, call, served, after)
    if changes.get("session_persistence"):
        await _check_persistence(services, served, pool, changes["session_persistence"])
    return [ReferencingObjectChange(after, before=pool)] if about_tls else []


async def _check_monitor(services: Services, call: Call, served: ServedObject, pool: Pool) -> None:
    """Check that the provider supports the pool's health monitor also after the change of the pool. Raises
    :class:`Unsupported`.
    """
    if pool.health_monitor_id is None or pool.protocol not in served.table.pool_monitors:
        return
    monitor: HealthMonitor = await services.tenants.get(
        HealthMonitor, pool.health_monitor_id, project_id=call.caller.scope
    )
    served.raise_first_problem(
        pool_monitor_problems(served.table, pool.protocol, monitor.type, over_tls=pool.tls_enabled)
    )


async def _check_persistence(
    services: Services, served: ServedObject, pool: Pool, persistence: SessionPersistence
) -> None:
    """Check that the provider supports the session persistence in the pool, and behind the listeners whose
    default pool it is. Raises :class:`Unsupported`.
    """
    served.raise_first_problem(persistence_problems(served.table, pool.protocol, persistence))
    behind = served.table.session_persistence.get(persistence.type, ())
    # The listeners need not be read if the type works behind every protocol.
    if not pool.listener_ids or set(behind) >= served.table.protocol_pairs.keys():
        return
    page = await services.tenants.list(Listener, ListQuery(filters={"default_pool_id": (pool.id,)}))
    for listener in page.items:
        served.raise_first_problem(listener_pool_problems(served.table, listener.protocol, pool.protocol, persistence))


async def make_health_monitor(services: Services, call: Call, wanted: requests.HealthMonitorNew) -> HealthMonitor:
    """Create a pool's health monitor; returns the stored monitor. Raises :class:`NotFound` for the pool,
    :class:`Invalid`, :class:`Unsupported`, :class:`Conflict` if the pool has a monitor, :class:`QuotaReached`.
    """
    scope = call.caller.scope
    pool: Pool = await services.tenants.get(Pool, wanted.pool_id, project_id=scope)
    place = ParentContext(pool.load_balancer_id, pool.project_id, services.addresses, services.tls)
    check_monitor_fits_pool(pool.protocol, wanted.type)
    row = monitor_row(wanted, place, pool_id=pool.id, new_id=services.new_id)
    served = await services.providers.find_served_object(LoadBalancer, pool.load_balancer_id, scope)
    served.raise_first_problem(monitor_problems(served.table, asdict(row)))
    served.raise_first_problem(pool_monitor_problems(served.table, pool.protocol, row.type, over_tls=pool.tls_enabled))
    accepted = await services.tenants.add_health_monitor(row, project_id=scope)
    await services.change_accepted(accepted)
    made: HealthMonitor = await object_after_write(services, call, HealthMonitor, accepted, row.id)
    return made


async def change_health_monitor(
    services: Services, call: Call, monitor_id: str, body: change_requests.HealthMonitorChange
) -> HealthMonitor:
    """Change a health monitor; returns the stored monitor. Reads it first, because the result is checked as a
    whole. Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`.
    """
    current: HealthMonitor = await services.tenants.get(HealthMonitor, monitor_id, project_id=call.caller.scope)
    changes = monitor_changes(body, current)
    if needs_capability_check(changes):
        served = await services.providers.find_served_object(LoadBalancer, current.load_balancer_id, call.caller.scope)
        served.raise_first_problem(monitor_problems(served.table, changes))
    row: HealthMonitor = await write_changes(services, call, HealthMonitor, monitor_id, changes, None)
    return row
