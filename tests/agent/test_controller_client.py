"""Which queue a keepalive goes by."""

import asyncio
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from evenkeel.agent.controller_client import SHARED_QUEUE_KEEPALIVES, ControllerClient
from evenkeel.core.kit.errors import BusUnavailable, CallTimeout, SessionLost
from evenkeel.core.protocol import messages as m

SHARED, OWN = m.callback_queue("e"), m.transient_keepalive_queue("e")
STATUS = m.ReportStatus(agent_id="a", session_id="s", shard_id="x", epoch=1)
KEEPALIVE = m.Keepalive(agent_id="a", session_id="s")
REGISTER = m.Register(
    agent_id="a", session_id="s", environment="e", group_number=1, host="h", device_driver="noop", ha_type="standalone"
)


class Bus:
    """Answers by the queues that are consumed."""

    def __init__(self) -> None:
        self.consumed = {SHARED, OWN}
        self.asked: list[str] = []
        self.sent: list[m.Call] = []
        self.answer: m.AnyReply | None = None
        """Instead of the state of the session."""
        self.connected_after = 0
        """Number of calls from which on there is a connection."""

    async def call(self, queue: str, message: m.Call, *, timeout_seconds: float) -> m.AnyReply:
        self.asked.append(queue)
        self.sent.append(message)
        if len(self.asked) < self.connected_after:
            raise BusUnavailable("no connection")
        if queue not in self.consumed:
            raise CallTimeout("no answer")
        return self.answer or m.SessionState(ttl_seconds=5.0, assignments_revision=1)


async def renew(controllers: ControllerClient, times: int = 1) -> None:
    for _ in range(times):
        await controllers.keepalive(KEEPALIVE, timeout_seconds=2.5)


async def test_controllers_that_consume_it_get_keepalives_by_their_own_queue() -> None:
    bus = Bus()
    controllers = ControllerClient(bus, "e", timeout_seconds=1.0)  # type: ignore[arg-type]
    await controllers.register(REGISTER)
    await renew(controllers, 3)
    assert bus.asked == [SHARED, OWN, OWN, OWN]


async def test_an_answer_that_does_not_come_is_requested_by_the_shared_queue_at_once() -> None:
    """The new controllers were stopped again, or the agent's user may not send to the other queue."""
    bus = Bus()
    controllers = ControllerClient(bus, "e", timeout_seconds=1.0)  # type: ignore[arg-type]
    await controllers.register(REGISTER)
    bus.consumed = {SHARED}
    shortest, _ = SHARED_QUEUE_KEEPALIVES
    with capture_logs() as logs:
        await renew(controllers, shortest)
    assert bus.asked == [SHARED, OWN] + [SHARED] * shortest and len(logs) == 1
    bus.consumed = {SHARED, OWN}
    await renew(controllers, 2)
    assert bus.asked[-2:] == [OWN, OWN]


async def test_a_queue_without_answers_is_tried_more_and_more_rarely() -> None:
    bus = Bus()
    controllers = ControllerClient(bus, "e", timeout_seconds=1.0)  # type: ignore[arg-type]
    await controllers.register(REGISTER)
    bus.consumed = {SHARED}
    shortest, longest = SHARED_QUEUE_KEEPALIVES
    await renew(controllers, 10 * longest)
    tried = [at for at, queue in enumerate(bus.asked) if queue == OWN]
    pauses = [after - before - 1 for before, after in pairwise(tried)]
    assert pauses[:2] == [shortest, 2 * shortest] and pauses[-1] == longest
    bus.consumed = {SHARED, OWN}
    await renew(controllers, longest + 1)  # it answers again
    bus.consumed = {SHARED}
    tried_before = bus.asked.count(OWN)
    await renew(controllers, shortest)
    assert bus.asked.count(OWN) == tried_before + 1 and bus.asked[-shortest:] == [SHARED] * shortest


async def test_a_keepalive_that_could_not_be_sent_is_sent_by_the_same_queue() -> None:
    """After a restart of the broker all agents come back at once: they do not load the shared queue."""
    bus = Bus()
    controllers = ControllerClient(bus, "e", timeout_seconds=1.0)  # type: ignore[arg-type]
    await controllers.register(REGISTER)
    bus.connected_after = 3
    await renew(controllers)
    with pytest.raises(BusUnavailable):
        bus.connected_after = len(bus.asked) + 3
        await renew(controllers)
    await renew(controllers, 2)
    assert bus.asked == [SHARED] + [OWN] * (len(bus.asked) - 1)


async def test_keepalives_under_way_together_rest_once() -> None:
    bus = Bus()
    controllers = ControllerClient(bus, "e", timeout_seconds=1.0)  # type: ignore[arg-type]
    await controllers.register(REGISTER)
    bus.consumed = set()
    failed = await asyncio.gather(*(renew(controllers) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(each, CallTimeout) for each in failed)
    bus.consumed = {SHARED, OWN}
    shortest, _ = SHARED_QUEUE_KEEPALIVES
    await renew(controllers, shortest + 1)
    assert bus.asked[-1] == OWN


async def test_a_refusal_is_one_whatever_the_queue() -> None:
    bus = Bus()
    controllers = ControllerClient(bus, "e", timeout_seconds=1.0)  # type: ignore[arg-type]
    await controllers.register(REGISTER)
    bus.answer = m.Refused(code=m.SESSION_LOST, reason="over")
    with pytest.raises(SessionLost):
        await renew(controllers)
    assert bus.asked == [SHARED, OWN]
    bus.consumed = set()
    with pytest.raises(BusUnavailable):
        await renew(controllers)


async def test_reports_of_statuses_are_numbered_in_the_order_they_are_made() -> None:
    bus = Bus()
    controllers = ControllerClient(bus, "e", timeout_seconds=1.0)  # type: ignore[arg-type]
    bus.answer = m.ReportReceipt()
    for _ in range(2):
        await controllers.report_status(STATUS)
    bus.consumed = set()
    with pytest.raises(BusUnavailable):
        await controllers.report_status(STATUS)
    bus.consumed = {SHARED}
    await controllers.report_status(STATUS)
    assert [message.number for message in bus.sent if isinstance(message, m.ReportStatus)] == [1, 2, 3, 4]
