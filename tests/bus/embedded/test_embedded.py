"""What only the queue file has: its own peculiar ways to survive, to fill up and to be tidied."""

import asyncio
import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from evenkeel.bus.embedded import EmbeddedBus, queries, schema
from evenkeel.core.kit.errors import BusUnavailable, CallTimeout
from evenkeel.core.protocol.messages import Done
from tests.bus.children import child
from tests.bus.test_contract import Recorder
from tests.bus.transports import CALL, FILE_SECONDS, HINT, Embedded, hint
from tests.freezing import freeze
from tests.waiting import eventually


def _sql(transport: Embedded, statement: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(transport.path, timeout=FILE_SECONDS)) as file, file:
        return file.execute(statement).fetchall()


def _sockets(directory: object) -> list[Path]:
    return list(Path(str(directory)).iterdir())


async def test_a_frozen_consumer_keeps_its_messages_only_as_long_as_its_lease(embedded: Embedded) -> None:
    bus = await embedded.bus()
    async with child("tests.bus.consumer_process", embedded.url, embedded.queue) as victim:
        assert victim.stdout is not None
        await bus.send(embedded.queue, HINT)
        await victim.stdout.readline()
        await freeze(victim.send_signal, embedded.url)
        recorder = Recorder()
        await bus.consume(embedded.queue, recorder, concurrency=1)
        _sql(embedded, "UPDATE message SET available_at = 0")  # the lease is over
        await eventually(lambda: recorder.got == [HINT])


