"""A tenant's partition is given back to F5's agent, and adopted again: what its load balancers show meanwhile."""

import uuid

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.devices.plans import PlanAnswer
from tests.system.test_removed_partitions import PairWorld, acts_elsewhere, world
from tests.system.world import ENVIRONMENT
from tests.waiting import eventually

__all__ = ["world"]


async def ask(world: PairWorld, load_balancer_id: str, *, give_back: bool) -> PlanAnswer:
    """The answer to ``evenkeel adopt --yes`` of the load balancer's project, with ``--back`` or without."""
    shard = await world.store.operators.hosting(load_balancer_id)
    assert shard is not None
    host = await world.acting(load_balancer_id)
    owner = ShardOwner(shard_id=shard.id, environment=ENVIRONMENT, group_number=1, host=host)
    inquiry_id = str(uuid.uuid4())
    await world.store.operators.add_plan_inquiry(inquiry_id, shard.id, "")
    driver = world.controllers["c1"].driver
    await driver.send_inquiry(owner, "", inquiry_id, adopt=True, give_back=give_back)
    found: list[PlanAnswer] = []

    async def answered() -> bool:
        answer = await world.store.operators.plan_answer(inquiry_id)
        found.extend([answer] if answer is not None else [])
        return bool(found)

    await eventually(answered)
    return found[0]


async def test_changes_wait_with_the_reason_while_a_partition_is_given_back(world: PairWorld) -> None:
    await world.start(agents=2)
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    before = world.addresses("a")
    answer = await ask(world, lb, give_back=True)
    assert not answer.problem and len(answer.devices) == 2
    await world.rename(lb, "waits")

    async def refused() -> bool:
        root = await world.root(lb)
        return root.provisioning_status == "PENDING_UPDATE" and "'evenkeel adopt'" in root.status_reason

    await eventually(refused)
    former = await world.acting(lb)
    await world.vanish(former)
    await eventually(lambda: acts_elsewhere(world, lb, former))
    await world.rename(lb, "waits for the other agent, too")
    await eventually(refused)
    assert world.addresses("a") == before  # settled: nothing of the partition may be changed
    answer = await ask(world, lb, give_back=False)
    assert not answer.problem
    await eventually(lambda: world.active(lb))
