import pytest
from msgspec.structs import replace

from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.resources.model import LoadBalancerTree, Member
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.sql_store import SqlStore
from evenkeel.store.tenants.members import plan_members
from evenkeel.store.writing.revision_lock import LockedLoadBalancer
from tests.store.builders import PROJECT, confirm, create, ids, member, placed, tree

LOCKED = LockedLoadBalancer("lb", PROJECT, 7, True, 100.0)


def test_the_plan_matches_by_address_and_port() -> None:
    kept, dropped = member(1, pool_id="p"), member(2, pool_id="p")
    same_address_other_port = member(1, pool_id="p", protocol_port=9)

    plan = plan_members([kept, dropped], [member(1, pool_id="p"), same_address_other_port], LOCKED, additive_only=False)

    assert ids(plan.added) == [same_address_other_port.id]
    assert (plan.changed, ids(plan.removed)) == ([], [dropped.id])
    assert ids(plan.result) == [kept.id, same_address_other_port.id]


def test_the_plan_changes_only_what_differs() -> None:
    before = member(1, provisioning_status=ProvisioningStatus.ERROR, subnet_id="s", created_at=5.0)

    plan = plan_members([before], [member(1, weight=9)], LOCKED, additive_only=False)

    assert plan.changed == [
        replace(before, weight=9, provisioning_status=ProvisioningStatus.PENDING_UPDATE, revision=7, updated_at=100.0)
    ]


def test_an_additive_plan_removes_nothing() -> None:
    plan = plan_members([member(1)], [member(2)], LOCKED, additive_only=True)

    assert (len(plan.added), plan.removed) == (1, [])


@pytest.fixture
async def stored(store: SqlStore) -> LoadBalancerTree:
    """Placed, and confirmed by the device; three members."""
    await placed(store)
    made = await create(store, tree(members=3))
    await confirm(store, made.load_balancer.id)
    return await store.tenants.tree(made.load_balancer.id, project_id=None)


async def members_of(store: SqlStore, stored: LoadBalancerTree) -> dict[str, Member]:
    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    return {f"{row.address}{' gone' if row.deleted else ''}": row for row in now.members}


async def test_members_are_made_exactly_those(store: SqlStore, stored: LoadBalancerTree) -> None:
    before = await members_of(store, stored)
    wanted = [member(0), member(1, weight=5), member(8), member(9)]

    change = await store.tenants.replace_members(stored.pools[0].id, wanted, additive_only=False, project_id=PROJECT)

    now = await members_of(store, stored)
    assert set(now) == {"10.1.0.1", "10.1.0.2", "10.1.0.3 gone", "10.1.0.9", "10.1.0.10"}
    assert now["10.1.0.1"] == before["10.1.0.1"]
    assert (now["10.1.0.2"].weight, now["10.1.0.2"].id) == (5, before["10.1.0.2"].id)
    assert now["10.1.0.2"].provisioning_status is ProvisioningStatus.PENDING_UPDATE
    assert now["10.1.0.3 gone"].provisioning_status is ProvisioningStatus.PENDING_DELETE
    assert now["10.1.0.9"].provisioning_status is ProvisioningStatus.PENDING_CREATE
    assert change.resources == tuple(now[f"10.1.0.{last}"] for last in (1, 2, 9, 10))
    assert change.revision == 2


async def test_additive_only_leaves_the_others(store: SqlStore, stored: LoadBalancerTree) -> None:
    await store.tenants.replace_members(stored.pools[0].id, [member(9)], additive_only=True, project_id=PROJECT)

    assert set(await members_of(store, stored)) == {"10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.10"}


async def test_a_pool_can_be_emptied_and_filled_again(store: SqlStore, stored: LoadBalancerTree) -> None:
    await store.tenants.replace_members(stored.pools[0].id, [], additive_only=False, project_id=None)

    await store.tenants.replace_members(stored.pools[0].id, [member(0)], additive_only=False, project_id=None)

    live = [row for row in (await members_of(store, stored)).values() if not row.deleted]
    assert [row.address for row in live] == ["10.1.0.1"]


async def test_in_one_never_placed_removed_members_go_at_once(store: SqlStore) -> None:
    made = await create(store, tree(members=3))

    await store.tenants.replace_members(made.pools[0].id, [member(0)], additive_only=False, project_id=None)

    assert set(await members_of(store, made)) == {"10.1.0.1"}


async def test_the_same_member_twice_is_a_conflict(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Conflict, match="Another member on this pool"):
        await store.tenants.replace_members(
            stored.pools[0].id, [member(4), member(4)], additive_only=False, project_id=None
        )


async def test_an_unknown_pool_is_not_found(store: SqlStore) -> None:
    with pytest.raises(NotFound, match="Pool nope not found"):
        await store.tenants.replace_members("nope", [], additive_only=False, project_id=None)
