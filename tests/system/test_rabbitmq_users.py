"""Controllers and agents over RabbitMQ, every agent with a user of its own that may do nothing else.

In real time: RabbitMQ's permissions are what is tested.
"""

import asyncio
from pathlib import Path

import pytest

from evenkeel.bus.access import AgentAccess, ControllerAccess, impersonation_refusal
from evenkeel.bus.factory import open_bus
from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.ports import Bus
from tests.bus.patience import be_patient
from tests.services.rabbitmq import SharedRabbitMQ
from tests.system.world import ENVIRONMENT, WatchedBus, World
from tests.waiting import eventually


class RabbitWorld(World):
    """Over the broker; agents are killed by breaking their connections."""

    def __init__(self, directory: Path, broker: SharedRabbitMQ) -> None:
        super().__init__(directory)
        self._broker = broker

    async def _bus(self, name: str) -> WatchedBus:
        bus: Bus
        if name.startswith("c"):
            bus = open_bus(self._broker.url, name=name, access=ControllerAccess(refusal=impersonation_refusal))
        else:
            user = default_agent_id(ENVIRONMENT, 1, name)
            url = self._broker.url.replace("guest:guest", f"{user}:s3cret")
            bus = open_bus(url, name=name, access=AgentAccess(user=user))
        await bus.start()
        self._buses[name] = bus  # type: ignore[assignment]
        return bus  # type: ignore[return-value]


@pytest.mark.services
@pytest.mark.real_time
async def test_a_load_balancer_lives_and_moves_with_agents_that_may_do_nothing_else(
    tmp_path: Path, rabbitmq: SharedRabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch.setattr)
    for host in ("h0", "h1"):
        await asyncio.to_thread(rabbitmq.add_agent, ENVIRONMENT, 1, host, password="s3cret")
    world = RabbitWorld(tmp_path, rabbitmq)
    try:
        await world.start()
        load_balancer_id = await world.create("tenant")
        await eventually(lambda: world.active(load_balancer_id))
        await world.rename(load_balancer_id, "renamed")  # which the agent hears of by a hint
        await eventually(lambda: world.active(load_balancer_id))
        home = await world.acting(load_balancer_id)
        world.agents[home].stop()
        await asyncio.wait_for(world.tasks.pop(home), 60)
        other = {"h0": "h1", "h1": "h0"}[home]

        async def moved() -> bool:
            return await world.acting(load_balancer_id) == other

        await eventually(moved)
        await world.rename(load_balancer_id, "moved")
        await eventually(lambda: world.active(load_balancer_id))
        # settled: ACTIVE means that the devices hold it
        assert world.on_device("tenant") == {load_balancer_id: "moved"}
    finally:
        await world.close()
