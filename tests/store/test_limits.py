"""What one load balancer may hold is a bound however it grows, and however many make it grow at once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.kit.errors import QuotaReached
from evenkeel.core.resources.limits import LoadBalancerLimits, ObjectLimitReached
from evenkeel.core.resources.model import NewPool
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore, open_store
from tests.store.builders import PROJECT, create, l7policy, l7rule, listener, member, pool, tree
from tests.store.conftest import statements_of

LIMIT = 5
LIMITS = LoadBalancerLimits(listener=2, pool=2, member=LIMIT, l7policy=2, l7rule=2)


@pytest.fixture
async def narrow(store: SqlStore, database_url: str) -> AsyncIterator[SqlStore]:
    """A controller's store on the same database with narrow limits."""
    opened = open_store(database_url, StoreOptions(load_balancer_limits=LIMITS))
    yield opened
    await opened.close()


async def test_of_many_members_at_once_as_many_are_made_as_the_limit_allows(narrow: SqlStore) -> None:
    stored = await create(narrow, tree(members=0))
    pool_id = stored.pools[0].id
    calls = (narrow.tenants.add_members((member(number, pool_id=pool_id),), project_id=None) for number in range(20))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert Counter(type(answer).__name__ for answer in answers) == {"Change": LIMIT, "ObjectLimitReached": 20 - LIMIT}
    refusal = next(answer for answer in answers if isinstance(answer, ObjectLimitReached))
    assert str(refusal) == (
        f"Load balancer {stored.load_balancer.id} may have at most 5 members: it has 5, and 1 more were requested."
    )
    other = await create(narrow, tree(members=0))  # has room of its own
    await narrow.tenants.add_members((member(pool_id=other.pools[0].id),), project_id=None)


async def test_every_way_to_grow_is_bounded_and_a_refusal_leaves_nothing(narrow: SqlStore) -> None:
    stored = await create(narrow, tree(members=LIMIT))
    root_id, listener_id, pool_id = stored.load_balancer.id, stored.listeners[0].id, stored.pools[0].id
    of_root: dict[str, Any] = {"load_balancer_id": root_id}
    await narrow.tenants.add_listener(listener(protocol_port=81, **of_root), project_id=None)
    await narrow.tenants.add_pool(pool(**of_root), (), None, listener_id=None, project_id=None)
    policies = [l7policy(listener_id=listener_id) for _ in range(2)]
    for policy in policies:
        await narrow.tenants.add_l7policy(policy, [l7rule(l7policy_id=policy.id)], project_id=None)
    before = await narrow.tenants.tree(root_id, project_id=None)

    new = NewPool(pool=pool(**of_root))
    many = [member(100 + number, pool_id=pool_id) for number in range(LIMIT + 1)]
    for asking in (
        narrow.tenants.add_listener(listener(protocol_port=82, **of_root), project_id=None),
        narrow.tenants.add_pool(pool(**of_root), (), None, listener_id=None, project_id=None),
        narrow.tenants.add_members((member(99, pool_id=pool_id),), project_id=None),
        narrow.tenants.add_members(many, project_id=None),
        narrow.tenants.replace_members(pool_id, many, additive_only=False, project_id=None),
        narrow.tenants.replace_members(pool_id, many[:1], additive_only=True, project_id=None),
        narrow.tenants.add_l7policy(l7policy(listener_id=listener_id), (), project_id=None),
        narrow.tenants.add_l7policy(l7policy(listener_id=listener_id), (), new_pool=new, project_id=None),
        narrow.tenants.add_l7rule(l7rule(l7policy_id=policies[0].id), project_id=None),
    ):
        with pytest.raises(ObjectLimitReached):
            await asking
    assert await narrow.tenants.tree(root_id, project_id=None) == before

    await narrow.tenants.replace_members(
        pool_id, many[:LIMIT], additive_only=False, project_id=None
    )  # what goes makes room
    with pytest.raises(ObjectLimitReached, match="at most 5 members: it has 0, and 6 more"):
        await create(narrow, tree(members=LIMIT + 1))


async def test_load_balancer_above_a_lowered_limit_may_shrink_and_be_changed(store: SqlStore, narrow: SqlStore) -> None:
    stored = await create(store, tree(members=LIMIT + 3))
    pool_id = stored.pools[0].id
    fewer = [member(number, pool_id=pool_id) for number in range(LIMIT + 2)]
    await narrow.tenants.replace_members(pool_id, fewer, additive_only=False, project_id=None)
    heavier = [replace(row, weight=7) for row in fewer]
    await narrow.tenants.replace_members(pool_id, heavier, additive_only=True, project_id=None)
    with pytest.raises(ObjectLimitReached, match="it has 7, and 1 more"):
        await narrow.tenants.add_members((member(99, pool_id=pool_id),), project_id=None)


async def test_limit_and_quota_are_counted_by_one_statement(narrow: SqlStore) -> None:
    stored = await create(narrow, tree(members=0))
    await narrow.quotas.set_quotas(PROJECT, {"member": 3})
    pool_id = stored.pools[0].id
    with statements_of(narrow.database) as seen:
        await narrow.tenants.add_members([member(number, pool_id=pool_id) for number in range(3)], project_id=None)
    assert len([text for text in seen if "count(" in text.lower()]) == 1
    with pytest.raises(QuotaReached):
        await narrow.tenants.add_members((member(9, pool_id=pool_id),), project_id=None)
