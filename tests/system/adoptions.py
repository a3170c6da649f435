"""What an operator's ``evenkeel adopt`` asks an acting agent, and its answer."""

import uuid

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.devices.plans import PlanAnswer
from evenkeel.core.protocol.inquiries import Inquiry
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually


async def adoption_answer(
    world: World, load_balancer_id: str, *, adopt: bool = True, give_back: bool = False, keep_irules: bool = False
) -> PlanAnswer:
    """The answer about the load balancer's project. ``adopt``: ``--yes``; ``give_back``: ``--back``."""
    shard = await world.store.operators.shard_of_load_balancer(load_balancer_id)
    assert shard is not None
    host = await world.acting(load_balancer_id)
    owner = ShardOwner(shard_id=shard.id, environment=ENVIRONMENT, group_number=1, host=host)
    inquiry_id = str(uuid.uuid4())
    await world.store.operators.add_plan_inquiry(inquiry_id, shard.id, "")
    inquiry = Inquiry(inquiry_id=inquiry_id, apply=adopt, give_back=give_back, keep_irules=keep_irules)
    await world.controllers["c1"].driver.send_inquiry(owner, inquiry)
    found: list[PlanAnswer] = []

    async def answered() -> bool:
        answer = await world.store.operators.plan_answer(inquiry_id)
        found.extend([answer] if answer is not None else [])
        return bool(found)

    await eventually(answered)
    return found[0]
