"""One server for all workers of a run, however they end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.services.process import ServiceFailed
from tests.services.sharing import shared, wait_until_stopped
from tests.services.sleeper import START_SECONDS, start_nothing, start_sleeper
from tests.waiting import until

ROOT = Path(__file__).parents[2]


class Worker:
    """A process that uses the server until it ends."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        self.server = int(process.stdout.readline())

    def ends(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0

    def is_interrupted(self, signum: signal.Signals) -> None:
        """Signals reach its whole process group, as Ctrl-C does."""
        os.killpg(self._process.pid, signum)
        self._process.communicate()


@contextmanager
def workers(directory: Path, number: int) -> Iterator[list[Worker]]:
    """Workers that have all begun to use the server at once."""
    command = [sys.executable, "-m", "tests.services.sleeper_user", str(directory)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with ExitStack() as stack:
        begun = []
        for _ in range(number):
            process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes)  # type: ignore[call-overload]
            begun.append(stack.enter_context(process))
            stack.callback(process.kill)
        yield [Worker(process) for process in begun]


def runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def starts(directory: Path) -> int:
    return len((directory / "starts").read_text().splitlines())


def test_workers_have_one_server_until_the_last_one_ends(tmp_path: Path) -> None:
    with workers(tmp_path, 3) as (first, second, third):
        assert first.server == second.server == third.server
        first.ends()
        second.ends()
        assert runs(third.server)
        third.ends()
        assert wait_until_stopped(tmp_path) == []
        assert not runs(third.server)
    assert starts(tmp_path) == 1


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_or_interrupted_worker_takes_the_server_from_nobody_and_leaves_none(
    tmp_path: Path, signum: signal.Signals
) -> None:
    with workers(tmp_path, 2) as (first, second):
        first.is_interrupted(signum)
        assert runs(second.server)
        second.is_interrupted(signum)
        assert wait_until_stopped(tmp_path) == []
        assert not runs(second.server)
    assert starts(tmp_path) == 1


def test_a_server_whose_last_user_has_gone_is_started_again_for_the_next(tmp_path: Path) -> None:
    for number in (1, 2):
        with shared(tmp_path, start_sleeper, start_seconds=START_SECONDS) as place:
            assert runs(place["pid"])
        assert wait_until_stopped(tmp_path) == []
        assert starts(tmp_path) == number


def test_a_killed_keeper_takes_its_server_with_it_and_the_next_user_gets_another(tmp_path: Path) -> None:
    with shared(tmp_path, start_sleeper, start_seconds=START_SECONDS) as place:
        server = place["pid"]
        keeper = int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(keeper, signal.SIGKILL)
        until(lambda: not runs(server))
        with shared(tmp_path, start_sleeper, start_seconds=START_SECONDS) as another:
            assert runs(another["pid"])
    assert wait_until_stopped(tmp_path) == []


def test_a_server_that_does_not_come_up_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    with (
        pytest.raises(ServiceFailed, match=r"(?s)start_nothing did not come up.*the port is taken"),
        shared(tmp_path, start_nothing, start_seconds=START_SECONDS),
    ):
        pass
    assert wait_until_stopped(tmp_path) == []
