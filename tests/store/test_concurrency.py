"""Two controllers' stores on one database, doing the same at once."""

import asyncio
from collections import Counter
from typing import Any

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.chaining import AddressInSubnet, ChainQuery
from evenkeel.core.resources.model import L7Policy, Listener, LoadBalancer, LoadBalancerTree, Pool
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import (
    PROJECT,
    bare,
    create,
    l7policy,
    listener,
    load_balancer,
    member,
    placed,
    pool,
    tree,
    vip,
)
from tests.store.conftest import WITH_GALERA, databases

MANY = 50


backend = databases(*WITH_GALERA)


async def both(store: SqlStore, other: SqlStore, ask: Any) -> list[Any]:
    """What ``ask(store, number)`` answers or raises, half of them by each store."""
    calls = (ask(store if number % 2 else other, number) for number in range(MANY))
    return await asyncio.gather(*calls, return_exceptions=True)


async def test_of_many_that_want_one_address_one_gets_it(store: SqlStore, other_store: SqlStore) -> None:
    answers = await both(
        store, other_store, lambda at, _: at.tenants.create_load_balancer(bare(), vip(address="10.0.0.9"))
    )

    assert Counter(type(answer).__name__ for answer in answers) == {"Change": 1, "Conflict": MANY - 1}
    assert all("10.0.0.9 is in use" in str(answer) for answer in answers if isinstance(answer, Conflict))


async def test_of_many_that_want_one_address_as_vip_or_additional_one_one_gets_it(
    store: SqlStore, other_store: SqlStore
) -> None:
    def ask(at: SqlStore, number: int) -> Any:
        more = vip(subnet_id="subnet-2", address="10.2.0.2", port_id="")
        plan: dict[str, Any] = {"address": "10.2.0.2"} if number % 3 else {"additional": (more,)}
        return at.tenants.create_load_balancer(bare(), vip(**plan))

    answers = await both(store, other_store, ask)

    assert Counter(type(answer).__name__ for answer in answers) == {"Change": 1, "Conflict": MANY - 1}
    assert all("10.2.0.2 is in use" in str(answer) for answer in answers if isinstance(answer, Conflict))


async def test_two_that_want_each_others_addresses_leave_nothing_half_taken(
    store: SqlStore, other_store: SqlStore
) -> None:
    def ask(by: SqlStore, own: str, others: str) -> Any:
        more = vip(subnet_id="subnet-2", address=others, port_id="")
        return by.tenants.create_load_balancer(bare(), vip(address=own, additional=(more,)))

    for number in range(6):
        a, b = f"10.9.{number}.1", f"10.9.{number}.2"
        answers = await asyncio.gather(ask(store, a, b), ask(other_store, b, a), return_exceptions=True)
        assert sorted(type(answer).__name__ for answer in answers) == ["Change", "Conflict"]


async def test_automatic_addresses_are_all_different_down_to_the_last(store: SqlStore, other_store: SqlStore) -> None:
    plan = {"allocation_start": "10.0.0.1", "allocation_end": f"10.0.0.{MANY}"}

    answers = await both(store, other_store, lambda at, _: at.tenants.create_load_balancer(bare(), vip(**plan)))

    assert not [answer for answer in answers if isinstance(answer, BaseException)]
    assert len({answer.tree.load_balancer.vip.address for answer in answers}) == MANY


async def test_of_a_vip_and_a_member_of_another_project_at_its_address_one_is_taken(
    store: SqlStore, other_store: SqlStore
) -> None:
    pool_id = pool().id
    await create(store, LoadBalancerTree(load_balancer=load_balancer(), pools=(pool(id=pool_id),)))

    async def member_at(address: str) -> Any:
        placed_at = AddressInSubnet(address=address, subnet_id="subnet-1")
        query = ChainQuery(environment="prod", project_id=PROJECT, members=(placed_at,))
        row = member(pool_id=pool_id, address=address, subnet_id="subnet-1")
        return await store.tenants.add_members((row,), project_id=None, unchained=query)

    async def vip_at(address: str) -> Any:
        placed_at = AddressInSubnet(address=address, subnet_id="subnet-1")
        query = ChainQuery(environment="prod", project_id=ProjectId("project-2"), vips=(placed_at,))
        root = LoadBalancerTree(load_balancer=load_balancer(project_id="project-2"))
        return await other_store.tenants.create_load_balancer(root, vip(address=address), unchained=query)

    wanted = [f"10.0.1.{number}" for number in range(1, MANY + 1)]
    # The members wait for each other, as they are one load balancer's; the VIPs wait for nobody.
    asked = (ask(address) for address in wanted for ask in (member_at, vip_at))
    answers = await asyncio.gather(*asked, return_exceptions=True)

    for address, pair in zip(wanted, zip(answers[::2], answers[1::2], strict=True), strict=True):
        assert sorted(type(answer).__name__ for answer in pair) == ["Change", "Unsupported"], address


