"""Quotas hold however many make objects at once, and cost nothing where there are none."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.errors import QuotaReached
from evenkeel.core.resources.model import LoadBalancer, Member, Pool
from evenkeel.core.resources.quota import Quotas
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore, open_store
from tests.store.builders import PROJECT, bare, create, listener, member, monitor, new_id, placed, pool, tree, vip
from tests.store.conftest import WITH_GALERA, databases, statements_of

MANY = 50
LIMIT = 10


backend = databases(*WITH_GALERA)


@pytest.fixture
async def narrow(store: SqlStore, database_url: str) -> AsyncIterator[SqlStore]:
    """A controller's store on the same database with default quotas."""
    opened = open_store(database_url, StoreOptions(default_quotas=Quotas(loadbalancer=LIMIT, member=3)))
    yield opened
    await opened.close()


async def live(store: SqlStore, kind: Any) -> int:
    return len((await store.tenants.list(kind, ListQuery(filters={"deleted": (False,)}, project_id=PROJECT))).items)


async def test_of_many_at_once_as_many_are_made_as_the_quota_allows(store: SqlStore, other_store: SqlStore) -> None:
    await store.quotas.set_quotas(PROJECT, {"loadbalancer": LIMIT})

    calls = (
        (store if number % 2 else other_store).tenants.create_load_balancer(bare(), vip()) for number in range(MANY)
    )
    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert Counter(type(answer).__name__ for answer in answers) == {"Change": LIMIT, "QuotaReached": MANY - LIMIT}
    assert await live(store, LoadBalancer) == LIMIT


