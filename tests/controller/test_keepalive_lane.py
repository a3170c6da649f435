"""Keepalives while reports have every place there is."""

import asyncio
from collections.abc import Sequence
from typing import Any

from evenkeel.bus.memory import MemoryBus, MemoryHub
from evenkeel.cmd.process.runtime import SystemClock
from evenkeel.controller.service import Controller
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.environments import Environment
from evenkeel.core.protocol import messages as m
from tests.waiting import eventually

PATIENCE_SECONDS = 60.0


class Store:
    """Takes reports and keeps them."""

    def __init__(self) -> None:
        self.recorded = 0
        self.go_on = asyncio.Event()
        self.operators = self.ownership = self.reports = self.renewals = self.scheduling = self.attachments = self
        self.tenants = self.acme = self

    async def environments(self) -> list[Environment]:
        return [Environment(name="e", device_driver="noop")]

    async def release_unused_networks(self, *, limit: int) -> int:
        return 0

    async def record_applied(self, call: m.ReportApplied, **_kw: Any) -> m.ReportReceipt:
        self.recorded += 1
        await self.go_on.wait()
        return m.ReportReceipt()

    async def renew_session(self, *_args: Any, **_kw: Any) -> m.SessionState:
        return m.SessionState(ttl_seconds=5.0, assignments_revision=1)

    async def renew_sessions(self, calls: Sequence[m.Keepalive], **_kw: Any) -> list[m.SessionState | None]:
        return [await self.renew_session() for _ in calls]


async def test_a_keepalive_is_answered_while_200_reports_wait() -> None:
    hub, store = MemoryHub(), Store()
    bus, agent = MemoryBus(hub), MemoryBus(hub)
    await bus.start()
    await agent.start()
    settings = ControllerSettings()
    controller = Controller(store=store, bus=bus, clock=SystemClock(), settings=settings)  # type: ignore[arg-type]
    await controller._consume_environments()
    report = m.ReportApplied(agent_id="a", session_id="s", shard_id="x", epoch=1, outcomes=())
    waiting = [
        asyncio.create_task(agent.call(m.callback_queue("e"), report, timeout_seconds=PATIENCE_SECONDS))
        for _ in range(200)
    ]
    await eventually(lambda: store.recorded == settings.callback_concurrency)
    keepalive = m.Keepalive(agent_id="a", session_id="s")
    for _ in range(3):
        told = await agent.call(m.keepalive_queue("e"), keepalive, timeout_seconds=PATIENCE_SECONDS)
        assert isinstance(told, m.SessionState)
    assert store.recorded == settings.callback_concurrency
    store.go_on.set()
    await asyncio.gather(*waiting)
    await controller.stop()
    await agent.close()
    await bus.close()
