"""Two controllers at once on the objects of LBaaS v1."""

import asyncio

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import PROJECT, bare, new_id
from tests.store.conftest import WITH_GALERA, databases
from tests.store.lbaas_v1.test_shared_monitors import associate, listed, live, shared, with_monitor, with_pool
from tests.store.lbaas_v1.test_vips import make_pool, make_vip

MANY = 12


backend = databases(*WITH_GALERA)


async def test_an_address_is_given_once(store: SqlStore, other_store: SqlStore) -> None:
    pools = [await make_pool(store) for _ in range(MANY)]

    answers = await asyncio.gather(
        *(make_vip((store, other_store)[number % 2], pool.id, address="10.0.0.9") for number, pool in enumerate(pools)),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, Change) for answer in answers) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == MANY - 1
    roots = [await store.tenants.get(LoadBalancer, pool.load_balancer_id, project_id=None) for pool in pools]
    assert sum(root.vip is not None for root in roots) == 1
    assert sum(root.revision > 1 for root in roots) == 1


async def test_a_pool_gets_one_vip(store: SqlStore, other_store: SqlStore) -> None:
    pool = await make_pool(store)

    answers = await asyncio.gather(
        *(make_vip((store, other_store)[number % 2], pool.id) for number in range(MANY)), return_exceptions=True
    )

    assert sum(isinstance(answer, Change) for answer in answers) == 1
    assert {answer.code for answer in answers if isinstance(answer, Conflict)} == {"vip_exists"}
    assert len((await store.lbaas_v1.vips(ListQuery())).items) == 1


async def test_a_pool_is_deleted_or_gets_a_vip(store: SqlStore, other_store: SqlStore) -> None:
    for _ in range(4):
        pool = await make_pool(store)

        deleted, made = await asyncio.gather(
            store.lbaas_v1.delete_v1_pool(pool.id, project_id=PROJECT),
            make_vip(other_store, pool.id),
            return_exceptions=True,
        )

        assert isinstance(deleted, Change) != isinstance(made, Change), (deleted, made)
        assert isinstance(deleted, Change | Conflict) and isinstance(made, Change | Conflict | NotFound)


async def test_changes_of_a_shared_monitor_leave_one_truth(store: SqlStore, other_store: SqlStore) -> None:
    made = await store.lbaas_v1.add_shared_monitor(shared())
    trees = [await with_pool(store) for _ in range(3)]
    for each in trees[:2]:
        await associate(store, each.pools[0].id, made.id)

    await asyncio.gather(
        *(
            which.lbaas_v1.update_shared_monitor(made.id, {"delay": delay}, project_id=PROJECT)
            for delay, which in enumerate((store, other_store) * 4, start=10)
        ),
        associate(other_store, trees[2].pools[0].id, made.id),
        *(
            store.tenants.update_load_balancer(each.load_balancer.id, {"name": "n"}, project_id=PROJECT)
            for each in trees
        ),
    )

    truth = (await listed(store))[made.id].delay
    for each in trees:
        (row,) = await live(store, each.load_balancer.id)
        assert row.delay == truth


async def test_a_monitor_is_deleted_or_associated(store: SqlStore, other_store: SqlStore) -> None:
    for _ in range(4):
        made = await store.lbaas_v1.add_shared_monitor(shared())
        stored = await with_pool(store)

        deleted, associated = await asyncio.gather(
            store.lbaas_v1.delete_shared_monitor(made.id, project_id=PROJECT),
            other_store.lbaas_v1.associate_monitor(stored.pools[0].id, made.id, new_id=new_id(), project_id=PROJECT),
            return_exceptions=True,
        )

        assert (deleted is None) != isinstance(associated, Change), (deleted, associated)
        assert len(await live(store, stored.load_balancer.id)) == (deleted is not None)


async def test_a_monitor_is_deleted_or_comes_with_a_new_pool(store: SqlStore, other_store: SqlStore) -> None:
    for _ in range(4):
        made = await store.lbaas_v1.add_shared_monitor(shared())

        deleted, created = await asyncio.gather(
            store.lbaas_v1.delete_shared_monitor(made.id, project_id=PROJECT),
            other_store.tenants.create_load_balancer(*with_monitor(bare(), made.id)),
            return_exceptions=True,
        )

        assert (deleted is None) != isinstance(created, Change), (deleted, created)
        assert isinstance(deleted, Conflict) or isinstance(created, NotFound)
