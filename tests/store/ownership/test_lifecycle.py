"""One load balancer's way through tenant, scheduler and agent on the whole store."""

import pytest

from evenkeel.core.kit.errors import NotFound
from evenkeel.core.protocol.messages import Register, ReportApplied
from evenkeel.core.resources.model import Member
from evenkeel.core.resources.statuses import HaType, ProvisioningStatus
from evenkeel.store.sql_store import SqlStore
from tests.store import builders as make
from tests.store.ownership_world import TTL_SECONDS, applied

CALL = Register(
    agent_id="a1",
    session_id="s1",
    environment="prod",
    group_number=1,
    host="h1",
    device_driver="noop",
    ha_type=HaType.STANDALONE,
)


async def reconcile(store: SqlStore) -> list[str]:
    """An agent's pass over all its work, all of which its device takes; what it did."""
    done: list[str] = []
    for shard in (await store.ownership.assignments("a1", "s1", work_limit=100)).shards:
        answer = (
            await store.ownership.services(
                "a1", "s1", shard.shard_id, shard.epoch, load_balancer_ids=shard.work, after_id="", limit=100
            )
        ).page
        assert answer.missing == ()
        outcomes = tuple(applied(each.load_balancer_id, each.revision) for each in answer.services)
        report = ReportApplied(
            agent_id="a1", session_id="s1", shard_id=shard.shard_id, epoch=shard.epoch, outcomes=outcomes
        )
        assert not (await store.reports.record_applied(report)).stale
        done += [each.load_balancer_id for each in answer.services]
    return done


async def test_from_create_to_removal(store: SqlStore) -> None:
    lb_id = (await make.create(store)).load_balancer.id
    assert await store.scheduling.read_placement_groups("prod", make.PROJECT, settle_seconds=0.0) == ()
    await store.scheduling.store_unplaced_reason([lb_id], "waiting: no agent")
    await store.ownership.register(CALL, ttl_seconds=TTL_SECONDS)
    ((found, environment, project_id),) = await store.scheduling.read_unplaced_load_balancers(limit=10)
    assert await store.scheduling.place_load_balancer(found, environment, project_id, 1, "a1") is not None
    assert await reconcile(store) == [lb_id]
    tree = await store.tenants.tree(lb_id, project_id=None)
    parts = (tree.load_balancer, *tree.listeners, *tree.pools, *tree.members, *tree.health_monitors)
    assert {part.provisioning_status for part in parts} == {ProvisioningStatus.ACTIVE}
    assert await reconcile(store) == []

    await store.tenants.update_child(Member, tree.members[0].id, {"weight": 7}, project_id=None)
    await store.tenants.delete_child(Member, tree.members[1].id, project_id=None)
    assert await reconcile(store) == [lb_id]
    tree = await store.tenants.tree(lb_id, project_id=None)
    assert [member.weight for member in tree.members] == [7]
    assert tree.load_balancer.applied_revision == tree.load_balancer.revision == 3

    await store.tenants.delete_load_balancer(lb_id, cascade=True, project_id=None)
    assert await reconcile(store) == [lb_id]
    assert sum((await store.operators.load_balancer_summary()).by_status.values()) == 0
    kinds = [event.kind for event in await store.operators.events()]
    assert kinds.count("load_balancer_active") == 2 and kinds[-1] == "load_balancer_deleted"
    with pytest.raises(NotFound):
        await store.tenants.tree(lb_id, project_id=None)
