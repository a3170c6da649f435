"""The loop that keeps a connection, without a broker."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiormq.base import FutureStore

from evenkeel.bus.amqp import connection as module
from evenkeel.bus.amqp.connection import AmqpConnection, translate_errors
from evenkeel.bus.amqp.connection_errors import ConnectionErrorLog
from evenkeel.bus.amqp.nodes import Node, parse_nodes
from evenkeel.core.kit.errors import BusUnavailable
from tests.waiting import eventually


def connection_to(nodes: str, wait_for_main: Callable[[], Awaitable[None]] | None = None) -> AmqpConnection[None]:
    """One without a session to open."""
    return AmqpConnection(
        parse_nodes(nodes),
        name="test",
        error_log=ConnectionErrorLog(),
        open_session=lambda _connection: asyncio.sleep(0),
        wait_for_main=wait_for_main,
    )


def refusals(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """The nodes that were tried, all of which refuse."""
    tried: list[Node] = []

    async def refused(_connection: object, node: Node) -> None:
        tried.append(node)
        raise BusUnavailable("refused")

    monkeypatch.setattr(AmqpConnection, "_connect_and_wait", refused)
    return tried


async def test_connection_ends_though_the_library_turns_cancellation_into_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Node] = []
    connecting = asyncio.Event()

    async def refused(_connection: object, node: Node) -> None:
        tried.append(node)
        connecting.set()
        try:
            await asyncio.sleep(3600.0)
        except asyncio.CancelledError:
            raise BusUnavailable("refused") from None

    monkeypatch.setattr(AmqpConnection, "_connect_and_wait", refused)
    connection = connection_to("amqp://guest:guest@127.0.0.1:1")
    connection.start()
    await connecting.wait()
    async with asyncio.timeout(60.0):
        await connection.close()
    assert len(tried) == 1


async def test_after_an_outage_a_connection_waits_for_the_one_that_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = refusals(monkeypatch)
    main_is_up = asyncio.Event()
    asked = asyncio.Event()

    async def until_up() -> None:
        asked.set()
        await main_is_up.wait()

    monkeypatch.setattr(module, "WAIT_FOR_MAIN_SECONDS", 3600.0)
    connection = connection_to("amqp://guest:guest@127.0.0.1:1,127.0.0.1:2", wait_for_main=until_up)
    connection.start()
    await asked.wait()
    assert len(tried) == 2  # each node once, as when one of them is lost
    main_is_up.set()
    await eventually(lambda: len(tried) > 4)
    await connection.close()


async def test_secondary_connection_waits_for_the_main_one_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = refusals(monkeypatch)

    async def never() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "WAIT_FOR_MAIN_SECONDS", 0.01)
    connection = connection_to("amqp://guest:guest@127.0.0.1:1", wait_for_main=never)
    connection.start()
    await eventually(lambda: len(tried) > 2)
    await connection.close()


@pytest.mark.parametrize("answers", [True, False])
async def test_a_broker_that_does_not_answer_is_left(monkeypatch: pytest.MonkeyPatch, *, answers: bool) -> None:
    served = 0

    async def serve(self: AmqpConnection[str], _node: Node) -> None:
        nonlocal served
        served += 1
        self._lost.clear()
        self._session = "open"
        self._up.set()
        await self._lost.wait()
        self._session = None

    asked: list[str] = []

    async def ask(session: str) -> None:
        asked.append(session)
        if not answers:
            await asyncio.Event().wait()

    monkeypatch.setattr(AmqpConnection, "_connect_and_wait", serve)
    monkeypatch.setattr("evenkeel.bus.amqp.connection.VERIFY_SECONDS", 60.0 if answers else 0.01)
    connection: AmqpConnection[str] = AmqpConnection(
        parse_nodes("amqp://127.0.0.1:1"),
        name="test",
        error_log=ConnectionErrorLog(),
        open_session=lambda _connection: asyncio.sleep(0, "open"),
        probe_session=ask,
    )
    connection.verify()  # there is none yet
    connection.start()
    await connection.session(timeout_seconds=60.0)
    connection.verify()
    connection.verify()
    await eventually(lambda: connection._verifying is None)
    await eventually(lambda: served == (1 if answers else 2))
    assert asked == ["open"]  # settled: the first wait was for the end of the only question
    await connection.close()


class Broker:
    """Connections that are established at once, and whose end is told when the test says so."""

    def __init__(self) -> None:
        self.made: list[Broker.Connection] = []

    class Connection:
        def __init__(self) -> None:
            self.close_callbacks: set[Callable[[], None]] = set()

        async def connect(self) -> None:
            pass

        async def close(self) -> None:
            pass

        def end(self) -> None:
            for told in self.close_callbacks:
                told()

    def connection(self, _url: object) -> "Broker.Connection":
        self.made.append(self.Connection())
        return self.made[-1]


async def test_the_late_end_of_a_former_connection_does_not_end_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker()
    monkeypatch.setattr(module.aio_pika, "Connection", broker.connection)
    sessions: list[object] = []

    async def opened(_connection: object) -> object:
        sessions.append(object())
        return sessions[-1]

    connection: AmqpConnection[object] = AmqpConnection(
        parse_nodes("amqp://guest:guest@127.0.0.1:1"), name="test", error_log=ConnectionErrorLog(), open_session=opened
    )
    connection.start()
    first = await connection.session(timeout_seconds=60.0)
    connection.replace_session(first)
    await eventually(lambda: connection.current not in (None, first))
    broker.made[0].end()
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(broker.made) == 2
    broker.made[1].end()
    await eventually(lambda: len(broker.made) == 3)
    await connection.close()


async def test_request_of_a_connection_that_closes_without_a_reason_fails_as_unavailable() -> None:
    requests = FutureStore(asyncio.get_running_loop())
    request = requests.create_task(asyncio.Event().wait())
    await requests.reject_all(None)  # as aiormq does when the broker has answered Connection.Close
    with pytest.raises(BusUnavailable, match=r"sending: .* was closed"), translate_errors("sending"):
        await request


def test_error_of_this_program_is_not_translated() -> None:
    with pytest.raises(KeyError), translate_errors("sending"):
        raise KeyError
