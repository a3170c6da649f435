import pytest

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.resources.model import HealthMonitor, Listener, ListenerStatistics, LoadBalancer, Member, Pool
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import PROJECT, confirm, create, tree
from tests.store.conftest import statements_of


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        (LoadBalancer, "Load Balancer"),
        (Listener, "Listener"),
        (Pool, "Pool"),
        (Member, "Member"),
        (HealthMonitor, "Health Monitor"),
    ],
)
async def test_unknown_object_is_not_found_by_its_kind_and_id(store: SqlStore, kind: type[object], title: str) -> None:
    with pytest.raises(NotFound, match=rf"^{title} nope not found\.$"):
        await store.tenants.get(kind, "nope", project_id=None)


@pytest.mark.parametrize("nonsense", ["", "\x00", "a\x00b", "x" * 1000, "'; --", "ü"])
async def test_nonsense_as_id_is_not_found(store: SqlStore, nonsense: str) -> None:
    with pytest.raises(NotFound):
        await store.tenants.get(LoadBalancer, nonsense, project_id=None)
    with pytest.raises(NotFound):
        await store.tenants.get(Member, nonsense, parent_id=nonsense, project_id=nonsense)
    with pytest.raises(NotFound):
        await store.tenants.tree(nonsense, project_id=None)
    with pytest.raises(NotFound):
        await store.tenants.update_load_balancer(nonsense, {"name": "x"}, project_id=None)
    with pytest.raises(NotFound):
        await store.tenants.delete_child(Pool, nonsense, project_id=None)
    with pytest.raises(NotFound):
        await store.tenants.list(Member, ListQuery(), parent_id=nonsense)


async def test_another_project_sees_nothing(store: SqlStore) -> None:
    stored = await create(store)

    with pytest.raises(NotFound):
        await store.tenants.get(LoadBalancer, stored.load_balancer.id, project_id="other")
    with pytest.raises(NotFound):
        await store.tenants.get(Member, stored.members[0].id, project_id="other")
    with pytest.raises(NotFound, match="Load Balancer"):
        await store.tenants.tree(stored.load_balancer.id, project_id="other")
    with pytest.raises(NotFound, match="Load Balancer nope"):
        await store.tenants.tree("nope", project_id=None)
    assert await store.tenants.get(Member, stored.members[0].id, project_id=PROJECT)


@pytest.mark.parametrize("kind", [LoadBalancer, Listener, Pool, Member, HealthMonitor])
async def test_load_balancer_of_an_object_is_found_by_one_query(store: SqlStore, kind: type[object]) -> None:
    it = await create(store)
    await create(store)
    rows = (it.load_balancer, *it.listeners, *it.pools, *it.members, *it.health_monitors)
    object_id = next(row.id for row in rows if isinstance(row, kind))

    with statements_of(store.database) as seen:
        found = await store.tenants.served_by(kind, object_id, project_id=PROJECT)
    assert len(seen) == 1
    assert (found.load_balancer_id, found.project_id) == (it.load_balancer.id, PROJECT)
    assert (found.provider, found.device_driver) == ("prod", "noop")
    assert found.vip_address == it.load_balancer.vip.address
    assert await store.tenants.served_by(kind, object_id, project_id=None) == found
    for wanted, project in ((object_id, "other"), ("nope", None), ("a\x00b", None)):
        with pytest.raises(NotFound):
            await store.tenants.served_by(kind, wanted, project_id=project)


async def test_statistics_are_summed(store: SqlStore) -> None:
    stored = await create(store, tree(listeners=3))
    big = 2**62
    rows = [
        {
            "listener_id": row.id,
            "load_balancer_id": stored.load_balancer.id,
            "bytes_in": number if number else big,
            "bytes_out": 2,
            "active_connections": 3,
            "total_connections": 4,
            "request_errors": 5,
        }
        for number, row in enumerate(stored.listeners[:2])
    ]
    await store.database.write(lambda connection: connection.execute(schema.listener_statistics.insert(), rows))

    total = await store.tenants.statistics(stored.load_balancer.id)
    one = await store.tenants.statistics(stored.load_balancer.id, listener_id=stored.listeners[1].id)

    assert total == ListenerStatistics(
        bytes_in=big + 1, bytes_out=4, active_connections=6, total_connections=8, request_errors=10
    )
    assert type(total.bytes_in) is int
    assert (one.bytes_in, one.bytes_out) == (1, 2)


async def test_statistics_without_a_report_are_zero(store: SqlStore) -> None:
    stored = await create(store)

    assert await store.tenants.statistics(stored.load_balancer.id) == ListenerStatistics()


async def test_pending_names_those_that_no_device_has_applied(store: SqlStore) -> None:
    waiting, applied = (await create(store)).load_balancer.id, (await create(store)).load_balancer.id
    await confirm(store, applied)
    with statements_of(store.database) as seen:
        assert await store.tenants.find_pending([waiting, applied, "nope"]) == {waiting}
    assert len(seen) == 1
