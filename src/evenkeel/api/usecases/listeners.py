"""Create and change listeners."""

from collections.abc import Collection, Sequence

from msgspec.structs import asdict, replace

from evenkeel.api.common.provider_lookup import ServedObject
from evenkeel.api.common.references import ReferencingObjectChange
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.usecases import change_requests, l7_requests, requests
from evenkeel.api.usecases.acme_references import (
    add_flavors_authority,
    add_flavors_authority_to_changes,
    requests_certificates,
)
from evenkeel.api.usecases.build import listener_row, pool_rows
from evenkeel.api.usecases.chaining import check_new_members
from evenkeel.api.usecases.changes import Changes, listener_changes
from evenkeel.api.usecases.enhanced_services import offered_services
from evenkeel.api.usecases.l7_build import PolicyConverter, PolicyRows, policy_rows, sort_by_position
from evenkeel.api.usecases.l7_rules import check_action_supported, check_l7_listener, normalise_targets
from evenkeel.api.usecases.parents import NewId, ParentContext
from evenkeel.api.usecases.pools import check_new_pool
from evenkeel.api.usecases.rules import check_listener, checked_cidrs
from evenkeel.api.usecases.tls_rules import (
    LISTENER_TLS,
    NO_UNUSED_ATTRIBUTES,
    UnusedTlsAttributes,
    check_tls_allowed,
    fill_tls_defaults,
    kept_unused_references,
    refuse_empty_lists,
)
from evenkeel.api.usecases.writes import object_after_write, write_changes
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.devices.capabilities import (
    l7policy_problems,
    l7rule_problems,
    listener_pool_problems,
    listener_problems,
    needs_capability_check,
)
from evenkeel.core.kit.errors import Invalid, NotFound
from evenkeel.core.resources.enhanced_services import services_in_tags
from evenkeel.core.resources.model import Listener, LoadBalancer, NewPool, Pool
from evenkeel.core.resources.protocol_pairs import check_protocol_pair
from evenkeel.core.tls.certificates import CheckedCertificate


async def make_listener(
    services: Services, call: Call, wanted: requests.ListenerNew, *, idle: UnusedTlsAttributes = NO_UNUSED_ATTRIBUTES
) -> Listener:
    """Create a listener with its L7 policies and new pools; returns the stored listener. ``idle``: TLS
    attributes that it may have although they have no effect.

    Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`, :class:`QuotaReached`,
    :class:`KeyManagerUnavailable`; then nothing is stored.
    """
    scope = call.caller.scope
    served = await services.providers.find_served_object(LoadBalancer, wanted.loadbalancer_id, scope)
    offered = await offered_services(services, served.by.provider, served.table)
    place = ParentContext(
        served.by.load_balancer_id, served.by.project_id, services.addresses, services.tls, offered.names
    )
    new_pools: list[NewPool] = []
    row = listener_row(
        wanted,
        place,
        listener_id=services.new_id(),
        default_pool_id=await _default_pool(services, served, wanted, place, new_pools),
        vip_address=served.by.vip_address,
        idle=idle,
    )
    row = await add_flavors_authority(services, row)
    served.raise_first_problem(listener_problems(served.table, asdict(row)))
    offered.check_tags(row.tags)
    offered.log_bare_tags(row.id, row.tags)
    policies = await _build_policies(services, served, wanted, row.id, place, new_pools)
    unchained = await check_new_members(services, served, [member for new in new_pools for member in new.members])
    # last of all checks: a request that is refused anyway must not load the key manager
    users = [ReferencingObjectChange(row), *(ReferencingObjectChange(new.pool) for new in new_pools)]
    certificates = await services.references.read_and_check(users, served.by.project_id, served.table)
    accepted = await services.tenants.add_listener(
        row,
        [policy for policy, _ in policies],
        [rule for _, rules in policies for rule in rules],
        new_pools=new_pools,
        certificates=certificates,
        project_id=scope,
        unchained=unchained,
    )
    await services.change_accepted(accepted)
    made: Listener = await object_after_write(services, call, Listener, accepted, row.id)
    return made


