"""How agents ask."""

from typing import Any

import pytest

from evenkeel.agent.controllers import LONGEST_SECONDS, Controllers
from evenkeel.core import messages as m
from evenkeel.core.errors import CallTimeout

CALL = m.GetServices(agent_id="a", session_id="s", shard_id="x", epoch=1)


class SlowBus:
    """Answers whoever waits long enough."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.waited: list[float] = []

    async def call(self, queue: str, message: m.Call, *, timeout_seconds: float) -> m.AnyReply:
        self.waited.append(timeout_seconds)
        if timeout_seconds < self.seconds:
            raise CallTimeout("no answer")
        return m.Services(services=())


async def test_definitions_that_take_long_are_waited_for_longer_and_others_no_longer_than_before() -> None:
    slow: Any = SlowBus(35.0)
    controllers = Controllers(slow, "demo", timeout_seconds=5.0)
    for _ in range(3):
        with pytest.raises(CallTimeout):
            await controllers.services(CALL)
    await controllers.services(CALL)
    slow.seconds = 0.0
    for _ in range(5):
        await controllers.services(CALL)
    assert slow.waited == [5.0, 10.0, 20.0, 40.0, 20.0, 10.0, 5.0, 5.0, 5.0]
    slow.seconds = 1e9
    for _ in range(9):
        with pytest.raises(CallTimeout):
            await controllers.services(CALL)
    assert max(slow.waited) == LONGEST_SECONDS
