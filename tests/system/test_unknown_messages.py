"""A message of a type that a controller does not know is set aside, and disturbs nothing."""

from pathlib import Path

from evenkeel.core.protocol import messages as m
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually


async def test_a_call_of_an_unknown_type_is_set_aside_and_disturbs_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        await world.start(controllers=1, agents=1)
        load_balancer_id = await world.create("a")
        await eventually(lambda: world.active(load_balancer_id))
        queue = m.callback_queue(ENVIRONMENT)
        world.hub.put(queue, b'{"version":2,"id":"x","reply_to":"y","body":{"type":"of_the_future","agent_id":"a"}}')
        await eventually(lambda: [dead.reason for dead in world.hub.dead])
        assert "unknown type" in world.hub.dead[0].reason
        await world.rename(load_balancer_id, "still served")
        await eventually(lambda: world.active(load_balancer_id))
    finally:
        await world.close()
