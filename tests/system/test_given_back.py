"""A tenant's partition is given back to F5's agent, and adopted again: what its load balancers show meanwhile."""

from tests.system.adoptions import adoption_answer
from tests.system.test_removed_partitions import PairWorld, acts_elsewhere, world
from tests.waiting import eventually

__all__ = ["world"]


async def test_changes_wait_with_the_reason_while_a_partition_is_given_back(world: PairWorld) -> None:
    await world.start(agents=2)
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    before = world.addresses("a")
    answer = await adoption_answer(world, lb, give_back=True)
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
    answer = await adoption_answer(world, lb, give_back=False)
    assert not answer.problem
    await eventually(lambda: world.active(lb))
