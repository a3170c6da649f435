"""Totals that outlive workers."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.runtime import counters as module
from evenkeel.haproxyd.haproxy.runtime.counters import COUNTERS_FILE, CounterTotals, PartitionCounters, SavedCounters
from evenkeel.haproxyd.haproxy.runtime.worker_state import FrontendCounts

NO_SOCKET = Path("/nonexistent")
"""Of a worker that cannot be held."""
HEAD = "# pxname,svname,scur,stot,bin,bout,ereq,status\n"


class FakeHaproxy:
    """Workers by pid, each with its own counters of frontend ``f``."""

    def __init__(self) -> None:
        self.workers: dict[int, int] = {100: 0}
        self.current = 100
        self.connection: object | None = None
        """Connection of queries."""
        self.next_connection: object | None = None
        """Connection that the next query has."""

    def serve(self, requests: int, pid: int | None = None) -> None:
        self.workers[pid or self.current] += requests

    def reload(self, pid: int) -> None:
        self.workers[pid] = 0
        self.current = pid

    async def command(self, text: str) -> str:
        assert text == "show info"
        return f"Name: HAProxy\nPid: {self.current}\nUptime: 0d\n"

    async def query(self, pid: int, *texts: str) -> tuple[str, ...]:
        self.connection = self.next_connection
        return tuple([await self.command_to_worker(pid, text) for text in texts])

    def connection_to(self, pid: int) -> object | None:
        return self.connection

    async def command_to_worker(self, pid: int, text: str) -> str:
        if pid not in self.workers:
            raise HaproxyDown("Can't find the target")
        count = self.workers[pid]
        return f"{HEAD}f,FRONTEND,1,{count},{count * 10},{count * 20},0,OPEN,\n\n"


@pytest.fixture
def haproxy(monkeypatch: pytest.MonkeyPatch) -> FakeHaproxy:
    monkeypatch.setattr(module, "worker_key", lambda pid: f"{pid}-1")
    return FakeHaproxy()


async def total(counters: PartitionCounters, haproxy: FakeHaproxy) -> int:
    found = (await counters.collect(haproxy, haproxy.current, ("f",)))[0]["f"]
    assert (found.bytes_in, found.bytes_out) == (found.connections * 10, found.connections * 20)
    assert found.listening
    return found.connections


async def test_a_reload_loses_nothing_and_old_workers_count_on(tmp_path: Path, haproxy: FakeHaproxy) -> None:
    counters = PartitionCounters("p", tmp_path)
    haproxy.serve(5)
    assert await total(counters, haproxy) == 5
    haproxy.serve(3)
    async with counters.carry_over(haproxy, NO_SOCKET, 100):
        haproxy.reload(101)
    haproxy.serve(2)
    haproxy.serve(1, pid=100)
    assert await total(counters, haproxy) == 11
    found = (await counters.collect(haproxy, 101, ("f",)))[0]["f"]
    assert found.active == 2, "connections of both"
    del haproxy.workers[100]
    assert await total(counters, haproxy) == 11
    haproxy.serve(4)
    assert await total(counters, haproxy) == 15


async def test_totals_are_the_same_object_as_long_as_nothing_was_counted(tmp_path: Path, haproxy: FakeHaproxy) -> None:
    counters = PartitionCounters("p", tmp_path)
    haproxy.serve(5)
    first, _ = await counters.collect(haproxy, 100, ("f",))
    assert (await counters.collect(haproxy, 100, ("f",)))[0] is first
    assert set((await counters.collect(haproxy, 100, ("f", "g")))[0]) == {"f", "g"}
    haproxy.serve(1)
    assert (await counters.collect(haproxy, 100, ("f",)))[0]["f"].connections == 6
    async with counters.carry_over(haproxy, NO_SOCKET, 100):
        haproxy.reload(101)
    assert (await counters.collect(haproxy, 101, ("f",)))[0]["f"].connections == 6
    haproxy.serve(1, pid=100)
    assert (await counters.collect(haproxy, 101, ("f",)))[0]["f"].connections == 7


async def test_a_crash_loses_only_what_was_counted_since_the_last_look(tmp_path: Path, haproxy: FakeHaproxy) -> None:
    counters = PartitionCounters("p", tmp_path)
    haproxy.serve(5)
    assert await total(counters, haproxy) == 5
    haproxy.workers.clear()
    haproxy.reload(200)
    haproxy.serve(1)
    assert await total(counters, haproxy) == 6


async def test_worker_that_dies_after_its_answer_is_counted(
    tmp_path: Path, haproxy: FakeHaproxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = PartitionCounters("p", tmp_path)
    keys = iter(["100-1"])
    monkeypatch.setattr(module, "worker_key", lambda pid: next(keys, f"{pid}-gone"))
    haproxy.serve(5)
    assert await total(counters, haproxy) == 5


async def test_worker_of_a_kept_connection_is_identified_once_and_again_after_another_connection_was_opened(
    tmp_path: Path, haproxy: FakeHaproxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that has the pid of an earlier one counts from zero, however soon it has counted more."""
    keys: list[str] = []
    started = 1

    def worker_key(pid: int) -> str:
        keys.append(f"{pid}-{started}")
        return keys[-1]

    monkeypatch.setattr(module, "worker_key", worker_key)
    counters = PartitionCounters("p", tmp_path)
    haproxy.next_connection = "first"
    haproxy.serve(5)
    for _ in range(3):
        assert await total(counters, haproxy) == 5
    assert len(keys) == 1
    started = 2
    haproxy.next_connection = "second"
    haproxy.workers[100] = 7
    assert await total(counters, haproxy) == 5 + 7
    assert len(keys) > 1


