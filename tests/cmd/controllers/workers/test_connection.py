"""A parent asks its workers for metrics; each notices when the other one is gone."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from evenkeel.cmd.controllers.workers.connection import ACCEPT_CHARACTERS_MAX, ParentConnection, WorkerConnection

Pair = tuple[WorkerConnection, ParentConnection]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    ours, theirs = socket.socketpair()
    line = WorkerConnection(ours)
    await line.open()
    yield line, ParentConnection(theirs, 3)
    await line.close()


async def test_a_worker_answers_as_soon_as_it_has_metrics_and_ends_with_its_parent(pair: Pair) -> None:
    line, parent = pair
    answering = asyncio.create_task(parent.answer_requests())
    assert await line.request_exposition("", within_seconds=60) == b""
    parent.expose()
    assert b'worker="3"' in await line.request_exposition("", within_seconds=60)
    assert (await line.request_exposition("application/openmetrics-text", within_seconds=60)).endswith(b"# EOF\n")
    await line.close()
    await asyncio.wait_for(answering, 60)


async def test_metrics_that_fail_do_not_end_the_worker(pair: Pair) -> None:
    line, parent = pair
    failures = [ValueError("a row of a newer version"), None]

    async def before() -> None:
        if (failure := failures.pop(0)) is not None:
            raise failure

    parent.expose(before)
    answering = asyncio.create_task(parent.answer_requests())
    assert await line.request_exposition("", within_seconds=60) == b""
    assert b'worker="3"' in await line.request_exposition("", within_seconds=60)
    answering.cancel()


async def test_a_header_cannot_ask_twice(pair: Pair) -> None:
    line, parent = pair
    parent.expose()
    answering = asyncio.create_task(parent.answer_requests())
    assert b'worker="3"' in await line.request_exposition(
        "a\n2 b\r\n" + "x" * 10 * ACCEPT_CHARACTERS_MAX, within_seconds=60
    )
    answering.cancel()


@pytest.mark.parametrize("accept", ["\udcff\udcfe", "text/plain; q=\u00bd", "\x00", "\u2028"])
async def test_header_that_is_not_ascii_is_answered_and_leaves_nothing_waiting(pair: Pair, accept: str) -> None:
    line, parent = pair
    parent.expose()
    answering = asyncio.create_task(parent.answer_requests())
    assert b'worker="3"' in await line.request_exposition(accept, within_seconds=60)
    assert line.waiting_request_count == 0
    answering.cancel()


async def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(pair: Pair) -> None:
    line, parent = pair
    may_answer = asyncio.Event()
    parent.expose(before=lambda: asyncio.wait_for(may_answer.wait(), 60))  # type: ignore[arg-type]
    answering = asyncio.create_task(parent.answer_requests())
    assert await line.request_exposition("application/openmetrics-text", within_seconds=0.01) == b""
    may_answer.set()
    assert not (await line.request_exposition("", within_seconds=60)).endswith(b"# EOF\n")
    answering.cancel()


async def test_a_worker_that_ends_while_it_is_queried_has_no_metrics() -> None:
    ours, theirs = socket.socketpair()
    line = WorkerConnection(ours)
    await line.open()
    asking = asyncio.create_task(line.request_exposition("", within_seconds=60))
    await asyncio.sleep(0)
    theirs.close()
    assert await asking == b""
    assert await line.request_exposition("", within_seconds=60) == b""
    await line.close()
