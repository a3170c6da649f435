"""No operation's number of statements depends on how large a load balancer is or how many there are."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.resources.limits import LoadBalancerLimits
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    NewPool,
    Pool,
)
from evenkeel.store.options import StoreOptions
from evenkeel.store.records.loading import load_trees
from evenkeel.store.sql_store import SqlStore, open_store
from tests.store.builders import (
    AGENT,
    create,
    l7policy,
    l7rule,
    listener,
    member,
    monitor,
    new_id,
    placed,
    pool,
    rate_limit_policy,
    rate_limit_rule,
    tree,
    vip,
    with_policies,
)
from tests.store.conftest import COUNTED_ON, databases, statements_of

backend = databases(*COUNTED_ON)

SMALL, LARGE = 1, 200
RULES = 40
ROOM = LoadBalancerLimits(listener=10**6, pool=10**6, member=10**6, l7policy=10**6, l7rule=10**6)


@pytest.fixture
async def store(store: SqlStore, database_url: str) -> AsyncIterator[SqlStore]:
    """One that lets load balancers be larger than those that are compared."""
    opened = open_store(database_url, StoreOptions(load_balancer_limits=ROOM))
    yield opened
    await opened.close()


class Case(NamedTuple):
    """An operation and the most statements it may take."""

    run: Callable[[SqlStore, LoadBalancerTree], Awaitable[Any]]
    limit: int


def new_tree(like: LoadBalancerTree) -> LoadBalancerTree:
    made = tree(listeners=len(like.listeners), members=len(like.members))
    return with_policies(made, len(like.l7policies), min(len(like.l7policies), RULES))


def new_policy(like: LoadBalancerTree) -> L7Policy:
    return l7policy(
        listener_id=like.listeners[0].id, position=1, action="REDIRECT_TO_POOL", redirect_pool_id=like.pools[0].id
    )


def new_pool(members: int) -> NewPool:
    return NewPool(pool=pool(), members=tuple(member(number) for number in range(members)), monitor=monitor())


def many(like: LoadBalancerTree) -> list[Member]:
    """One of them changed, the others gone, as many new ones."""
    count = len(like.members)
    return [member(0, weight=7), *(member(number) for number in range(count, 2 * count))]


async def drained_and_back(store: SqlStore) -> None:
    await store.operators.set_agent_admin_state(AGENT, False)
    await store.operators.set_agent_admin_state(AGENT, True)


CASES: dict[str, Case] = {
    "create": Case(lambda store, it: store.tenants.create_load_balancer(new_tree(it), vip()), 10),
    "update": Case(
        lambda store, it: store.tenants.update_load_balancer(it.load_balancer.id, {"name": "x"}, project_id=None), 4
    ),
    "delete": Case(
        lambda store, it: store.tenants.delete_load_balancer(it.load_balancer.id, cascade=True, project_id=None), 12
    ),
    "add listener": Case(
        lambda store, it: store.tenants.add_listener(
            listener(load_balancer_id=it.load_balancer.id, protocol_port=9, default_pool_id=it.pools[0].id),
            project_id=None,
        ),
        6,
    ),
    "add listener with pools": Case(
        lambda store, it: store.tenants.add_listener(
            listener(load_balancer_id=it.load_balancer.id, protocol_port=9),
            new_pools=[new_pool(len(it.members)) for _ in it.members[:RULES]],
            project_id=None,
        ),
        8,
    ),
    "add pool": Case(
        lambda store, it: store.tenants.add_pool(
            pool(load_balancer_id=it.load_balancer.id),
            [member(number) for number in range(len(it.members))],
            monitor(),
            listener_id=None,
            project_id=None,
        ),
        7,
    ),
    "add member": Case(
        lambda store, it: store.tenants.add_members((member(999, pool_id=it.pools[0].id),), project_id=None), 7
    ),
    "replace members": Case(
        lambda store, it: store.tenants.replace_members(it.pools[0].id, many(it), additive_only=False, project_id=None),
        10,
    ),
    "update pool": Case(
        lambda store, it: store.tenants.update_child(Pool, it.pools[0].id, {"name": "x"}, project_id=None), 6
    ),
    "update member": Case(
        lambda store, it: store.tenants.update_child(Member, it.members[0].id, {"weight": 2}, project_id=None), 6
    ),
    "delete pool": Case(lambda store, it: store.tenants.delete_child(Pool, it.pools[1].id, project_id=None), 11),
    "delete pool alone": Case(lambda store, it: monitor_and_pool(store, it), 21),
    "add members": Case(
        lambda store, it: store.tenants.add_members(
            [member(1000 + number, pool_id=it.pools[0].id) for number in range(len(it.members))], project_id=None
        ),
        7,
    ),
    "delete listener": Case(
        lambda store, it: store.tenants.delete_child(Listener, it.listeners[0].id, project_id=None), 11
    ),
    "add L7 policy": Case(
        lambda store, it: store.tenants.add_l7policy(
            new_policy(it), [l7rule(number) for number in range(min(len(it.members), RULES))], project_id=None
        ),
        10,
    ),
    "add L7 policy with its pool": Case(
        lambda store, it: store.tenants.add_l7policy(
            replace(new_policy(it), redirect_pool_id=(new := new_pool(len(it.members))).pool.id),
            (),
            new_pool=new,
            project_id=None,
        ),
        12,
    ),
    "move L7 policy": Case(
        lambda store, it: store.tenants.update_child(L7Policy, it.l7policies[0].id, {"position": 9}, project_id=None), 9
    ),
    "delete L7 policy": Case(
        lambda store, it: store.tenants.delete_child(L7Policy, it.l7policies[0].id, project_id=None), 11
    ),
    "add L7 rule": Case(
        lambda store, it: store.tenants.add_l7rule(l7rule(l7policy_id=it.l7policies[0].id), project_id=None), 8
    ),
    "delete L7 rule": Case(lambda store, it: store.tenants.delete_child(L7Rule, it.l7rules[0].id, project_id=None), 8),
    "add rate limit policy": Case(
        lambda store, it: store.tenants.add_rate_limit_policy(
            rate_limit_policy(listener_id=it.listeners[0].id), project_id=None
        ),
        7,
    ),
    "add rate limit rule": Case(lambda store, it: limited(store, it), 15),
    "get L7 policy": Case(lambda store, it: store.tenants.get(L7Policy, it.l7policies[0].id, project_id=None), 1),
    "list L7 policies": Case(lambda store, it: store.tenants.list(L7Policy, ListQuery()), 1),
    "list L7 rules": Case(lambda store, it: store.tenants.list(L7Rule, ListQuery(), parent_id=it.l7policies[0].id), 1),
    "list listeners": Case(lambda store, it: store.tenants.list(Listener, ListQuery()), 1),
    "delete member": Case(lambda store, it: store.tenants.delete_child(Member, it.members[0].id, project_id=None), 8),
    "get load balancer": Case(
        lambda store, it: store.tenants.get(LoadBalancer, it.load_balancer.id, project_id=None), 2
    ),
    "get pool": Case(lambda store, it: store.tenants.get(Pool, it.pools[0].id, project_id=None), 2),
    "get listener": Case(lambda store, it: store.tenants.get(Listener, it.listeners[0].id, project_id=None), 1),
    "served by": Case(lambda store, it: store.tenants.served_by(Member, it.members[0].id, project_id=None), 1),
    "tree": Case(lambda store, it: store.tenants.tree(it.load_balancer.id, project_id=None), 7),
    "status tree": Case(
        lambda store, it: store.tenants.tree(it.load_balancer.id, project_id=None, statuses_only=True), 7
    ),
    "list load balancers": Case(lambda store, it: store.tenants.list(LoadBalancer, ListQuery()), 2),
    "list from a marker": Case(
        lambda store, it: store.tenants.list(LoadBalancer, ListQuery(limit=1, marker=it.load_balancer.id)), 3
    ),
    "list pools": Case(lambda store, it: store.tenants.list(Pool, ListQuery()), 2),
    "list members": Case(lambda store, it: store.tenants.list(Member, ListQuery(), parent_id=it.pools[0].id), 1),
    "list monitors": Case(lambda store, it: store.tenants.list(HealthMonitor, ListQuery()), 1),
    "statistics": Case(lambda store, it: store.tenants.statistics(it.load_balancer.id), 1),
    "agents": Case(lambda store, it: store.operators.agents(), 6),
    "agent": Case(lambda store, it: store.operators.agent(AGENT), 4),
    "drain and undrain": Case(lambda store, it: drained_and_back(store), 12),
    "ask for failback": Case(lambda store, it: store.operators.request_failback(AGENT), 10),
    "load balancers on an agent": Case(
        lambda store, it: store.operators.load_balancers_on_agent(AGENT, ListQuery()), 3
    ),
    "lives of agents": Case(lambda store, it: store.operators.agent_liveness(), 1),
    "summary": Case(lambda store, it: store.operators.load_balancer_summary(), 4),
    "shard counts": Case(lambda store, it: store.operators.shard_counts(), 1),
}


async def limited(store: SqlStore, it: LoadBalancerTree) -> None:
    policy = rate_limit_policy(listener_id=it.listeners[0].id)
    await store.tenants.add_rate_limit_policy(policy, project_id=None)
    await store.tenants.add_rate_limit_rule(rate_limit_rule(rate_limit_policy_id=policy.id), project_id=None)


async def monitor_and_pool(store: SqlStore, it: LoadBalancerTree) -> None:
    await store.tenants.delete_child(HealthMonitor, it.health_monitors[0].id, restrict=True, project_id=None)
    await store.tenants.delete_child(Pool, it.pools[0].id, restrict=True, project_id=None)


async def count(store: SqlStore, case: Case, size: int) -> int:
    made = with_policies(tree(listeners=size, members=size + 1), size + 1, min(size + 1, RULES))
    unused = pool(load_balancer_id=made.load_balancer.id)
    it = await create(store, replace(made, pools=(*made.pools, unused)))
    with statements_of(store.database) as seen:
        await case.run(store, it)
    return len(seen)


@pytest.mark.parametrize("name", CASES)
async def test_the_number_of_statements_is_constant_and_small(store: SqlStore, name: str) -> None:
    await placed(store)

    small = await count(store, CASES[name], SMALL)
    large = await count(store, CASES[name], LARGE)

    assert small == large <= CASES[name].limit


async def test_many_trees_cost_as_many_queries_as_one(store: SqlStore) -> None:
    stored = [(await create(store)).load_balancer.id for _ in range(5)]

    for wanted in (stored[:1], stored, [*stored, new_id()]):
        with statements_of(store.database) as seen:
            await store.database.read(lambda connection, ids=wanted: load_trees(connection, ids))
        assert len(seen) == 7


async def test_keeping_the_pool_as_it_is_writes_no_member(store: SqlStore) -> None:
    it = await create(store, tree(members=3))

    with statements_of(store.database) as seen:
        same = [member(number) for number in range(3)]
        await store.tenants.replace_members(it.pools[0].id, same, additive_only=False, project_id=None)

    assert not [
        text
        for text in seen
        if text.startswith(("INSERT", "UPDATE member", "DELETE")) and "load_balancer_revision" not in text
    ]
