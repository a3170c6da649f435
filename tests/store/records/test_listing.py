import itertools
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.errors import Invalid, NotFound
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, LoadBalancerTree, Member, Pool, Vip
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus
from evenkeel.store.engine.in_list import MARIADB_DIALECTS
from evenkeel.store.records import schema
from evenkeel.store.records.rows import row_from_resource
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import PROJECT, bare, create, ids, listener, load_balancer, next_moment, placed, tree
from tests.store.plans import plan_of

COUNT = 7


@pytest.fixture
async def seven(store: SqlStore) -> AsyncIterator[list[LoadBalancer]]:
    """Seven load balancers in the order they were made; names repeat, some have changed."""
    made = []
    for number in range(COUNT):
        made.append((await create(store, bare(name=f"name-{number % 3}"))).load_balancer)
        await next_moment(store)
    for root in made[::2]:
        await store.tenants.update_load_balancer(root.id, {"admin_state_up": False}, project_id=None)
    page = await store.tenants.list(LoadBalancer, ListQuery())
    yield list(page.items)


async def pages(store: SqlStore, kind: Any, *, reverse: bool = False, **query: Any) -> list[list[str]]:
    """All pages from one end to the other, following markers."""
    found: list[list[str]] = []
    marker = None
    while True:
        page = await store.tenants.list(kind, ListQuery(marker=marker, page_reverse=reverse, **query))
        found.append(ids(page.items))
        if not (page.before if reverse else page.after):
            return found
        marker = page.items[0 if reverse else -1].id


async def test_all_are_listed_in_the_order_they_were_made(store: SqlStore, seven: list[LoadBalancer]) -> None:
    page = await store.tenants.list(LoadBalancer, ListQuery())

    assert len(page.items) == COUNT
    assert (page.before, page.after) == (False, False)
    assert [row.created_at for row in page.items] == sorted(row.created_at for row in page.items)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
async def test_pages_cover_everything_once(store: SqlStore, seven: list[LoadBalancer], limit: int) -> None:
    found = await pages(store, LoadBalancer, limit=limit)

    assert list(itertools.chain(*found)) == ids(seven)
    assert all(len(page) == limit for page in found[:-1])


SORTS = [
    (("name", False),),
    (("name", True),),
    (("updated_at", False), ("name", True)),
    (("updated_at", True),),
    (("admin_state_up", True), ("vip_address", False)),
    (("shard_id", False),),
    (("created_at", True), ("id", True)),
]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("reverse", [False, True])
async def test_pages_keep_any_order_in_both_directions(
    store: SqlStore, seven: list[LoadBalancer], sort: tuple[tuple[str, bool], ...], reverse: bool
) -> None:
    whole = ids((await store.tenants.list(LoadBalancer, ListQuery(sort=sort))).items)

    found = await pages(store, LoadBalancer, limit=2, sort=sort, reverse=reverse)

    in_order = found[::-1] if reverse else found
    assert list(itertools.chain(*in_order)) == whole
    assert sorted(whole) == sorted(ids(seven))


async def test_missing_values_come_last_and_first_when_descending(store: SqlStore, seven: list[LoadBalancer]) -> None:
    rising = (await store.tenants.list(LoadBalancer, ListQuery(sort=(("updated_at", False),)))).items
    falling = (await store.tenants.list(LoadBalancer, ListQuery(sort=(("updated_at", True),)))).items

    assert [row.updated_at is None for row in rising] == [False] * 4 + [True] * 3
    assert [row.updated_at is None for row in falling] == [True] * 3 + [False] * 4


async def test_a_reverse_page_is_the_one_before_the_marker(store: SqlStore, seven: list[LoadBalancer]) -> None:
    page = await store.tenants.list(LoadBalancer, ListQuery(limit=2, marker=seven[4].id, page_reverse=True))

    assert ids(page.items) == ids(seven[2:4])
    assert (page.before, page.after) == (True, True)


async def test_the_first_page_states_that_nothing_is_before(store: SqlStore, seven: list[LoadBalancer]) -> None:
    page = await store.tenants.list(LoadBalancer, ListQuery(limit=2, marker=seven[2].id, page_reverse=True))

    assert ids(page.items) == ids(seven[:2])
    assert (page.before, page.after) == (False, True)


async def test_an_unknown_marker_is_invalid(store: SqlStore, seven: list[LoadBalancer]) -> None:
    with pytest.raises(Invalid, match="marker"):
        await store.tenants.list(LoadBalancer, ListQuery(marker="nope"))
    with pytest.raises(Invalid, match="marker"):
        await store.tenants.list(LoadBalancer, ListQuery(marker=seven[0].id, project_id="other"))