async def _default_pool(
    services: Services,
    served: ServedObject,
    wanted: requests.ListenerNew,
    place: ParentContext,
    new_pools: list[NewPool],
) -> str | None:
    """Return the checked id of the new listener's default pool, None if it has none; a new pool is appended
    to ``new_pools``. Raises :class:`Invalid`, :class:`Unsupported`, :class:`Conflict` for members at one
    address and port, :class:`NotFound` for a pool that the load balancer does not have.
    """
    if wanted.default_pool is not None:
        if wanted.default_pool_id is not None:
            raise exclusive_fields_error("default_pool", "default_pool_id")
        body = wanted.default_pool
        new_pools.append(pool_rows(body, body.protocol, body.lb_algorithm, place, new_id=services.new_id))
        check_new_pool(served, new_pools[-1], wanted.protocol)
        return new_pools[-1].pool.id
    if wanted.default_pool_id is not None:
        await check_target_pools(services, served, [wanted.default_pool_id], wanted.protocol)
    return wanted.default_pool_id


async def _build_policies(
    services: Services,
    served: ServedObject,
    wanted: requests.ListenerNew,
    listener_id: str,
    place: ParentContext,
    new_pools: list[NewPool],
) -> list[PolicyRows]:
    """Build the L7 policies of the new listener, checked against the provider, sorted and numbered by
    position; new pools are appended to ``new_pools``. Raises :class:`Invalid`, :class:`Unsupported`,
    :class:`Conflict` for members at one address and port, :class:`NotFound` for a pool.
    """
    made: list[PolicyRows] = []
    targets: list[str] = []
    for body in wanted.l7policies or ():
        rows, new_pool = new_policy(body, place, listener_id=listener_id, new_id=services.new_id)
        targets += _unchecked_target_pools(served, rows, wanted.protocol, new_pool)
        new_pools += [] if new_pool is None else [new_pool]
        made.append(rows)
    await check_target_pools(services, served, targets, wanted.protocol)
    return sort_by_position(made)


def new_policy(
    body: l7_requests.L7PolicyWithPool,
    place: ParentContext,
    *,
    listener_id: str,
    new_id: NewId,
    settle: PolicyConverter = normalise_targets,
) -> tuple[PolicyRows, NewPool | None]:
    """Convert a requested L7 policy with its rules. Returns its rows, and the new pool that the request
    brings along; None if it brings none. Raises :class:`Invalid` for attributes that are not allowed,
    :class:`Conflict` for members at one address and port.
    """
    pool_id, new_pool = body.redirect_pool_id, None
    if (pool := body.redirect_pool) is not None:
        if pool_id is not None:
            raise exclusive_fields_error("redirect_pool", "redirect_pool_id")
        check_action_supported(body.action)
        new_pool = pool_rows(pool, pool.protocol, pool.lb_algorithm, place, new_id=new_id)
        pool_id = new_pool.pool.id
    rows = policy_rows(body, place, listener_id=listener_id, redirect_pool_id=pool_id, new_id=new_id, settle=settle)
    return rows, new_pool


def exclusive_fields_error(one: str, other: str) -> Invalid:
    """Build the error for two mutually exclusive attributes."""
    return Invalid(f"Validation failure: {one} and {other} cannot be given at the same time.")


async def check_device_can_apply_policy(
    services: Services, served: ServedObject, rows: PolicyRows, protocol: str, new_pool: NewPool | None = None
) -> None:
    """Check that the provider supports the policy, with its new pool, on a listener of that protocol. Raises
    :class:`Unsupported`, :class:`Invalid`, or :class:`NotFound` for a pool to which it redirects.
    """
    await check_target_pools(services, served, _unchecked_target_pools(served, rows, protocol, new_pool), protocol)


def _unchecked_target_pools(
    served: ServedObject, rows: PolicyRows, protocol: str, new_pool: NewPool | None
) -> list[str]:
    """Check the policy except for existing target pools; return the ids of these (one or none), which the
    caller checks afterwards in one query. Raises :class:`Unsupported` or :class:`Invalid`.
    """
    if not rows.policy.enhanced_service:
        served.raise_first_problem(l7policy_problems(served.table, asdict(rows.policy)))
        for rule in rows.rules:
            served.raise_first_problem(l7rule_problems(served.table, asdict(rule)))
        check_l7_listener(protocol)
    if new_pool is not None:
        check_new_pool(served, new_pool, protocol)
        return []
    return [] if rows.policy.redirect_pool_id is None else [rows.policy.redirect_pool_id]


