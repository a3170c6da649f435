"""Keepalives of a round are one transaction, and none waits for another's agent."""

import asyncio
from collections.abc import Sequence

import pytest

from evenkeel.controller.keepalives import ROUND_MAX, KeepaliveRounds
from evenkeel.core.kit.errors import Invalid, SessionLost, StoreUnavailable
from evenkeel.core.ports.ownership import ArrivedKeepalive
from evenkeel.core.protocol.messages import Keepalive, SessionState
from tests.waiting import eventually


class Store:
    """Renews all but the sessions that are lost; those that are locked wait."""

    def __init__(self) -> None:
        self.rounds: list[int] = []
        self.alone: list[str] = []
        self.waited: list[float] = []
        """For how long the keepalives have been there."""
        self.lost: set[str] = set()
        self.locked: set[str] = set()
        self.unlock = asyncio.Event()
        self.error: Exception | None = None

    async def renew_sessions(
        self, arrived: Sequence[ArrivedKeepalive], *, ttl_seconds: float
    ) -> list[SessionState | None]:
        self.rounds.append(len(arrived))
        self.waited += [each.waited_seconds for each in arrived]
        calls = [each.call for each in arrived]
        if self.error is not None:
            raise self.error
        return [None if call.agent_id in self.lost | self.locked else state(ttl_seconds) for call in calls]

    async def renew_session(self, arrived: ArrivedKeepalive, *, ttl_seconds: float) -> SessionState:
        agent_id = arrived.call.agent_id
        self.waited.append(arrived.waited_seconds)
        self.alone.append(agent_id)
        if agent_id in self.locked:
            await self.unlock.wait()
        if agent_id in self.lost:
            raise SessionLost(agent_id)
        return state(ttl_seconds)


def state(ttl_seconds: float) -> SessionState:
    return SessionState(ttl_seconds=ttl_seconds, assignments_revision=1)


def rounds(store: Store, seconds: float = 0.0) -> KeepaliveRounds:
    return KeepaliveRounds(store, ttl_seconds=5.0, round_seconds=seconds)  # type: ignore[arg-type]


def call(agent_id: str) -> Keepalive:
    return Keepalive(agent_id=agent_id, session_id="s")


async def test_keepalives_that_arrive_together_are_one_round() -> None:
    store = Store()
    subject = rounds(store)
    answers = await asyncio.gather(*(subject.answer(call(f"a{number}")) for number in range(ROUND_MAX + 7)))
    assert store.rounds == [ROUND_MAX, 7]
    assert not store.alone
    assert set(answers) == {state(5.0)}


async def test_one_that_arrives_alone_waits_for_no_lock_of_another_round() -> None:
    store = Store()
    assert await rounds(store).answer(call("a1")) == state(5.0)
    assert store.rounds == [1] and not store.alone


async def test_one_whose_row_is_locked_keeps_no_other_waiting() -> None:
    store = Store()
    store.locked = {"a1"}
    subject = rounds(store)
    waiting = asyncio.create_task(subject.answer(call("a1")))
    await asyncio.gather(*(subject.answer(call(f"b{number}")) for number in range(3)))
    await asyncio.gather(*(subject.answer(call(f"b{number}")) for number in range(3)))
    assert not waiting.done()
    store.unlock.set()
    assert await waiting == state(5.0)


async def test_a_lost_session_is_reported_to_its_agent_alone() -> None:
    store = Store()
    store.lost = {"a1"}
    subject = rounds(store)
    answers = await asyncio.gather(*(subject.answer(call(f"a{number}")) for number in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [SessionState, SessionLost, SessionState]


@pytest.mark.parametrize("problem", [Invalid("the database cannot hold it"), ZeroDivisionError()])
async def test_one_that_cannot_be_renewed_spoils_no_other_keepalive(problem: Exception) -> None:
    store = Store()
    store.error = problem
    subject = rounds(store)
    answers = await asyncio.gather(*(subject.answer(call(f"a{number}")) for number in range(3)))
    assert answers == [state(5.0)] * 3
    assert sorted(store.alone) == ["a0", "a1", "a2"]


async def test_without_a_database_every_agent_gets_that_answer_and_the_next_round_is_tried() -> None:
    store = Store()
    store.error = StoreUnavailable("gone")
    subject = rounds(store)
    answers = await asyncio.gather(*(subject.answer(call(f"a{number}")) for number in range(3)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {StoreUnavailable}
    store.error = None
    assert await subject.answer(call("a1")) == state(5.0)


async def test_an_agent_that_gave_up_disturbs_nothing() -> None:
    store = Store()
    subject = rounds(store, 0.01)
    gone = asyncio.create_task(subject.answer(call("a1")))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await subject.answer(call("a2")) == state(5.0)
    await eventually(lambda: not subject._collecting)


async def test_the_store_is_informed_for_how_long_a_keepalive_has_waited() -> None:
    store = Store()
    made = rounds(store, 0.05)
    await asyncio.gather(made.answer(call("a")), made.answer(call("b")))
    await made.answer(call("c"))
    assert len(store.waited) == 3 and all(0.05 <= seconds < 5.0 for seconds in store.waited)