async def test_l7_policies_that_come_and_go_at_once_each_have_a_place_of_their_own(
    store: SqlStore, other_store: SqlStore
) -> None:
    at = (await create(store)).listeners[0].id
    first = [l7policy(listener_id=at) for _ in range(10)]
    for policy in first:
        await store.tenants.add_l7policy(policy, [], project_id=None)

    def ask(by: SqlStore, number: int) -> Any:
        if number % 5 == 0:
            return by.tenants.delete_child(L7Policy, first[number // 5].id, project_id=None)
        if number % 5 == 1:
            changes = {"position": number % 7 + 1}
            return by.tenants.update_child(L7Policy, first[number // 5].id, changes, project_id=None)
        return by.tenants.add_l7policy(l7policy(listener_id=at, position=number % 4 + 1), [], project_id=None)

    answers = await both(store, other_store, ask)

    # moving one that was deleted before is the only thing that may fail
    assert all(isinstance(each, Conflict | NotFound) for each in answers if isinstance(each, BaseException))
    rows = (await store.tenants.list(L7Policy, ListQuery(filters={"listener_id": (at,)}))).items
    live = sorted(row.position for row in rows if not row.deleted)
    assert live == list(range(1, len(live) + 1)) and len(live) == MANY * 3 // 5


async def test_writes_below_one_load_balancer_each_have_a_revision_of_their_own(
    store: SqlStore, other_store: SqlStore
) -> None:
    stored = await create(store, tree(members=0))
    root_id, pool_id = stored.load_balancer.id, stored.pools[0].id

    def ask(at: SqlStore, number: int) -> Any:
        if number % 3 == 0:
            return at.tenants.add_members((member(number, pool_id=pool_id),), project_id=None)
        if number % 3 == 1:
            return at.tenants.add_listener(
                listener(load_balancer_id=root_id, protocol_port=1000 + number), project_id=None
            )
        return at.tenants.update_child(Pool, pool_id, {"name": str(number)}, project_id=None)

    answers = await both(store, other_store, ask)

    assert sorted(answer.revision for answer in answers) == list(range(2, MANY + 2))
    assert (await store.tenants.get(LoadBalancer, root_id, project_id=None)).revision == MANY + 1


async def test_of_many_listeners_on_one_port_one_is_made(store: SqlStore, other_store: SqlStore) -> None:
    stored = await create(store, bare())
    root_id = stored.load_balancer.id

    answers = await both(
        store, other_store, lambda at, _: at.tenants.add_listener(listener(load_balancer_id=root_id), project_id=None)
    )

    assert Counter(type(answer).__name__ for answer in answers) == {"Change": 1, "Conflict": MANY - 1}
    assert (await store.tenants.get(LoadBalancer, root_id, project_id=None)).revision == 2


async def test_of_many_default_pools_one_is_taken(store: SqlStore, other_store: SqlStore) -> None:
    stored = await create(store, bare())
    row = listener(load_balancer_id=stored.load_balancer.id)
    await store.tenants.add_listener(row, project_id=None)

    answers = await both(
        store, other_store, lambda at, _: at.tenants.add_pool(pool(), [], None, listener_id=row.id, project_id=None)
    )

    (change,) = [answer for answer in answers if not isinstance(answer, BaseException)]
    found = await store.tenants.get(Listener, row.id, project_id=None)
    assert found.default_pool_id == change.resources[0].id
    assert len((await store.tenants.get(LoadBalancer, stored.load_balancer.id, project_id=None)).pool_ids) == 1


async def test_nothing_is_left_in_a_pool_that_is_deleted_meanwhile(store: SqlStore, other_store: SqlStore) -> None:
    stored = await create(store, tree(members=0))
    pool_id = stored.pools[0].id

    def ask(at: SqlStore, number: int) -> Any:
        if number == MANY // 2:
            return at.tenants.delete_child(Pool, pool_id, project_id=None)
        return at.tenants.add_members((member(number, pool_id=pool_id),), project_id=None)

    await both(store, other_store, ask)

    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    assert (now.pools, now.members) == ((), ())


async def test_deleting_from_everywhere_at_once_is_harmless(store: SqlStore, other_store: SqlStore) -> None:
    await placed(store)
    stored = await create(store)

    answers = await both(
        store,
        other_store,
        lambda at, _: at.tenants.delete_load_balancer(stored.load_balancer.id, cascade=True, project_id=None),
    )

    assert {answer.revision for answer in answers} == {2}
