"""An agent's life between a bus in memory and controllers that the test plays: sessions come and go, it goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent.service import AgentMisconfigured, AgentService
from evenkeel.bus.memory import MemoryBus, MemoryHub
from evenkeel.cmd.process.runtime import SystemClock
from evenkeel.core.devices.device import DeviceState
from evenkeel.core.protocol import messages as m
from evenkeel.devices.noop import NoopGroup, NoopMemory
from tests.agent.fakes import SETTINGS
from tests.waiting import eventually

QUICK = replace(
    SETTINGS,
    keepalive_interval_seconds=0.02,
    report_interval_seconds=0.05,
    report_spacing_seconds=0.01,
    sync_spacing_seconds=0.01,
    device_check_timeout_seconds=0.05,
    duplicate_patience_seconds=1.0,  # several tries, also where a machine stands still for a moment
)
QUEUE = m.agent_queue(QUICK.environment, QUICK.group_number, QUICK.host)


class Controllers:
    """Behind the environment's queue: remembers every call, and answers as the test says or as nothing were wrong."""

    def __init__(self, hub: MemoryHub) -> None:
        self.bus = MemoryBus(hub, name="controllers")
        self.calls: list[m.AnyMessage] = []
        self.refuses: dict[type[m.AnyMessage], m.Refused] = {}
        self.ttl_seconds = 30.0
        self.assignments = m.Assignments(revision=1, shards=(), history="h1")
        self.pages: dict[str, m.Assignments] = {}
        """By where they begin."""

    async def start(self) -> None:
        await self.bus.start()
        for queue in (m.callback_queue(QUICK.environment), m.transient_keepalive_queue(QUICK.environment)):
            await self.bus.consume(queue, self._handle, concurrency=4)

    async def _handle(self, call: m.AnyMessage) -> m.AnyReply:
        self.calls.append(call)
        if type(call) in self.refuses:
            return self.refuses[type(call)]
        match call:
            case m.Register() | m.Keepalive():
                return m.SessionState(
                    ttl_seconds=self.ttl_seconds,
                    assignments_revision=1,
                    history="h1",
                )
            case m.GetAssignments():
                return self.pages.get(call.after_id, self.assignments)
        return m.Done()

    def seen(self, kind: type[Any]) -> list[Any]:
        return [call for call in self.calls if isinstance(call, kind)]

    def newest_session(self) -> str:
        return str(self.seen(m.Register)[-1].session_id)

    def sessions(self, kind: type[Any]) -> set[str]:
        """In which such calls were made."""
        return {call.session_id for call in self.seen(kind)}


class Bench:
    """An agent and what is around it. ``task``: its life."""

    def __init__(self, device: NoopGroup) -> None:
        self.hub = MemoryHub()
        self.controllers = Controllers(self.hub)
        self.bus = MemoryBus(self.hub, name="agent")
        numbers = count(1)
        self.agent = AgentService(
            bus=self.bus,
            device=device,
            clock=SystemClock(),
            settings=QUICK,
            new_id=lambda: f"session-{next(numbers)}",
            configurations={"report_interval": "0.05"},
        )
        self.task: asyncio.Task[None]


@asynccontextmanager
async def running(device: NoopGroup | None = None, *, controllers: bool = True, **refuses: Any) -> AsyncIterator[Bench]:
    bench = Bench(device or NoopGroup(NoopMemory()))
    bench.controllers.refuses = {getattr(m, name): refusal for name, refusal in refuses.items()}
    if controllers:
        await bench.controllers.start()
    await bench.bus.start()
    bench.task = asyncio.create_task(bench.agent.run())
    try:
        yield bench
    finally:
        bench.task.cancel()
        await asyncio.gather(bench.task, return_exceptions=True)
        await bench.bus.close()
        await bench.controllers.bus.close()


async def soon(condition: Callable[[], Any]) -> Any:
    return await eventually(condition)


async def test_agent_registers_requests_its_assignments_and_reports_its_state() -> None:
    async with running() as bench:
        await soon(lambda: bench.controllers.seen(m.ReportState))
        (registered,) = bench.controllers.seen(m.Register)
        assert (registered.session_id, registered.device_driver) == ("session-1", "noop")
        asked = (await soon(lambda: bench.controllers.seen(m.GetAssignments)))[0]
        assert (asked.agent_id, asked.session_id, asked.takes_parts) == ("agent", "session-1", True)
        told = bench.controllers.seen(m.ReportState)[0]
        assert told.configurations == {"report_interval": "0.05"}
        assert [device.reachable for device in told.devices] == [True]


async def test_an_unchanged_state_is_confirmed_by_keepalives() -> None:
    async with running() as bench:
        await soon(lambda: any(call.as_reported for call in bench.controllers.seen(m.Keepalive)))
        told = len(bench.controllers.seen(m.ReportState))
        bench.agent.note_moved_networks(["network"])
        await soon(lambda: any(call.moved_networks for call in bench.controllers.seen(m.ReportState)[told:]))