@pytest.mark.parametrize("marker", ["", "\x00", "x" * 500])
async def test_nonsense_as_marker_is_invalid(store: SqlStore, marker: str) -> None:
    with pytest.raises(Invalid, match="marker"):
        await store.tenants.list(LoadBalancer, ListQuery(marker=marker))


@pytest.mark.parametrize("name", ["nope", "tags", "live_key", "pending_deadline", "listener_ids", "id; DROP TABLE x"])
async def test_unknown_names_are_invalid(store: SqlStore, name: str) -> None:
    with pytest.raises(Invalid, match="filter"):
        await store.tenants.list(LoadBalancer, ListQuery(filters={name: ("x",)}))
    with pytest.raises(Invalid, match="sort"):
        await store.tenants.list(LoadBalancer, ListQuery(sort=((name, False),)))


async def test_a_negative_limit_is_invalid(store: SqlStore) -> None:
    with pytest.raises(Invalid, match="limit"):
        await store.tenants.list(LoadBalancer, ListQuery(limit=-1))


# -- filters


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"name": ("name-0",)}, [0, 3, 6]),
        ({"name": ("name-0", "name-1")}, [0, 1, 3, 4, 6]),
        ({"name": ("name-0",), "admin_state_up": ("False",)}, [0, 6]),
        ({"admin_state_up": (True,)}, [1, 3, 5]),
        ({"revision": ("2",)}, [0, 2, 4, 6]),
        ({"updated_at": (None,)}, [1, 3, 5]),
        ({"shard_id": (None, "x")}, [0, 1, 2, 3, 4, 5, 6]),
        ({"provider": ("nope",)}, []),
        ({"name": ()}, []),
        ({"vip_network_id": ("network-1",), "provisioning_status": ("PENDING_CREATE",)}, [0, 1, 2, 3, 4, 5, 6]),
        ({"deleted": ("true",)}, []),
    ],
)
async def test_filters_match_any_of_their_values(
    store: SqlStore, seven: list[LoadBalancer], filters: dict[str, tuple[Any, ...]], expected: list[int]
) -> None:
    page = await store.tenants.list(LoadBalancer, ListQuery(filters=filters))

    assert ids(page.items) == [seven[number].id for number in expected]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (LoadBalancer, "admin_state_up", "maybe"),
        (LoadBalancer, "revision", "two"),
        (LoadBalancer, "revision", 2**63),
        (LoadBalancer, "created_at", "yesterday"),
        (LoadBalancer, "name", "nul\x00"),
        (Listener, "protocol_port", "1.5"),
        (Listener, "protocol_port", 2**31),
        (Member, "weight", 1.5),
    ],
)
async def test_a_value_of_the_wrong_type_is_invalid_and_names_the_filter(
    store: SqlStore, kind: Any, name: str, value: Any
) -> None:
    with pytest.raises(Invalid, match=name):
        await store.tenants.list(kind, ListQuery(filters={name: (value,)}))


async def test_filters_and_pages_work_together(store: SqlStore, seven: list[LoadBalancer]) -> None:
    found = await pages(store, LoadBalancer, limit=1, filters={"name": ("name-0",)})

    assert list(itertools.chain(*found)) == [seven[0].id, seven[3].id, seven[6].id]


async def test_a_project_sees_its_own(store: SqlStore, seven: list[LoadBalancer]) -> None:
    other = await create(store, bare(project_id="other"))

    assert ids((await store.tenants.list(LoadBalancer, ListQuery(project_id="other"))).items) == [
        other.load_balancer.id
    ]
    assert len((await store.tenants.list(LoadBalancer, ListQuery(project_id=PROJECT))).items) == COUNT


# -- kinds


async def test_listed_objects_are_those_that_get_answers(store: SqlStore) -> None:
    await create(store, tree(listeners=2, members=3))
    await create(store, tree(listeners=1, members=1))

    for kind in (LoadBalancer, Listener, Pool, Member, HealthMonitor):
        for row in (await store.tenants.list(kind, ListQuery())).items:
            assert await store.tenants.get(kind, row.id, project_id=None) == row


async def test_children_are_filtered_by_their_load_balancer(store: SqlStore) -> None:
    stored = await create(store)
    await create(store)

    page = await store.tenants.list(Listener, ListQuery(filters={"load_balancer_id": (stored.load_balancer.id,)}))

    assert ids(page.items) == ids(stored.listeners)


