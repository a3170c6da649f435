"""What load balancers are found by follows their tags, whoever wrote them."""

from sqlalchemy import select

from evenkeel.core.control.lists import ListQuery, TagFilter
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import bare, create, ids

_root, _tag = schema.load_balancer, schema.load_balancer_tag


async def found(store: SqlStore, tag: str) -> list[str]:
    return ids((await store.tenants.list(LoadBalancer, ListQuery(tags=TagFilter(every=(tag,))))).items)


async def rows(store: SqlStore) -> set[tuple[str, str]]:
    statement = select(_tag.c.load_balancer_id, _tag.c.tag)
    return {(row[0], row[1]) for row in await store.database.read(lambda c: c.execute(statement).all())}


async def test_tags_that_are_given_twice_are_stored_once(store: SqlStore) -> None:
    made = (await create(store, bare(tags=("a", "a", "b")))).load_balancer
    assert await rows(store) == {(made.id, "a"), (made.id, "b")}


async def test_a_change_replaces_them_and_others_leave_them(store: SqlStore) -> None:
    made, other = [(await create(store, bare(tags=("a", "b")))).load_balancer for _ in range(2)]
    await store.tenants.update_load_balancer(made.id, {"tags": ("b", "c")}, project_id=None)
    await store.tenants.update_load_balancer(made.id, {"name": "x"}, project_id=None)
    assert [await found(store, tag) for tag in "ac"] == [[other.id], [made.id]]
    assert set(await found(store, "b")) == {made.id, other.id}
    await store.tenants.update_load_balancer(made.id, {"tags": ()}, project_id=None)
    assert await rows(store) == {(other.id, "a"), (other.id, "b")}


async def test_tags_are_deleted_with_the_load_balancer(store: SqlStore) -> None:
    made = (await create(store, bare(tags=("a",)))).load_balancer
    await store.tenants.delete_load_balancer(made.id, cascade=True, project_id=None)
    assert await rows(store) == set()