async def test_controllers_see_its_session_on_the_bus_for_as_long_as_it_lives() -> None:
    async with running() as bench:
        name = m.presence_name("session-1")  # type: ignore[arg-type]
        await soon(lambda: bench.controllers.bus.present(name))
        bench.agent.stop()
        await bench.task
        assert not await bench.controllers.bus.present(name)


async def test_told_to_stop_it_ends_its_session_and_returns() -> None:
    async with running() as bench:
        await soon(lambda: bench.controllers.seen(m.Keepalive))
        bench.agent.stop()
        await bench.task
        (ended,) = bench.controllers.seen(m.EndSession)
        assert ended.session_id == "session-1"


async def test_a_farewell_that_nobody_takes_does_not_keep_it() -> None:
    async with running(EndSession=m.Refused(code=m.SESSION_LOST, reason="expired")) as bench:
        await soon(lambda: bench.controllers.seen(m.Keepalive))
        bench.agent.stop()
        await bench.task


@pytest.mark.parametrize("call", [m.Keepalive, m.GetAssignments, m.ReportState])
async def test_a_lost_session_is_followed_by_another(call: type[m.AnyMessage]) -> None:
    async with running(**{call.__name__: m.Refused(code=m.SESSION_LOST, reason="expired")}) as bench:
        await soon(lambda: len(bench.controllers.seen(m.Register)) >= 2)
        bench.controllers.refuses = {}
        await soon(lambda: bench.controllers.newest_session() in bench.controllers.sessions(m.Keepalive))
        # settled: the second session has a keepalive; the task may never end
        assert bench.controllers.newest_session() != "session-1" and not bench.task.done()


@pytest.mark.parametrize("call", [m.Keepalive, m.GetAssignments, m.ReportState])
async def test_any_other_refusal_costs_no_session(call: type[m.AnyMessage]) -> None:
    async with running(**{call.__name__: m.Refused(code="busy", reason="try again")}) as bench:
        await soon(lambda: len(bench.controllers.seen(call)) >= 3)
        # settled: there may never be a second one
        assert len(bench.controllers.seen(m.Register)) == 1 and not bench.task.done()


async def test_a_registration_that_is_refused_ends_it_with_code_and_reason() -> None:
    async with running(Register=m.Refused(code="wrong_driver", reason="environment demo takes haproxy")) as bench:
        with pytest.raises(AgentMisconfigured, match=r"refused \(wrong_driver\): environment demo takes haproxy"):
            await bench.task


@pytest.mark.parametrize(
    ("ttl_seconds", "told"),
    [
        (0.05, r"keepalive_interval: 0\.02: at most 0\.017 is allowed, a third of session_ttl .* is 0\.05"),
        (0.1, r"write_budget: 1: at most 0\.08 is allowed, session_ttl of the controllers \(0\.1\)"),
    ],
)
async def test_intervals_that_do_not_fit_the_controllers_session_ttl_end_it(ttl_seconds: float, told: str) -> None:
    async with running(controllers=False) as bench:
        bench.controllers.ttl_seconds = ttl_seconds
        await bench.controllers.start()
        with pytest.raises(AgentMisconfigured, match=told):
            await bench.task
        assert len(bench.controllers.seen(m.EndSession)) == 1


async def test_a_live_twin_ends_it_when_patience_is_over() -> None:
    async with running(Register=m.Refused(code="duplicate", reason="another session stands")) as bench:
        with pytest.raises(AgentMisconfigured, match="another session stands"):
            await bench.task
        assert len(bench.controllers.seen(m.Register)) > 1


async def test_devices_that_stay_unfit_end_it_before_it_asks_anybody() -> None:
    class Unfit(NoopGroup):
        async def check(self) -> tuple[DeviceState, ...]:
            return (DeviceState(name="big-1", reachable=True, problem="LTM is not provisioned"),)

    async with running(Unfit(NoopMemory())) as bench:
        with pytest.raises(AgentMisconfigured, match="big-1: LTM is not provisioned"):
            await bench.task
        assert bench.controllers.calls == []


async def test_told_to_stop_while_no_controller_answers_it_returns() -> None:
    async with running(controllers=False) as bench:
        await soon(lambda: QUEUE in bench.hub.queues)
        bench.agent.stop()
        await asyncio.wait_for(bench.task, 60.0)


async def test_agent_keeps_its_session_over_an_outage_of_the_bus() -> None:
    async with running() as bench:
        await soon(lambda: bench.controllers.seen(m.Keepalive))
        bench.hub.outage = True
        await asyncio.sleep(0.05)
        bench.hub.outage = False
        known = len(bench.controllers.seen(m.Keepalive))
        await soon(lambda: len(bench.controllers.seen(m.Keepalive)) > known)
        assert len(bench.controllers.seen(m.Register)) == 1  # settled: there may never be a second one


async def test_a_hint_about_what_it_does_not_serve_makes_it_ask_what_is_its() -> None:
    async with running() as bench:
        await soon(lambda: bench.controllers.seen(m.ReportState))
        known = len(bench.controllers.seen(m.GetAssignments))
        await bench.controllers.bus.send(QUEUE, m.ApplyHint(shard_id="x", load_balancer_ids=("lb",)))  # type: ignore[arg-type]
        await soon(lambda: len(bench.controllers.seen(m.GetAssignments)) > known)


