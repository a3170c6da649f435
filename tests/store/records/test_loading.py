from msgspec.structs import replace

from evenkeel.api.neutron.v2 import trees as v2
from evenkeel.api.octavia import trees as octavia
from evenkeel.api.operators.trees import tree_pieces
from evenkeel.store.records.loading import load_trees
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import create, placed, tree


async def test_trees_come_in_the_order_requested_and_unknown_ones_are_left_out(store: SqlStore) -> None:
    stored = [(await create(store, tree(listeners=2, members=2))).load_balancer.id for _ in range(3)]
    wanted = [stored[2], "nope", stored[0], stored[2]]

    trees = await store.database.read(lambda connection: load_trees(connection, wanted))

    assert list(trees) == [stored[2], stored[0]]
    for load_balancer_id, found in trees.items():
        assert found == await store.tenants.tree(load_balancer_id, project_id=None)
        assert {row.load_balancer_id for row in (*found.listeners, *found.members)} == {load_balancer_id}


async def test_nothing_requested_is_nothing(store: SqlStore) -> None:
    assert await store.database.read(lambda connection: load_trees(connection, [])) == {}


async def test_rows_marked_deleted_are_part_of_the_tree(store: SqlStore) -> None:
    await placed(store)
    stored = await create(store)
    await store.tenants.delete_load_balancer(stored.load_balancer.id, cascade=True, project_id=None)

    found = await store.tenants.tree(stored.load_balancer.id, project_id=None)

    assert found.load_balancer.deleted
    assert (len(found.listeners), len(found.pools), len(found.members)) == (1, 1, 2)
    assert found.pools[0].health_monitor_id == stored.health_monitors[0].id


async def test_trees_of_statuses_have_what_status_trees_show(store: SqlStore) -> None:
    made = tree(listeners=2, members=3)
    stored = await create(store, replace(made, members=(replace(made.members[0], name="first"), *made.members[1:])))
    root = stored.load_balancer.id

    whole = await store.tenants.tree(root, project_id=None)
    found = await store.tenants.tree(root, project_id=None, statuses_only=True)

    assert b"".join(octavia.status_pieces(found)) == b"".join(octavia.status_pieces(whole))
    assert b"".join(v2.status_pieces(found)) == b"".join(v2.status_pieces(whole))
    assert b"".join(tree_pieces(found)) == b"".join(tree_pieces(whole))
    assert "first" in {member.name for member in found.members}
