"""Only a process that was seen twice to have gone is suspected, and many agents are not probed more often for it."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from evenkeel.controller.failure_detector import (
    ALL_SECONDS,
    DEPARTED_SECONDS,
    PROBES_PER_SECOND,
    READ_SECONDS,
    FailureDetector,
)
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.agents import SessionRef
from evenkeel.core.control.scheduling import ChangeIndicator
from evenkeel.core.protocol.messages import Departure, presence_name
from tests.clock import HandClock


class Sessions:
    """The store's side: sessions, and which of them were suspected."""

    def __init__(self, count: int = 2) -> None:
        self.refs = [SessionRef(agent_id=f"a{n}", session_id=f"s{n}", environment="lab") for n in range(count)]
        self.suspected: list[str] = []
        self.reads = 0

    async def read_live_sessions(self) -> tuple[SessionRef, ...]:
        self.reads += 1
        return tuple(self.refs)

    async def end_sessions(self, sessions: Sequence[SessionRef]) -> int:
        self.suspected += [session.agent_id for session in sessions]
        return len(sessions)


class Presences:
    """The bus's side: what it says of each name; True unless told otherwise."""

    def __init__(self, *, delivers_wills: bool = False) -> None:
        self.says: dict[str, bool | None] = {}
        self.asked: list[str] = []
        self.delivers_wills = delivers_wills
        self.connection_number = 1

    async def present(self, name: str) -> bool | None:
        self.asked.append(name)
        return self.says.get(name, True)

    def probed(self) -> set[str]:
        """Since the last call."""
        asked, self.asked = set(self.asked), []
        return asked


class Scheduler:
    """Reads the change indicator of the sessions, and records when it is woken."""

    def __init__(self, store: Sessions, woken: list[str]) -> None:
        self.store = store
        self.woken = woken

    def wake(self) -> None:
        self.woken.append("now")

    async def recent_change_indicator(self, *, max_age_seconds: float) -> ChangeIndicator:
        refs = self.store.refs
        return ChangeIndicator(
            now_seconds=0.0, calm=True, marks=(float(len(refs)),), late=sum(ref.late for ref in refs)
        )


def suspicion(store: Any, bus: Any, woken: list[str], clock: HandClock | None = None) -> FailureDetector:
    return FailureDetector(store, bus, ControllerSettings(), Scheduler(store, woken), clock or HandClock())


async def test_a_process_that_is_gone_in_two_looks_loses_its_session() -> None:
    store, bus, woken = Sessions(), Presences(), list[str]()
    looks = suspicion(store, bus, woken)
    await looks.probe_due()
    bus.says[presence_name("s1")] = False
    await looks.probe_due()
    assert (store.suspected, woken) == ([], [])
    await looks.probe_due()
    assert (store.suspected, woken) == (["a1"], ["now"])


async def test_a_process_that_is_back_or_cannot_be_seen_is_not_suspected() -> None:
    store, bus, woken = Sessions(), Presences(), list[str]()
    looks = suspicion(store, bus, woken)
    for answer in (False, True, False, None, False, None, None):
        bus.says[presence_name("s1")] = answer
        await looks.probe_due()
    assert (store.suspected, woken) == ([], [])


async def test_a_session_that_lives_on_unseen_is_suspected_once_until_its_process_is_seen_again() -> None:
    store, bus, woken = Sessions(), Presences(), list[str]()
    looks = suspicion(store, bus, woken)
    name = presence_name("s1")
    for answer in (True, False, False, False, None, False, False):
        bus.says[name] = answer
        await looks.probe_due()
    assert (store.suspected, woken) == (["a1"], ["now"])
    for answer in (True, False, False):
        bus.says[name] = answer
        await looks.probe_due()
    assert store.suspected == ["a1", "a1"]


async def test_with_many_agents_each_is_looked_at_less_often() -> None:
    few, many = suspicion(Sessions(2), Presences(), []), suspicion(Sessions(1000), Presences(), [])
    await few.probe_due()
    await many.probe_due()
    assert few.interval_seconds() == ControllerSettings().suspicion_interval_seconds
    assert many.interval_seconds() == 1000 / PROBES_PER_SECOND


