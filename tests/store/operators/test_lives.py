"""Which agents are alive, without their load."""

from evenkeel.core.control.agents import AgentLiveness
from evenkeel.store.records import schema
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]


async def test_each_agent_is_alive_silent_stopped_or_given_up(world: World) -> None:
    for agent_id in ("alive", "given-up", "silent", "stopped"):
        await world.agent(agent_id)
    hosts = {row.id: row.host for row in await world.rows(schema.agent)}
    await world.expire("silent")
    await world.expire("given-up")
    await world.change(schema.agent, "given-up", forced_down=True)
    await world.store.ownership.end_session("stopped", "session-of-stopped")
    states = {"alive": (True, False), "given-up": (False, False), "silent": (False, True), "stopped": (False, False)}
    assert await world.store.operators.agent_liveness() == tuple(
        AgentLiveness(id=id_, host=hosts[id_], alive=alive, silent=silent, environment="east", group_number=1)
        for id_, (alive, silent) in states.items()
    )