async def test_the_lease_is_renewed_while_the_handler_works(
    embedded: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = schema.monotonic_seconds()  # moved by the test
    for module in ("bus", "queries"):
        monkeypatch.setattr(f"evenkeel.bus.embedded.{module}.monotonic_seconds", lambda: time)
    monkeypatch.setattr("evenkeel.bus.embedded.bus.POLL_SECONDS", 0.01)
    bus = await embedded.bus()
    release, starts = asyncio.Event(), 0

    async def slow(message: object) -> None:
        nonlocal starts
        starts += 1
        await release.wait()

    await bus.consume(embedded.queue, slow, concurrency=2)
    await bus.send(embedded.queue, HINT)
    await eventually(lambda: starts == 1)
    for _ in range(5):
        time += queries.LEASE_SECONDS * 0.4
        renewed = [(time + queries.LEASE_SECONDS,)]
        await eventually(lambda: _sql(embedded, "SELECT available_at FROM message") == renewed)  # noqa: B023
    release.set()
    await eventually(lambda: _sql(embedded, "SELECT * FROM message") == [])
    assert starts == 1  # settled: there may never be a second one


async def test_a_holder_that_lost_its_claim_neither_deletes_nor_answers(embedded: Embedded) -> None:
    bus, other = await embedded.bus(), await embedded.bus()
    assert isinstance(other, EmbeddedBus)
    taken = f"deliveries = deliveries + 1, claimed_by = '{other._peer}', available_at = 1e12"
    started, release = asyncio.Event(), asyncio.Event()
    answers = 0

    async def answer(message: object) -> Done:
        nonlocal answers
        answers += 1
        if answers == 1:
            started.set()
            await release.wait()
        return Done()

    await bus.consume(embedded.queue, answer, concurrency=2)
    call = asyncio.create_task(bus.call(embedded.queue, CALL, timeout_seconds=60))
    await started.wait()
    _sql(embedded, f"UPDATE message SET {taken}")  # by one who lives: what dead ones hold is taken from them
    release.set()
    await bus.send(embedded.queue, HINT)
    await eventually(lambda: answers == 2)
    claimed = [(other._peer,)]
    await eventually(lambda: _sql(embedded, "SELECT claimed_by FROM message") == claimed)  # the hint is done with
    assert not call.done()  # settled: one that lost its claim may never answer
    call.cancel()


async def test_a_full_queue_refuses_messages_and_others_do_not(
    embedded: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.bus.embedded.queries.MAX_MESSAGES", 3)
    bus = await embedded.bus()
    for number in range(3):
        await bus.send(embedded.queue, hint(number))
    with pytest.raises(BusUnavailable, match="full"):
        await bus.send(embedded.queue, hint(3))
    await bus.send("another", hint(4))
    recorder = Recorder()
    await bus.consume(embedded.queue, recorder, concurrency=1)
    await eventually(lambda: len(recorder.got) == 3)
    await eventually(lambda: _sql(embedded, "SELECT messages, bytes FROM queue WHERE name LIKE 'queue-%'") == [(0, 0)])
    await bus.send(embedded.queue, hint(5))


async def test_a_queue_full_of_bytes_refuses_messages(embedded: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.bus.embedded.queries.MAX_BYTES", 300)
    bus = await embedded.bus()
    await bus.send(embedded.queue, HINT)
    with pytest.raises(BusUnavailable, match="full"):
        for _ in range(3):
            await bus.send(embedded.queue, HINT)


async def test_expired_calls_and_abandoned_queues_are_trimmed_and_others_kept(embedded: Embedded) -> None:
    bus = await embedded.bus()
    with pytest.raises(CallTimeout):
        await bus.call("unheard", CALL, timeout_seconds=0.01)
    await bus.send("abandoned", hint(1))
    await bus.send("kept", hint(2))
    _sql(embedded, f"UPDATE queue SET consumed_at = -{queries.ABANDONED_SECONDS} WHERE name = 'abandoned'")
    with contextlib.closing(schema.open_file(str(embedded.path))) as file:
        queries.remove_expired(file)
    assert _sql(embedded, "SELECT queue FROM message") == [("kept",)]


async def test_after_a_boot_messages_are_free_and_calls_are_void(embedded: Embedded) -> None:
    bus = await embedded.bus()
    with pytest.raises(CallTimeout):
        await bus.call(embedded.queue, CALL, timeout_seconds=0.01)
    await bus.send(embedded.queue, HINT)
    _sql(embedded, "UPDATE message SET claimed_by = 'gone', available_at = 1e12, expires_at = expires_at + 1e12")
    _sql(embedded, "UPDATE setting SET value = 'an earlier boot' WHERE name = 'boot'")
    after = await embedded.bus()
    recorder = Recorder()
    await after.consume(embedded.queue, recorder, concurrency=1)
    await eventually(lambda: recorder.got == [HINT])


async def test_a_path_too_long_for_a_socket_works_all_the_same(patience: None) -> None:
    with tempfile.TemporaryDirectory() as directory:
        deep = Path(directory) / ("d" * 60) / ("e" * 60)
        deep.mkdir(parents=True)
        transport = Embedded(deep)
        try:
            first, second = await transport.bus(), await transport.bus()
            await first.consume(transport.queue, Recorder(Done()), concurrency=1)
            assert await second.call(transport.queue, CALL, timeout_seconds=60) == Done()
            ((sockets,),) = _sql(transport, "SELECT value FROM setting WHERE name = 'socket_directory'")
            assert len(_sockets(sockets)) == 2
        finally:
            await transport.close()
        shutil.rmtree(str(sockets))


async def test_removed_sockets_are_made_again(embedded: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.bus.embedded.bus.POLL_SECONDS", 0.05)
    # who finds a socket missing in between takes its owner for dead, until that one has bound it again
    monkeypatch.setattr("evenkeel.bus.embedded.bus.TRIM_EVERY_POLLS", 1_000_000)
    bus, other = await embedded.bus(), await embedded.bus()
    await other.consume(embedded.queue, Recorder(Done()), concurrency=1)
    for socket in _sockets(f"{embedded.path}.sockets"):
        socket.unlink()
    await eventually(lambda: len(_sockets(f"{embedded.path}.sockets")) == 2)
    assert await bus.call(embedded.queue, CALL, timeout_seconds=60) == Done()  # settled: the call waits itself


async def test_a_closed_bus_leaves_no_socket_and_no_claim(embedded: Embedded) -> None:
    bus = await embedded.bus()
    await bus.consume(embedded.queue, Recorder(), concurrency=1)
    await bus.close()
    assert _sockets(f"{embedded.path}.sockets") == []
    assert _sql(embedded, "SELECT * FROM peer") == _sql(embedded, "SELECT * FROM listener") == []


async def test_a_file_of_a_newer_version_is_refused(embedded: Embedded) -> None:
    _sql(embedded, "PRAGMA user_version = 99")
    with pytest.raises(BusUnavailable, match="newer"):
        await embedded.bus()


@pytest.mark.parametrize("spoil", [lambda path: path.write_text("no database" * 100), lambda path: path.mkdir()])
async def test_file_that_is_no_queue_is_refused(embedded: Embedded, spoil: Callable[[Path], object]) -> None:
    spoil(embedded.path)
    with pytest.raises(BusUnavailable):
        await embedded.bus()


async def test_a_bus_that_is_not_started_reports_it(embedded: Embedded) -> None:
    bus = EmbeddedBus(str(embedded.path), name="test")
    assert await bus.present("n") is None
    with pytest.raises(BusUnavailable, match="not open"):
        await bus.announce("n")
    with pytest.raises(BusUnavailable, match="not open"):
        await bus.send(embedded.queue, HINT)
    await bus.close()


async def test_many_processes_may_open_a_new_file_at_once(embedded: Embedded) -> None:
    buses = await asyncio.gather(*(embedded.bus() for _ in range(8)))
    recorder = Recorder()
    await buses[0].consume(embedded.queue, recorder, concurrency=4)
    await asyncio.gather(*(bus.send(embedded.queue, hint(number)) for number, bus in enumerate(buses)))
    await eventually(lambda: set(recorder.numbers()) == set(range(8)))


async def test_a_name_whose_socket_was_removed_is_bound_again(
    embedded: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.bus.embedded.bus.POLL_SECONDS", 0.05)
    announcer, watcher = await embedded.bus(), await embedded.bus()
    await announcer.announce("n")
    assert await watcher.present("n") is True
    shutil.rmtree(f"{embedded.path}.sockets")
    assert await watcher.present("n") is None  # ours is gone too: that tells nothing about others

    async def present() -> bool:
        return await watcher.present("n") is True

    await eventually(present)


async def test_sockets_of_killed_processes_are_removed_and_only_those(
    embedded: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with child("tests.bus.presence_process", embedded.url, "n"):
        pass
    left = {path.name for path in _sockets(f"{embedded.path}.sockets")}
    assert len(left) == 2
    no_socket = Path(f"{embedded.path}.sockets") / "file.on"
    no_socket.touch()
    monkeypatch.setattr("evenkeel.bus.embedded.bus.POLL_SECONDS", 0.05)
    bus = await embedded.bus()
    await bus.announce("m")
    # settled: announced before; nothing of this may ever be swept away
    await eventually(lambda: not left & {path.name for path in _sockets(f"{embedded.path}.sockets")})
    assert await bus.present("m") is True
    assert no_socket.exists()


async def test_a_name_that_another_process_has_is_refused(embedded: Embedded) -> None:
    first, second = await embedded.bus(), await embedded.bus()
    await first.announce("n")
    with pytest.raises(BusUnavailable):
        await second.announce("n")
    assert await second.present("n") is True


async def test_a_queue_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "bus.db"
    sqlite3.connect(file).close()
    file.touch()
    file.chmod(0o666)
    bus = EmbeddedBus(str(file), name="a")
    await bus.start()
    modes = await asyncio.to_thread(
        lambda: {path.stat().st_mode & 0o777 for path in tmp_path.glob("bus.db*") if path.is_file()}
    )
    assert modes == {0o600}
    await bus.close()
