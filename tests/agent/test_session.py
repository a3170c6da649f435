"""A session: registered with patience, believed for as long as its time-to-live counted from before each keepalive."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.agent.session import DUPLICATE, Session
from evenkeel.core.kit.errors import BusUnavailable, CallRefused, SessionLost
from evenkeel.core.protocol import messages as m
from evenkeel.core.status.outcomes import Applied
from evenkeel.sealing import BoxKeyPair
from tests.agent.fakes import SETTINGS, FakeDevice
from tests.clock import HandClock

TTL = 5.0
KEYS = BoxKeyPair()


def state(revision: int = 1, *, history: str = "h1", keepalives: int = 0) -> m.SessionState:
    return m.SessionState(ttl_seconds=TTL, assignments_revision=revision, history=history, keepalives=keepalives)


class Controllers:
    """Answers in turn, the last one for good; an answer may take time, or be an error."""

    def __init__(self, clock: HandClock, *answers: m.SessionState | Exception) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.takes_seconds = 0.0
        self.registered: list[m.Register] = []
        self.keepalives: list[m.Keepalive] = []
        self.timeouts: list[float] = []

    async def register(self, call: m.Register) -> m.SessionState:
        self.registered.append(call)
        return self._answer()

    async def keepalive(self, call: m.Keepalive, *, timeout_seconds: float) -> m.SessionState:
        self.keepalives.append(call)
        self.timeouts.append(timeout_seconds)
        return self._answer()

    def _answer(self) -> m.SessionState:
        self.clock.now += self.takes_seconds
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Opened:
    """A session between its neighbours."""

    def __init__(self, *answers: m.SessionState | Exception, **settings: Any) -> None:
        self.clock = HandClock()
        self.controllers = Controllers(self.clock, *answers)
        self.history = DatabaseHistory(self.clock)
        self.session = Session(
            "s1",  # type: ignore[arg-type]
            self.controllers,  # type: ignore[arg-type]
            FakeDevice.facts,
            self.clock,
            replace(SETTINGS, **settings),
            database_history=self.history,
            key_pair=KEYS,
            identities={"10.0.0.1": "serial-1"},
        )


async def test_session_registers_settings_and_device_facts() -> None:
    at = Opened(state(7))
    await at.session.open()
    (call,) = at.controllers.registered
    assert (call.agent_id, call.session_id, call.host, call.group_number) == ("agent", "s1", "host-1", 1)
    assert (call.device_driver, call.identities) == ("fake", {"10.0.0.1": "serial-1"})
    assert call.seen is None
    assert (at.session.assignments_revision, at.session.history) == (7, "h1")


async def test_session_waits_for_controllers_that_do_not_answer() -> None:
    at = Opened(BusUnavailable("no answer"), BusUnavailable("no answer"), state())
    began = at.clock.now
    await at.session.open()
    assert len(at.controllers.registered) == 3
    assert at.clock.now == began + 2 * SETTINGS.keepalive_interval_seconds


async def test_session_waits_for_the_session_of_a_dead_predecessor_to_end() -> None:
    twin = CallRefused(DUPLICATE, "another session stands")
    at = Opened(twin, twin, twin, state(), duplicate_patience_seconds=3.0)
    await at.session.open()
    assert len(at.controllers.registered) == 4


async def test_a_live_twin_is_refused_when_patience_is_over() -> None:
    at = Opened(CallRefused(DUPLICATE, "another session stands"), duplicate_patience_seconds=3.0)
    began = at.clock.now
    with pytest.raises(CallRefused, match="another session stands"):
        await at.session.open()
    assert 3.0 < at.clock.now - began <= 3.0 + SETTINGS.keepalive_interval_seconds


async def test_session_ends_at_once_on_a_permanent_refusal() -> None:
    at = Opened(CallRefused("unknown_environment", "no such environment"), state())
    with pytest.raises(CallRefused) as refused:
        await at.session.open()
    assert refused.value.code == "unknown_environment" and len(at.controllers.registered) == 1


async def test_nothing_is_written_before_it_is_open() -> None:
    assert not Opened(state()).session.may_write()


async def test_writes_are_started_only_if_the_lease_outlives_them() -> None:
    at = Opened(state(), write_budget_seconds=1.0)
    await at.session.open()
    at.clock.now += TTL - 1.0
    assert at.session.may_write()
    at.clock.now += 0.001
    assert not at.session.may_write()


@pytest.mark.parametrize("ask", [Session.open, Session.renew])
async def test_the_lease_counts_from_before_the_question(ask: Callable[[Session], Any]) -> None:
    at = Opened(state(), write_budget_seconds=1.0)
    at.controllers.takes_seconds = 2.0
    await ask(at.session)
    at.clock.now += TTL - 2.0 - 1.0
    assert at.session.may_write()
    at.clock.now += 0.001
    assert not at.session.may_write()


async def test_a_keepalive_renews_it_and_one_that_fails_does_not() -> None:
    at = Opened(state(), state(), BusUnavailable("no answer"), write_budget_seconds=1.0)
    await at.session.open()
    at.clock.now += 4.0
    await at.session.renew()
    at.clock.now += 4.0
    assert at.session.may_write()
    with pytest.raises(BusUnavailable):
        await at.session.renew()
    at.clock.now += 0.001
    assert not at.session.may_write()


async def test_a_session_that_has_ended_reports_it() -> None:
    at = Opened(state(), SessionLost("expired"))
    await at.session.open()
    with pytest.raises(SessionLost):
        await at.session.renew()


async def test_a_keepalive_waits_half_the_time_to_live_and_never_less_than_an_interval() -> None:
    at = Opened(state(), keepalive_interval_seconds=1.0)
    await at.session.open()
    await at.session.renew()
    slow = Opened(state(), keepalive_interval_seconds=4.0)
    await slow.session.open()
    await slow.session.renew()
    assert at.controllers.timeouts == [TTL / 2] and slow.controllers.timeouts == [4.0]


async def test_an_answer_that_was_overtaken_takes_nothing_back() -> None:
    at = Opened(state(3), state(5), state(4))
    for ask in (at.session.open, at.session.renew, at.session.renew):
        await ask()
    assert at.session.assignments_revision == 5


async def test_in_a_new_history_of_the_database_the_revision_begins_again() -> None:
    at = Opened(state(9), state(2, history="h2"))
    await at.session.open()
    at.clock.now += 1.0
    await at.session.renew()
    assert (at.session.history, at.session.assignments_revision) == ("h2", 2)


async def test_an_answer_of_the_history_before_states_nothing_of_assignments() -> None:
    """It was asked for before the new history was heard of, and came later."""
    at = Opened(state(9), state(30, history="h0"))
    at.controllers.takes_seconds = 1.0
    await at.session.open()
    at.clock.now -= 2.0  # the question that is answered now was asked before
    await at.session.renew()
    assert (at.session.history, at.session.assignments_revision) == ("h1", 9)


async def test_keepalives_name_what_the_database_has_confirmed() -> None:
    at = Opened(state(), state(keepalives=4), state())
    await at.session.open()
    done = Applied(load_balancer_id="lb", revision=3, change_id="c3")
    at.session.database_history.confirm("h1", (done,))
    await at.session.renew()
    at.session.database_history.confirm("h0", (replace(done, change_id="of the history before"),))
    await at.session.renew()
    assert [call.seen for call in at.controllers.keepalives] == [
        m.ConfirmedState(history="h1", keepalives=0, confirmed=done),
        m.ConfirmedState(history="h1", keepalives=4, confirmed=done),
    ]
