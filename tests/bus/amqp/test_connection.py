"""The loop that keeps a connection, without a broker."""

import asyncio

import pytest

from evenkeel.bus.amqp.connection import AmqpConnection
from evenkeel.bus.amqp.connection_errors import ConnectionErrorLog
from evenkeel.bus.amqp.nodes import Node, parse_nodes
from evenkeel.core.errors import BusUnavailable


async def test_it_ends_though_the_library_turns_the_cancellation_into_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Node] = []
    connecting = asyncio.Event()

    async def refused(_connection: object, node: Node) -> None:
        tried.append(node)
        connecting.set()
        try:
            await asyncio.sleep(3600.0)
        except asyncio.CancelledError:
            raise BusUnavailable("refused") from None

    monkeypatch.setattr(AmqpConnection, "_serve", refused)
    connection: AmqpConnection[None] = AmqpConnection(
        parse_nodes("amqp://guest:guest@127.0.0.1:1"),
        name="test",
        complaints=ConnectionErrorLog(),
        open_session=lambda _connection: asyncio.sleep(0),
    )
    connection.start()
    await connecting.wait()
    async with asyncio.timeout(60.0):
        await connection.close()
    assert len(tried) == 1