async def test_shards_that_the_database_has_not_looked_at_are_named_again_until_it_has() -> None:
    shard = m.Assignment(shard_id="shard", project_id="p1", epoch=4)  # type: ignore[arg-type]
    told = m.Assignments(revision=1, shards=(shard,), history="h1")
    async with running() as bench:
        bench.controllers.assignments = told
        await soon(lambda: bench.controllers.seen(m.GetServices))
        bench.controllers.assignments = m.Assignments(revision=2, shards=(), history="h2", served_ignored=True)

        def naming() -> list[m.GetAssignments]:
            return [call for call in bench.controllers.seen(m.GetAssignments) if call.served]

        await soon(lambda: len(naming()) > 1)
        # settled: no call may name anything else
        assert {call.served for call in naming()} == {(m.FormerShard(project_id="p1", epoch=4),)}
        bench.controllers.assignments = m.Assignments(revision=3, shards=(), history="h2")
        await soon(lambda: not bench.controllers.seen(m.GetAssignments)[-1].served)


async def test_networks_whose_ports_moved_are_reported_twice_also_after_a_refusal() -> None:
    async with running() as bench:
        await soon(lambda: bench.controllers.seen(m.ReportState))
        bench.controllers.refuses[m.ReportState] = m.Refused(code="busy", reason="later")
        before = len(bench.controllers.seen(m.ReportState))
        bench.agent.note_moved_networks({"net-2", "net-1"})
        await soon(lambda: len(bench.controllers.seen(m.ReportState)) > before + 2)
        del bench.controllers.refuses[m.ReportState]
        told = bench.controllers.seen(m.ReportState)
        await soon(lambda: bench.controllers.seen(m.ReportState)[-1].moved_networks == ())
        first = len(told)
        after = [each.moved_networks for each in bench.controllers.seen(m.ReportState)[first:]]
        assert after[:2] == [("net-1", "net-2")] * 2 and set(after[2:]) <= {()}
        bench.agent.note_moved_networks(f"net-{number}" for number in range(2 * m.MOVED_NETWORKS_MAX))  # type: ignore[arg-type]
        await soon(lambda: bench.controllers.seen(m.ReportState)[-1].moved_networks)
        # settled: no report may have more
        assert len(bench.controllers.seen(m.ReportState)[-1].moved_networks) <= m.MOVED_NETWORKS_MAX


# -- assignments in pages


def _page(*names: str, after: str = "", more: bool = False, history: str = "h1", epoch: int = 1) -> m.Assignments:
    shards = tuple(m.Assignment(shard_id=name, project_id=f"p-{name}", epoch=epoch) for name in names)  # type: ignore[arg-type]
    return m.Assignments(revision=1, shards=shards, history=history, after_id=after, more=more)


def _served(bench: Bench) -> set[str]:
    """The shards of the last report."""
    told = bench.controllers.seen(m.ReportState)
    return {shard.shard_id for shard in told[-1].serving} if told else set()


async def test_all_pages_are_requested_one_after_the_other() -> None:
    async with running() as bench:
        bench.controllers.pages = {"": _page("a", "b", more=True), "b": _page("c", after="b")}
        await soon(lambda: _served(bench) == {"a", "b", "c"})
        asked = bench.controllers.seen(m.GetAssignments)
        assert {call.limit for call in asked} == {QUICK.assignments_per_call}
        assert [call.after_id for call in asked[-2:]] in (["", "b"], ["b", ""])


async def test_a_page_without_an_answer_is_requested_again_and_ends_nothing() -> None:
    async with running() as bench:
        bench.controllers.pages = {"": _page("a", "b", more=True), "b": _page("c", after="b")}
        await soon(lambda: _served(bench) == {"a", "b", "c"})
        bench.controllers.refuses[m.GetAssignments] = m.Refused(code="busy", reason="later")
        known = len(bench.controllers.seen(m.GetAssignments))
        await soon(lambda: len(bench.controllers.seen(m.GetAssignments)) > known)
        assert _served(bench) == {"a", "b", "c"}  # settled: what is served may not change, and a refusal is over
        bench.controllers.pages = {"": _page("b", more=True), "b": _page("c", after="b")}
        del bench.controllers.refuses[m.GetAssignments]
        await soon(lambda: _served(bench) == {"b", "c"})


async def test_pages_of_two_histories_end_nothing() -> None:
    async with running() as bench:
        bench.controllers.pages = {"": _page("a", "b", more=True), "b": _page("c", after="b")}
        await soon(lambda: _served(bench) == {"a", "b", "c"})
        # the last page stays for an agent that has read the first one already
        bench.controllers.pages |= {"": _page("a", more=True), "a": _page(after="a", history="h2")}
        known = len(bench.controllers.seen(m.GetAssignments))
        await soon(lambda: len(bench.controllers.seen(m.GetAssignments)) > known + 6)
        assert _served(bench) == {"a", "b", "c"}  # settled: what is served may not change, and several answers are over
