"""Queries over one kept connection: which worker answers, and when the connection is closed."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.runtime import held_worker
from evenkeel.haproxyd.haproxy.runtime.kept_connection import ConnectionQuota, PersistentConnection
from evenkeel.haproxyd.haproxy.runtime.master_cli import MasterCli
from tests.listening import StreamServer
from tests.waiting import eventually


class FakeWorker:
    """A worker's runtime API in interactive mode, which counts connections and can fail."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.pid = 7
        self.connections = 0
        self.open: set[asyncio.StreamWriter] = set()
        self.silent = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.add(writer)
        try:
            while line := await reader.readline():
                if self.silent:
                    continue
                text = line.decode().strip()
                body = (
                    ""
                    if text == "prompt"
                    else f"Pid: {self.pid}\n"
                    if text == "show info"
                    else f"{text} of {self.pid}\n"
                )
                writer.write(f"{body}\n> ".encode())
        except ConnectionError:
            pass
        finally:
            self.open.discard(writer)
            writer.close()

    def drop_connections(self) -> None:
        for writer in self.open:
            writer.close()


@contextlib.asynccontextmanager
async def worker_at(path: Path):
    worker = FakeWorker(path / "w")
    async with await StreamServer.start_unix(worker.serve, worker.socket):
        yield worker


@pytest.fixture
async def worker(tmp_path):
    async with worker_at(tmp_path) as made:
        yield made


async def test_queries_share_one_connection_and_each_gets_its_own_answer(worker):
    kept = PersistentConnection(worker.socket)
    answers = await asyncio.gather(*(kept.query(7, f"show {number}") for number in range(20)))
    assert answers == [(f"show {number} of 7\n",) for number in range(20)]
    assert worker.connections == 1
    kept.close()


async def test_several_commands_of_a_query_get_their_answers_in_their_order(worker):
    kept = PersistentConnection(worker.socket)
    assert await kept.query(7, "show b", "show a") == ("show b of 7\n", "show a of 7\n")
    assert worker.connections == 1
    kept.close()


async def test_an_answer_that_arrives_in_pieces_is_put_together(worker):
    async def in_pieces(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        text = b"\n> Pid: 7\n\n> one\n> x\n> "
        for end in range(len(text)):
            writer.write(text[end : end + 1])
            await asyncio.sleep(0)
        writer.close()

    async with await StreamServer.start_unix(in_pieces, worker.socket.with_name("pieces")):
        held, answers = await held_worker.HeldWorkerConnection.open(
            worker.socket.with_name("pieces"), "show info", "a", "b"
        )
        assert answers == ("Pid: 7\n", "one", "x")
        held.close()


async def test_an_endless_answer_is_not_kept_in_memory(worker, monkeypatch):
    monkeypatch.setattr(held_worker, "ANSWER_BYTES_MAX", 100)
    kept = PersistentConnection(worker.socket)
    await kept.query(7, "show stat")
    assert await kept.query(7, "x" * 200) is None
    await eventually(lambda: not worker.open)


async def test_another_worker_on_the_socket_is_not_queried(worker):
    kept = PersistentConnection(worker.socket)
    assert await kept.query(8, "show stat") is None
    await eventually(lambda: not worker.open)


async def test_a_query_to_the_next_worker_closes_the_connection_to_the_former(worker):
    kept = PersistentConnection(worker.socket)
    await kept.query(7, "show stat")
    worker.pid = 8
    assert await kept.query(8, "show stat") == ("show stat of 8\n",)
    assert worker.connections == 2
    await eventually(lambda: len(worker.open) == 1)
    kept.close()


async def test_a_connection_that_the_worker_closed_is_opened_again(worker):
    kept = PersistentConnection(worker.socket)
    await kept.query(7, "show stat")
    worker.drop_connections()
    assert await kept.query(7, "show stat") == ("show stat of 7\n",)
    kept.close()


async def test_an_answer_to_a_cancelled_query_is_not_taken_for_the_next_one(worker):
    kept = PersistentConnection(worker.socket)
    await kept.query(7, "show stat")
    worker.silent = True
    cancelled = asyncio.create_task(kept.query(7, "show first"))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    worker.silent = False
    assert await kept.query(7, "show second") == ("show second of 7\n",)
    kept.close()


async def test_a_silent_worker_is_down_and_its_connection_is_closed(worker, monkeypatch):
    monkeypatch.setattr(held_worker, "TIMEOUT_SECONDS", 0.05)
    kept = PersistentConnection(worker.socket)
    await kept.query(7, "show stat")
    worker.silent = True
    with pytest.raises(HaproxyDown, match="did not answer in"):
        await kept.query(7, "show stat")
    await eventually(lambda: not worker.open)


async def test_no_more_connections_are_kept_than_the_limit_of_open_files_allows(worker, monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (8, 8))
    connections = ConnectionQuota()
    some = [PersistentConnection(worker.socket, connections) for _ in range(3)]
    assert [await kept.query(7, "show stat") is not None for kept in some] == [True, True, False]
    some[0].close()
    assert await some[2].query(7, "show stat") is not None
    for kept in some:
        kept.close()


async def test_the_connection_is_closed_before_a_reload_and_opened_after_it(worker, tmp_path):
    cli = MasterCli(tmp_path / "m", timeout_seconds=20, answer_bytes_max=1000, worker_socket=worker.socket)
    assert await cli.query(7, "show stat") == ("show stat of 7\n",)
    async with cli.exclusive():
        await eventually(lambda: not worker.open)
        worker.pid = 8
        waiting = asyncio.create_task(cli.query(8, "show stat"))
    assert await waiting == ("show stat of 8\n",)
    cli.close()


@pytest.mark.parametrize("text", ["show stat;shutdown sessions", "show\nstat", ""])
async def test_more_than_one_command_is_refused(worker, tmp_path, text):
    cli = MasterCli(tmp_path / "m", timeout_seconds=20, answer_bytes_max=1000, worker_socket=worker.socket)
    with pytest.raises(ValueError, match="not a command"):
        await cli.query(7, text)
    assert worker.connections == 0
