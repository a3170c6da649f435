"""A client that takes nothing of what waits for it is cut off; one that takes it slowly is not."""

import asyncio
from typing import Any

from evenkeel.serving.write_timeout import WriteTimeout
from tests.waiting import eventually


class Transport:
    """Of a client that takes ``reads`` bytes at each look."""

    def __init__(self, waiting: int, reads: int = 0) -> None:
        self.waiting = waiting
        self.reads = reads
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        now, self.waiting = self.waiting, max(0, self.waiting - self.reads)
        return now

    def abort(self) -> None:
        self.aborted = True


def watched(transport: Any) -> tuple[WriteTimeout, list[str]]:
    stalled: list[str] = []
    return WriteTimeout(transport, 0.01, lambda: stalled.append("stalled")), stalled


async def test_client_that_reads_nothing_is_disconnected_and_counted_once() -> None:
    transport = Transport(waiting=10)
    writes, stalled = watched(transport)
    writes.watch()
    writes.watch()
    await eventually(lambda: transport.aborted and stalled == ["stalled"])


async def test_slow_reader_is_waited_for_until_all_is_read() -> None:
    transport = Transport(waiting=10, reads=1)
    writes, stalled = watched(transport)
    writes.watch()
    await eventually(lambda: transport.waiting == 0)
    await asyncio.sleep(0.03)
    assert not transport.aborted and stalled == []


async def test_a_lost_connection_is_not_looked_at_any_more() -> None:
    transport = Transport(waiting=10)
    writes, stalled = watched(transport)
    writes.watch()
    writes.stop()
    await asyncio.sleep(0.03)
    assert not transport.aborted and stalled == []