async def test_a_daemon_that_was_killed_goes_on_counting(tmp_path: Path, haproxy: FakeHaproxy) -> None:
    first = PartitionCounters("p", tmp_path)
    haproxy.serve(5)
    async with first.carry_over(haproxy, NO_SOCKET, 100):
        haproxy.reload(101)
    haproxy.serve(5)
    second = PartitionCounters("p", tmp_path)
    assert await total(second, haproxy) == 10
    await second.close()
    haproxy.workers.clear()
    haproxy.reload(102)
    assert await total(PartitionCounters("p", tmp_path), haproxy) == 10


async def test_cleared_counters_are_not_taken_back(tmp_path: Path, haproxy: FakeHaproxy) -> None:
    counters = PartitionCounters("p", tmp_path)
    haproxy.serve(5)
    await total(counters, haproxy)
    haproxy.workers[100] = 2
    assert await total(counters, haproxy) == 7


async def test_a_frontend_that_is_switched_off_keeps_its_totals(tmp_path: Path, haproxy: FakeHaproxy) -> None:
    counters = PartitionCounters("p", tmp_path)
    haproxy.serve(5)
    await total(counters, haproxy)
    assert await counters.collect(haproxy, 100, ()) == ({}, ())
    assert await total(counters, haproxy) == 5


async def test_a_silent_worker_hinders_no_reload(tmp_path: Path, haproxy: FakeHaproxy) -> None:
    counters = PartitionCounters("p", tmp_path)
    haproxy.workers.clear()
    async with counters.carry_over(haproxy, NO_SOCKET, 100):
        pass
    with pytest.raises(HaproxyDown):
        await counters.collect(haproxy, 100, ("f",))


async def test_a_broken_file_begins_at_zero_and_a_full_disk_hinders_nobody(
    tmp_path: Path, haproxy: FakeHaproxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / COUNTERS_FILE).write_text("{")

    def full(file: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write_atomically", full)
    counters = PartitionCounters("p", tmp_path)
    haproxy.serve(2)
    async with counters.carry_over(haproxy, NO_SOCKET, 100):
        pass
    assert await total(counters, haproxy) == 2


def test_forgotten_is_only_what_is_beyond_the_limit() -> None:
    totals = CounterTotals()
    for number in range(5):
        totals.record_counts("1-1", {str(number): FrontendCounts(connections=1)})
    totals.add_to_base("1-1")
    totals.drop_removed_totals(["1"], 5)
    assert len(totals.base) == 5
    totals.drop_removed_totals(["1"], 4)
    assert list(totals.base) == ["1"]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("serve"), st.integers(0, 1000)),
            st.tuples(st.sampled_from(["look", "worker", "gone", "daemon"]), st.just(0)),
        ),
        max_size=40,
    )
)
def test_totals_are_what_was_served_whatever_comes_between_looks(steps: list[tuple[str, int]]) -> None:
    totals, served, current, count = CounterTotals(), 0, 0, 0
    for what, number in steps:
        if what == "serve":
            served, count = served + number, count + number
        totals.record_counts(f"{current}-0", {"f": FrontendCounts(connections=count, bytes_in=count)})
        if what == "worker":
            current, count = current + 1, 0
        elif what == "gone" and current:
            totals.add_to_base(f"{current - 1}-0")
        elif what == "daemon":
            totals = CounterTotals(msgspec.json.decode(msgspec.json.encode(totals.state_to_save()), type=SavedCounters))
        assert totals.frontend_total("f").connections == served


async def test_equal_totals_are_written_once_and_again_if_the_file_was_removed(
    tmp_path: Path, haproxy: FakeHaproxy
) -> None:
    now = 0.0
    counters = PartitionCounters("p", tmp_path, monotonic=lambda: now)
    file = tmp_path / module.COUNTERS_FILE

    async def save() -> int:
        nonlocal now
        now += module.SAVE_EVERY_SECONDS
        await counters.collect(haproxy, 100, ("f",))
        return file.stat().st_ino

    haproxy.serve(1)
    first = await save()
    assert await save() == first
    file.unlink()
    assert await save()
    haproxy.serve(1)
    before = file.read_bytes()
    await save()
    assert file.read_bytes() != before