async def test_only_sessions_with_a_reason_are_probed_where_wills_are_delivered() -> None:
    store, bus, clock = Sessions(4), Presences(delivers_wills=True), HandClock()
    detector = suspicion(store, bus, [], clock)
    names = [presence_name(session.session_id) for session in store.refs]
    bus.says[names[3]] = None  # not seen yet
    await detector.probe_due()
    assert bus.probed() == set(names)
    await detector.probe_due()
    assert bus.probed() == {names[3]}
    store.refs[0] = replace(store.refs[0], late=True)
    detector.note_departure(Departure(agent_id="a1", session_id="s1"))
    await detector.probe_due()
    assert bus.probed() == {names[0], names[1], names[3]}
    clock.now += DEPARTED_SECONDS
    await detector.probe_due()
    assert bus.probed() == {names[0], names[3]}
    clock.now += ALL_SECONDS
    await detector.probe_due()
    assert bus.probed() == set(names)
    bus.connection_number += 1  # none counts as seen any more
    await detector.probe_due()
    assert bus.probed() == set(names)
    await detector.probe_due()
    assert bus.probed() == {names[0], names[3]}


async def test_while_no_session_has_a_reason_they_are_read_now_and_then_only() -> None:
    store, bus, clock = Sessions(4), Presences(delivers_wills=True), HandClock()
    detector = suspicion(store, bus, [], clock)

    async def reads(looks: int = 3) -> int:
        before = store.reads
        for _ in range(looks):
            await detector.probe_due()
        return store.reads - before

    assert await reads() == 2  # all were probed; then none had a reason
    assert await reads() == 0
    clock.now += READ_SECONDS
    assert await reads() == 2
    store.refs.append(SessionRef(agent_id="new", session_id="new", environment="lab"))
    assert await reads() == 2
    store.refs[0] = replace(store.refs[0], late=True)
    assert await reads() == 3
    store.refs[0] = replace(store.refs[0], late=False)
    assert await reads() == 1
    detector.note_departure(Departure(agent_id="a1", session_id="s1"))
    assert await reads() == 3
    clock.now += DEPARTED_SECONDS
    assert await reads() == 2
    bus.connection_number += 1
    assert await reads() == 2


async def test_a_notice_ends_the_pause_and_the_second_probe_follows_soon() -> None:
    store, bus, woken, clock = Sessions(), Presences(delivers_wills=True), list[str](), HandClock()
    detector = suspicion(store, bus, woken, clock)
    await detector.probe_due()
    bus.says[presence_name("s1")] = False
    detector.note_departure(Departure(agent_id="a1", session_id="s1"))
    began = clock.now
    await detector.probe_due()
    assert store.suspected == []
    await detector.pause(lambda seconds: seconds)
    await detector.probe_due()
    assert (store.suspected, woken) == (["a1"], ["now"])
    assert clock.now - began < ControllerSettings().suspicion_interval_seconds


async def test_after_a_notice_a_process_is_probed_until_the_bus_has_forgotten_its_name() -> None:
    """The broker sends a will before it deletes the queue whose name is the process."""
    store, bus, woken, clock = Sessions(), Presences(delivers_wills=True), list[str](), HandClock()
    detector = suspicion(store, bus, woken, clock)
    await detector.probe_due()
    began = clock.now
    detector.note_departure(Departure(agent_id="a1", session_id="s1"))
    for answer in (True, True, False, False):
        await detector.pause(lambda seconds: seconds)
        bus.says[presence_name("s1")] = answer
        assert store.suspected == []
        await detector.probe_due()
    assert (store.suspected, woken) == (["a1"], ["now"])
    assert clock.now - began < 2 * ControllerSettings().suspicion_interval_seconds


async def test_after_a_notice_a_process_that_is_there_is_probed_for_a_while_only() -> None:
    store, bus, clock = Sessions(), Presences(delivers_wills=True), HandClock()
    detector = suspicion(store, bus, [], clock)
    await detector.probe_due()
    bus.probed()
    detector.note_departure(Departure(agent_id="a1", session_id="s1"))
    detector.note_departure(Departure(agent_id="a7", session_id="ended before"))
    await detector.probe_due()
    assert bus.probed() == {presence_name("s1")}
    clock.now += DEPARTED_SECONDS
    await detector.probe_due()
    assert bus.probed() == set()


async def test_a_notice_of_a_process_that_is_back_ends_no_session() -> None:
    store, bus = Sessions(), Presences(delivers_wills=True)
    detector = suspicion(store, bus, [])
    await detector.probe_due()
    for answer in (False, True):
        bus.says[presence_name("s1")] = answer
        detector.note_departure(Departure(agent_id="a1", session_id="s1"))
        await detector.probe_due()
    await detector.probe_due()
    assert store.suspected == []
