"""Listeners: create, change, statistics. Listing, showing and deleting are as for every kind."""

from msgspec.structs import asdict

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import Call, Services
from evenkeel.api.octavia import change_requests, requests
from evenkeel.api.octavia.build import listener_row
from evenkeel.api.octavia.changes import Changes, listener_changes
from evenkeel.api.octavia.l7_build import PolicyRows, in_order, policy_rows
from evenkeel.api.octavia.l7_rules import check_l7_listener
from evenkeel.api.octavia.places import Place
from evenkeel.api.octavia.resources import LISTENERS, changed, object_id, one, written
from evenkeel.api.octavia.rules import check_listener, check_pair, checked_cidrs
from evenkeel.api.octavia.showing import statistics_view
from evenkeel.api.serving import Served
from evenkeel.core.capabilities import (
    l7policy_problems,
    l7rule_problems,
    listener_problems,
    needs_check,
    pair_problems,
)
from evenkeel.core.errors import NotFound
from evenkeel.core.model import Listener, LoadBalancer, Pool


async def create(services: Services, call: Call, body: requests.ListenerNewBody) -> Answer:
    """201."""
    wanted = body.listener
    scope = call.caller.scope
    served = await services.serving.of(LoadBalancer, wanted.loadbalancer_id, scope)
    if wanted.default_pool_id is not None:
        await check_target_pool(services, served, wanted.default_pool_id, wanted.protocol)
    place = Place(served.by.load_balancer_id, served.by.project_id)
    row = listener_row(
        wanted,
        place,
        listener_id=services.new_id(),
        default_pool_id=wanted.default_pool_id,
        vip_address=served.by.vip_address,
    )
    served.refuse(listener_problems(served.table, asdict(row)))
    policies = await _policies(services, served, wanted, row.id, place)
    accepted = await services.store.add_listener(
        row,
        [policy for policy, _ in policies],
        [rule for _, rules in policies for rule in rules],
        project_id=scope,
    )
    await services.accepted(accepted)
    return one(LISTENERS, await written(services, call, LISTENERS, accepted, row.id), 201)


async def _policies(
    services: Services, served: Served, wanted: requests.ListenerNew, listener_id: str, place: Place
) -> list[PolicyRows]:
    """The L7 policies of the new listener, possible where it is served, in their order."""
    made = []
    for body in wanted.l7policies or ():
        pool_id = body.redirect_pool_id
        rows = policy_rows(body, place, listener_id=listener_id, redirect_pool_id=pool_id, new_id=services.new_id)
        await check_policy_possible(services, served, rows, wanted.protocol)
        made.append(rows)
    return in_order(made)


async def check_policy_possible(services: Services, served: Served, rows: PolicyRows, protocol: str) -> None:
    """Raises unless a listener of that protocol can have the policy where it is served."""
    served.refuse(l7policy_problems(served.table, asdict(rows.policy)))
    for rule in rows.rules:
        served.refuse(l7rule_problems(served.table, asdict(rule)))
    check_l7_listener(protocol)
    if rows.policy.redirect_pool_id is not None:
        await check_target_pool(services, served, rows.policy.redirect_pool_id, protocol)


async def check_target_pool(services: Services, served: Served, pool_id: str, protocol: str) -> None:
    """Raises unless a listener of that protocol may send to the pool, which must be of the same load balancer."""
    pool: Pool = await services.store.get(Pool, pool_id, project_id=None)
    if pool.load_balancer_id != served.by.load_balancer_id:
        raise NotFound("Pool", pool_id)
    check_pair(protocol, pool.protocol)
    served.refuse(pair_problems(served.table, protocol, pool.protocol, pool.session_persistence))


async def change(services: Services, call: Call, body: change_requests.ListenerChangeBody) -> Answer:
    """200."""
    listener_id = object_id(call, LISTENERS.title)
    changes = listener_changes(body.listener)
    if needs_check(changes):
        await _check_changes(services, call, listener_id, changes)
    return await changed(services, call, LISTENERS, listener_id, changes, None)


async def _check_changes(services: Services, call: Call, listener_id: str, changes: Changes) -> None:
    """Some need the listener as it is; all must be possible where it is served. CIDRs take their normal form."""
    served = await services.serving.of(Listener, listener_id, call.caller.scope)
    if cidrs := changes.get("allowed_cidrs"):
        changes["allowed_cidrs"] = checked_cidrs(cidrs, served.by.vip_address)
    if changes.get("insert_headers") or changes.get("default_pool_id"):
        current: Listener = await services.store.get(Listener, listener_id, project_id=call.caller.scope)
        check_listener(current, changes.get("insert_headers", {}))
        if pool_id := changes.get("default_pool_id"):
            await check_target_pool(services, served, pool_id, current.protocol)
    served.refuse(listener_problems(served.table, changes))


async def statistics(services: Services, call: Call) -> Answer:
    """Totals of one listener."""
    listener_id = object_id(call, LISTENERS.title)
    row: Listener = await services.store.get(Listener, listener_id, project_id=call.caller.scope)
    totals = await services.store.statistics(row.load_balancer_id, listener_id=listener_id)
    return json_answer({"stats": statistics_view(totals)})