async def test_children_of_different_load_balancers_share_the_quota(store: SqlStore, other_store: SqlStore) -> None:
    stored = [await create(store, tree(members=0)) for _ in range(2)]
    await store.quotas.set_quotas(PROJECT, {"member": LIMIT})

    def ask(number: int) -> Any:
        at, pool_id = (store, other_store)[number % 2], stored[number // 2 % 2].pools[0].id
        return at.tenants.add_members((member(number, pool_id=pool_id),), project_id=None)

    answers = await asyncio.gather(*(ask(number) for number in range(MANY)), return_exceptions=True)

    assert Counter(type(answer).__name__ for answer in answers) == {"Change": LIMIT, "QuotaReached": MANY - LIMIT}
    assert await live(store, Member) == LIMIT


async def test_default_quotas_hold_for_projects_without_their_own(narrow: SqlStore) -> None:
    calls = (narrow.tenants.create_load_balancer(bare(), vip()) for _ in range(MANY))
    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert Counter(type(answer).__name__ for answer in answers) == {"Change": LIMIT, "QuotaReached": MANY - LIMIT}
    await narrow.quotas.set_quotas(PROJECT, {"loadbalancer": -1})
    await create(narrow, bare())


async def test_a_populated_create_counts_as_a_whole_and_leaves_nothing(store: SqlStore) -> None:
    await store.quotas.set_quotas(PROJECT, {"listener": 1, "member": 2, "pool": 0, "healthmonitor": 5})

    with pytest.raises(QuotaReached) as refused:
        await create(store, tree(listeners=2, members=2))

    assert str(refused.value) == "Quota has been met for resources: Listener, Pool"
    assert await live(store, LoadBalancer) == 0
    await store.quotas.set_quotas(PROJECT, {"listener": 2, "pool": 1})
    await create(store, tree(listeners=2, members=2))


async def test_a_batch_of_members_counts_what_it_adds_beyond_what_it_removes(store: SqlStore) -> None:
    await placed(store)
    pool_id = (await create(store, tree(members=2))).pools[0].id
    await store.quotas.set_quotas(PROJECT, {"member": 3})

    async def replace(first: int, count: int, **how: Any) -> None:
        rows = [member(number) for number in range(first, first + count)]
        await store.tenants.replace_members(pool_id, rows, **{"additive_only": False, "project_id": None} | how)

    await replace(10, 3)
    await replace(20, 3)
    with pytest.raises(QuotaReached, match="Member"):
        await replace(30, 4)
    with pytest.raises(QuotaReached, match="Member"):
        await replace(30, 1, additive_only=True)
    assert await live(store, Member) == 3
    await store.quotas.set_quotas(PROJECT, {"member": 1})
    await replace(20, 2)
    assert await live(store, Member) == 2


async def test_every_kind_of_child_has_its_quota(store: SqlStore) -> None:
    stored = await create(store, bare())
    root_id = stored.load_balancer.id
    row = pool(load_balancer_id=root_id)
    await store.tenants.add_pool(row, [], None, listener_id=None, project_id=None)
    await store.quotas.set_quotas(PROJECT, {"listener": 0, "pool": 1, "healthmonitor": 0, "member": 1})

    for refused, title in (
        (store.tenants.add_listener(listener(load_balancer_id=root_id), project_id=None), "Listener"),
        (store.tenants.add_health_monitor(monitor(pool_id=row.id), project_id=None), "Health Monitor"),
        (
            store.tenants.add_pool(
                pool(load_balancer_id=root_id), [member(1), member(2)], monitor(), listener_id=None, project_id=None
            ),
            "Pool, Member, Health Monitor",
        ),
    ):
        with pytest.raises(QuotaReached) as caught:
            await refused
        assert str(caught.value) == f"Quota has been met for resources: {title}"
    assert (await store.tenants.get(LoadBalancer, root_id, project_id=None)).revision == 2
    assert await live(store, Pool) == 1


async def test_deleted_load_balancer_frees_its_quota_at_once(store: SqlStore) -> None:
    await placed(store)
    await store.quotas.set_quotas(PROJECT, {"loadbalancer": 1})
    stored = await create(store, bare())
    with pytest.raises(QuotaReached):
        await create(store, bare())

    await store.tenants.delete_load_balancer(stored.load_balancer.id, cascade=False, project_id=None)

    await create(store, bare())


async def test_quotas_are_set_shown_listed_and_reset(narrow: SqlStore) -> None:
    assert (await narrow.quotas.quotas_of("a")).quotas == Quotas(loadbalancer=LIMIT, member=3)
    for project_id in ("a", "b"):
        await narrow.quotas.set_quotas(project_id, {"member": 7, "pool": 0})
    await narrow.quotas.set_quotas("a", {"member": None})

    assert (await narrow.quotas.quotas_of("a")).quotas == Quotas(loadbalancer=LIMIT, member=3, pool=0)
    first = await narrow.quotas.list_quotas(ListQuery(limit=1))
    assert [row.project_id for row in first.items] == ["a"] and first.after
    rest = await narrow.quotas.list_quotas(ListQuery(marker="a"))
    assert [(row.project_id, row.quotas.member) for row in rest.items] == [("b", 7)]
    assert [row.id for row in (await narrow.quotas.list_quotas(ListQuery(project_id="b"))).items] == ["b"]
    await narrow.quotas.set_quotas("b", {"member": None, "pool": None})
    assert [row.id for row in (await narrow.quotas.list_quotas(ListQuery())).items] == ["a"]


async def test_no_statement_is_about_quotas_where_there_are_none(store: SqlStore) -> None:
    await store.quotas.set_quotas("another", {"loadbalancer": 0})
    stored = await create(store)

    with statements_of(store.database) as seen:
        await create(store)
        await store.tenants.add_members((member(99, pool_id=stored.pools[0].id),), project_id=None)

    assert not [text for text in seen if text.lstrip().upper().startswith(("UPDATE QUOTA", "INSERT INTO QUOTA"))]
    assert not [text for text in seen if "count(" in text.lower() and "project_id" in text.lower()]


async def test_a_check_is_two_statements_however_much_is_made(store: SqlStore, backend: str) -> None:
    async def count(project_id: str, size: int) -> int:
        what = tree(listeners=size, members=size, project_id=project_id)
        with statements_of(store.database) as seen:
            await create(store, what)
        return len(seen)

    await store.quotas.set_quotas("limited", dict.fromkeys(("loadbalancer", "listener", "pool", "member"), 500))
    free = await count(new_id(), 1)
    lock = 1 if backend in ("sqlite", "postgresql") else 2
    assert await count("limited", 1) == await count("limited", 100) == free + lock + 1
