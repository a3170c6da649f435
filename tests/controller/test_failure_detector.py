"""Only a process that was seen twice to have gone is suspected, and many agents are not probed more often for it."""

from collections.abc import Sequence
from typing import Any

from evenkeel.controller.failure_detector import PROBES_PER_SECOND, FailureDetector
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control import SessionRef
from evenkeel.core.messages import presence_name


class Sessions:
    """The store's side: sessions, and which of them were suspected."""

    def __init__(self, count: int = 2) -> None:
        self.refs = [SessionRef(agent_id=f"a{n}", session_id=f"s{n}", environment="lab") for n in range(count)]
        self.suspected: list[str] = []

    async def sessions(self) -> tuple[SessionRef, ...]:
        return tuple(self.refs)

    async def end_sessions(self, sessions: Sequence[SessionRef]) -> int:
        self.suspected += [session.agent_id for session in sessions]
        return len(sessions)


class Presences:
    """The bus's side: what it says of each name; True unless told otherwise."""

    def __init__(self) -> None:
        self.says: dict[str, bool | None] = {}

    async def present(self, name: str) -> bool | None:
        return self.says.get(name, True)


def suspicion(store: Any, bus: Any, woken: list[str]) -> FailureDetector:
    return FailureDetector(store, bus, ControllerSettings(), lambda: woken.append("now"))


async def test_a_process_that_is_gone_in_two_looks_loses_its_session() -> None:
    store, bus, woken = Sessions(), Presences(), list[str]()
    looks = suspicion(store, bus, woken)
    await looks.look()
    bus.says[presence_name("s1")] = False
    await looks.look()
    assert (store.suspected, woken) == ([], [])
    await looks.look()
    assert (store.suspected, woken) == (["a1"], ["now"])


async def test_a_process_that_is_back_or_cannot_be_seen_is_not_suspected() -> None:
    store, bus, woken = Sessions(), Presences(), list[str]()
    looks = suspicion(store, bus, woken)
    for answer in (False, True, False, None, False, None, None):
        bus.says[presence_name("s1")] = answer
        await looks.look()
    assert (store.suspected, woken) == ([], [])


async def test_a_session_that_lives_on_unseen_is_suspected_once_until_its_process_is_seen_again() -> None:
    store, bus, woken = Sessions(), Presences(), list[str]()
    looks = suspicion(store, bus, woken)
    name = presence_name("s1")
    for answer in (True, False, False, False, None, False, False):
        bus.says[name] = answer
        await looks.look()
    assert (store.suspected, woken) == (["a1"], ["now"])
    for answer in (True, False, False):
        bus.says[name] = answer
        await looks.look()
    assert store.suspected == ["a1", "a1"]


async def test_with_many_agents_each_is_looked_at_less_often() -> None:
    few, many = suspicion(Sessions(2), Presences(), []), suspicion(Sessions(1000), Presences(), [])
    await few.look()
    await many.look()
    assert few.interval_seconds() == ControllerSettings().suspicion_interval_seconds
    assert many.interval_seconds() == 1000 / PROBES_PER_SECOND