async def check_target_pools(
    services: Services, served: ServedObject, pool_ids: Collection[str], protocol: str
) -> None:
    """Check that a listener of that protocol may send to the pools, in one query. Raises :class:`NotFound`
    for a pool that the load balancer does not have, :class:`Invalid` or :class:`Unsupported` for protocols
    that do not fit.
    """
    if not pool_ids:
        return
    wanted = {"id": tuple(pool_ids), "load_balancer_id": (served.by.load_balancer_id,)}
    page = await services.tenants.list(Pool, ListQuery(filters=wanted))
    found = {pool.id: pool for pool in page.items}
    for pool_id in pool_ids:
        if (pool := found.get(pool_id)) is None:
            raise NotFound("Pool", pool_id)
        check_protocol_pair(protocol, pool.protocol)
        served.raise_first_problem(
            listener_pool_problems(served.table, protocol, pool.protocol, pool.session_persistence)
        )


async def change_listener(
    services: Services,
    call: Call,
    listener_id: str,
    body: change_requests.ListenerChange,
    *,
    idle: UnusedTlsAttributes = NO_UNUSED_ATTRIBUTES,
) -> Listener:
    """Change a listener; returns the stored listener. ``idle``: TLS attributes that it may have although they
    have no effect. Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`,
    :class:`KeyManagerUnavailable`.
    """
    changes = listener_changes(body)
    if requests_certificates(changes):
        served = await services.providers.find_served_object(Listener, listener_id, call.caller.scope)
        changes = await add_flavors_authority_to_changes(services, served.by.load_balancer_id, changes)
    certificates: Sequence[CheckedCertificate] = ()
    if changes.get("tags"):
        served = await services.providers.find_served_object(Listener, listener_id, call.caller.scope)
        offered = await offered_services(services, served.by.provider, served.table)
        if services_in_tags(changes["tags"]):
            current: Listener = await services.tenants.get(Listener, listener_id, project_id=call.caller.scope)
            offered.check_tags(changes["tags"], current.tags)
        offered.log_bare_tags(listener_id, changes["tags"])
    if needs_capability_check(changes) or changes.keys() & LISTENER_TLS.keys():
        certificates = await _check_changes(services, call, listener_id, body, changes, idle)
    row: Listener = await write_changes(services, call, Listener, listener_id, changes, None, certificates)
    return row


async def _check_changes(
    services: Services,
    call: Call,
    listener_id: str,
    body: change_requests.ListenerChange,
    changes: Changes,
    idle: UnusedTlsAttributes,
) -> Sequence[CheckedCertificate]:
    """Check changes against the current listener, where needed, and against the provider; return the
    certificates that were read. In ``changes``, CIDRs are normalized and TLS attributes, which are written
    together, completed. Raises the errors of :func:`change_listener`.
    """
    about_tls = changes.keys() & LISTENER_TLS.keys()
    users: list[ReferencingObjectChange] = []
    served = await services.providers.find_served_object(Listener, listener_id, call.caller.scope)
    if cidrs := changes.get("allowed_cidrs"):
        changes["allowed_cidrs"] = checked_cidrs(cidrs, served.by.vip_address)
    # Whether such an attribute may be changed depends on the protocol, which only the current listener has.
    fixed = {name for names in served.table.fixed_attributes.values() for name in names} & changes.keys()
    protocol: dict[str, str] = {}
    if about_tls or fixed or changes.get("insert_headers") or changes.get("default_pool_id"):
        current: Listener = await services.tenants.get(Listener, listener_id, project_id=call.caller.scope)
        after = fill_tls_defaults(replace(current, **changes), services.tls)
        refuse_empty_lists(body, after)
        check_tls_allowed(body, services.tls, after, current)
        check_listener(after, changes.get("insert_headers", {}), idle=idle | kept_unused_references(current, after))
        protocol = {"protocol": current.protocol}
        if about_tls:
            changes.update({name: getattr(after, name) for name in LISTENER_TLS})
            users.append(ReferencingObjectChange(after, before=current))
        if pool_id := changes.get("default_pool_id"):
            await check_target_pools(services, served, [pool_id], current.protocol)
    served.raise_first_problem(listener_problems(served.table, protocol | changes))
    return await services.references.read_and_check(users, served.by.project_id, served.table)