async def test_members_are_listed_by_pool(store: SqlStore) -> None:
    stored = await create(store, tree(members=3))
    await create(store)

    page = await store.tenants.list(Member, ListQuery(limit=2), parent_id=stored.pools[0].id)

    assert len(page.items) == 2
    assert {row.pool_id for row in page.items} == {stored.pools[0].id}


async def test_members_of_an_unknown_pool_are_not_found_and_of_an_empty_one_none(store: SqlStore) -> None:
    stored = await create(store, tree(members=0))

    assert (await store.tenants.list(Member, ListQuery(), parent_id=stored.pools[0].id)).items == ()
    with pytest.raises(NotFound, match="Pool nope not found"):
        await store.tenants.list(Member, ListQuery(), parent_id="nope")
    with pytest.raises(NotFound):
        await store.tenants.list(Member, ListQuery(project_id="other"), parent_id=stored.pools[0].id)


async def test_deleted_ones_are_listed_until_they_are_gone(store: SqlStore) -> None:
    await placed(store)
    stored = await create(store, LoadBalancerTree(load_balancer=load_balancer(), listeners=(listener(),)))
    await store.tenants.delete_load_balancer(stored.load_balancer.id, cascade=True, project_id=None)

    (root,) = (await store.tenants.list(LoadBalancer, ListQuery())).items
    assert (root.deleted, root.listener_ids) == (True, (stored.listeners[0].id,))
    gone = ListQuery(filters={"provisioning_status": ("PENDING_DELETE",)})
    assert ids((await store.tenants.list(Listener, gone)).items) == ids(stored.listeners)


async def test_lists_are_filtered_by_what_is_in_them(store: SqlStore) -> None:
    root = (await create(store, bare())).load_balancer
    for port, versions in ((80, ()), (81, ("TLSv1.2",)), (82, ("TLSv1", "TLSv1.2"))):
        row = listener(load_balancer_id=root.id, protocol_port=port, tls_versions=versions)
        await store.tenants.add_listener(row, project_id=None)

    async def ports(*values: str) -> list[int]:
        page = await store.tenants.list(
            Listener, ListQuery(filters={"tls_versions": values}, sort=(("protocol_port", False),))
        )
        return [row.protocol_port for row in page.items]

    assert await ports("TLSv1.2") == [81, 82]
    assert await ports("TLSv1") == await ports("TLSv1", "TLSv1.3") == [82]
    assert await ports("") == [80] and await ports("", "TLSv1") == [80, 82]
    assert await ports("tlsv1") == await ports('"') == await ports("TLSv1%") == []
    with pytest.raises(Invalid, match="tls_versions"):
        await store.tenants.list(Listener, ListQuery(sort=(("tls_versions", False),)))


MANY = 2_000


async def fill(store: SqlStore) -> None:
    """Many load balancers; one in a hundred failed."""
    made = [
        load_balancer(
            name=f"name-{number}",
            vip=Vip(address=f"10.0.{number >> 8}.{number & 255}", subnet_id="s", network_id="n", port_id=f"{number}"),
            provisioning_status=ProvisioningStatus.ACTIVE if number % 100 else ProvisioningStatus.ERROR,
            operating_status=OperatingStatus.ONLINE if number % 100 else OperatingStatus.ERROR,
            created_at=float(number),
        )
        for number in range(MANY)
    ]
    rows = [row_from_resource(root) for root in made]
    analyze = "ANALYZE TABLE load_balancer" if is_mariadb(store) else "ANALYZE load_balancer"
    await store.database.write(lambda connection: connection.execute(schema.load_balancer.insert(), rows))
    await store.database.write(lambda connection: connection.exec_driver_sql(analyze).close())


def is_mariadb(store: SqlStore) -> bool:
    return store.database.sync_engines()[0].dialect.name in MARIADB_DIALECTS


async def test_filters_over_all_projects_use_an_index(store: SqlStore) -> None:
    await fill(store)
    marker = (await store.tenants.list(LoadBalancer, ListQuery(limit=1))).items[0].id
    filters = {"name": "name-7", "vip_address": "10.0.1.1", "provisioning_status": "ERROR", "operating_status": "ERROR"}
    for attribute, value in filters.items():
        for after in (None, marker):
            query = ListQuery(filters={attribute: (value,)}, limit=10, marker=after)
            plan = await plan_of(store, partial(store.tenants.list, LoadBalancer, query), small=False)
            assert f"ix_load_balancer_{attribute}_created" in plan, plan
    plan = await plan_of(store, lambda: store.tenants.list(LoadBalancer, ListQuery(limit=10)), small=False)
    assert "ix_load_balancer_created" in plan, plan
