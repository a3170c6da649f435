"""Operators' searches on each database."""

from typing import Any

import pytest
from sqlalchemy import text

from evenkeel.core.control.lists import FoundPage, ListQuery
from evenkeel.core.kit.errors import Invalid
from evenkeel.store.migrations.search_indexes import TEXTS_INDEX, TRIGRAM_INDEX
from evenkeel.store.operators import search
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import add_agent, add_shard, bare, create, member, placed, tree
from tests.store.conftest import BACKENDS, databases

backend = databases(*BACKENDS)


async def find(store: SqlStore, given: str = "", group_number: int | None = None, **query: Any) -> FoundPage:
    usual = {"sort": (("name", False),), "limit": 50}
    return await store.operators.find_load_balancers(ListQuery(**usual | query), text=given, group_number=group_number)


async def names(store: SqlStore, given: str = "", group_number: int | None = None, **query: Any) -> list[str]:
    return [row.name for row in (await find(store, given, group_number, **query)).page.items]


async def test_a_text_may_be_part_of_a_name_a_vip_or_a_projects_id(store: SqlStore) -> None:
    made = (await create(store, bare(name="Website", project_id="shop-1"), address="10.0.77.9")).load_balancer
    await create(store, bare(name="mail"))
    for given in ("site", "WEB", "0.77.", "hop-", made.id[:6], made.id[:6].upper(), made.id):
        assert await names(store, given) == ["Website"], given
    assert await names(store, made.id[2:12]) == []


async def test_a_text_may_be_part_of_a_members_address(store: SqlStore, backend: str) -> None:
    of_two = tree(name="shop", members=0)
    (pool,) = of_two.pools
    addresses = ("192.0.2.71", "192.0.2.72")
    members = tuple(
        member(pool_id=pool.id, load_balancer_id=of_two.load_balancer.id, address=address) for address in addresses
    )
    await create(store, type(of_two)(load_balancer=of_two.load_balancer, pools=of_two.pools, members=members))
    await create(store, bare(name="mail"))
    found = await find(store, "0.2.7" if backend == "postgresql" else "192.0.2.7")
    assert ([row.name for row in found.page.items], found.total) == (["shop"], 1)


async def test_characters_of_patterns_stand_for_themselves(store: SqlStore) -> None:
    for name in ("100%", "a_b", "a/b", "a\\b", "axb"):
        await create(store, bare(name=name))
    for given in ("0%", "_", "/", "\\"):
        (found,) = await names(store, given)
        assert given in found


@pytest.mark.parametrize(("matches_max", "counted_max"), [(1000, 10_000), (2, 10_000), (2, 5)])
async def test_pages_of_a_text_that_few_or_many_have(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, matches_max: int, counted_max: int
) -> None:
    monkeypatch.setattr(search, "MATCHES_MAX", matches_max)
    monkeypatch.setattr(search, "COUNTED_MAX", counted_max)
    total = (min(7, counted_max), counted_max >= 7)
    for number in range(7):
        await create(store, bare(name=f"web-{number}"))
    await create(store, bare(name="mail"))
    first = await find(store, "web", limit=3)
    assert [row.name for row in first.page.items] == ["web-0", "web-1", "web-2"]
    assert ((first.total, first.total_is_exact), first.page.before, first.page.after) == (total, False, True)
    last = await find(store, "web", limit=3, marker=first.page.items[-1].id)
    last = await find(store, "web", limit=3, marker=last.page.items[-1].id)
    assert [row.name for row in last.page.items] == ["web-6"]
    assert ((last.total, last.total_is_exact), last.page.before, last.page.after) == (total, True, False)
    assert await names(store, "web", limit=3, marker=last.page.items[0].id, page_reverse=True) == [
        "web-3",
        "web-4",
        "web-5",
    ]
    assert (await find(store, "web", filters={"held": (True,)})).total == 0


async def test_no_more_are_counted_than_the_limit(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "COUNTED_MAX", 3)
    for number in range(5):
        await create(store, bare(name=f"web-{number}"))
    counted = await find(store, "web", limit=2)
    assert (counted.total, counted.total_is_exact) == (3, False)
    every = await find(store, limit=2)
    assert (every.total, every.total_is_exact) == (5, True)  # of the counts that there are anyway


async def test_filters_by_device_group_and_by_what_is_held(store: SqlStore) -> None:
    await placed(store)
    await create(store, bare(name="first"))
    await add_agent(store, "agent-2", group=2)
    await add_shard(store, "shard-2", group_number=2, project_id="other", home_agent_id="agent-2")
    await create(store, bare(name="second", project_id="other"))
    held = (await create(store, bare(name="third", project_id="other"))).load_balancer
    root = schema.load_balancer
    await store.database.write(
        lambda connection: connection.execute(root.update().where(root.c.id == held.id).values(held=True))
    )
    prod = {"provider": ("prod",)}
    assert await names(store, group_number=1, filters=prod) == ["first"]
    assert await names(store, group_number=2, filters=prod) == ["second", "third"]
    assert await names(store, "second", group_number=1, filters=prod) == []
    assert await names(store, filters={"held": (True,)}) == ["third"]
    assert [row.group_number for row in (await find(store)).page.items] == [1, 2, 2]


async def test_a_search_that_takes_too_long_is_refused(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEARCH_SECONDS", 0.01)
    monkeypatch.setattr(
        search, "_read_page_with_text", lambda connection, *_: connection.execute(_endless(connection)).all()
    )
    with pytest.raises(Invalid, match="Give more characters") as refused:
        await find(store, "web")
    assert refused.value.code == "search_too_long"
    monkeypatch.undo()
    assert await names(store, "web") == []  # the connection is as it was


def _endless(connection: Any) -> Any:
    return text(
        {
            "postgresql": "SELECT pg_sleep(3600)",
            "mariadb": "SELECT count(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq * b.seq = 0",
            "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT count(*) FROM n",
        }[connection.dialect.name]
    )


@pytest.mark.parametrize("backend", [pytest.param("postgresql", marks=pytest.mark.services)], indirect=True)
async def test_postgresql_finds_parts_of_texts_by_index(store: SqlStore) -> None:
    def plan(connection: Any) -> str:
        compiled = search.matching_ids_query("10.0.7", "postgresql").compile(
            dialect=connection.dialect, compile_kwargs={"render_postcompile": True, "literal_binds": True}
        )
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        connection.exec_driver_sql("SET LOCAL enable_indexonlyscan = off")
        connection.exec_driver_sql("SET LOCAL enable_indexscan = off")
        return "\n".join(row[0] for row in connection.exec_driver_sql(f"EXPLAIN {compiled}"))

    found = await store.database.write(plan)
    for table in ("load_balancer", "member"):
        assert f"ix_{table}{TRIGRAM_INDEX}" in found


@pytest.mark.parametrize("backend", [pytest.param("mariadb", marks=pytest.mark.services)], indirect=True)
async def test_mariadb_reads_one_index_with_all_texts(store: SqlStore) -> None:
    def plan(connection: Any) -> str:
        compiled = search.matching_ids_query("web", "mariadb").compile(
            dialect=connection.dialect, compile_kwargs={"render_postcompile": True, "literal_binds": True}
        )
        return "\n".join(map(str, connection.exec_driver_sql(f"EXPLAIN {compiled}")))

    await create(store, bare(name="web"))
    assert (await store.database.write(plan)).count(TEXTS_INDEX) == 1
