"""When a master's socket is worth a query."""

from pathlib import Path

import pytest

from evenkeel.haproxyd.haproxy.master_socket import UNCHANGED_SOCKET_SECONDS, MasterSocketWatch


class Clock:
    """Time that passes only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def bind_anew(path: Path) -> None:
    """Give the path another file, as a master does when it binds its socket."""
    fresh = path.with_suffix(".tmp")
    fresh.touch()
    fresh.rename(path)


def test_a_socket_is_queried_once_for_each_time_it_is_bound(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "master.sock"
    watch = MasterSocketWatch(path, monotonic=clock)
    assert not watch.should_query()
    for _ in range(2):
        bind_anew(path)
        assert [watch.should_query() for _ in range(3)] == [True, False, False]


def test_the_socket_of_an_earlier_master_is_not_queried(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "master.sock"
    bind_anew(path)
    watch = MasterSocketWatch(path, monotonic=clock)
    assert not watch.should_query()
    bind_anew(path)
    assert watch.should_query()


def test_an_unchanged_socket_is_queried_after_a_while(tmp_path: Path, clock: Clock) -> None:
    watch = MasterSocketWatch(tmp_path / "master.sock", monotonic=clock)
    for _ in range(2):
        assert not watch.should_query()
        clock.now += UNCHANGED_SOCKET_SECONDS
        assert watch.should_query()


def test_a_master_that_answers_is_queried_again_at_once(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "master.sock"
    watch = MasterSocketWatch(path, monotonic=clock)
    bind_anew(path)
    assert watch.should_query()
    watch.record_answer()
    assert watch.should_query()
