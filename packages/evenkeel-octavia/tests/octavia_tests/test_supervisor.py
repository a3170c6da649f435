"""The provider agent comes back whichever of its processes is killed, and ends with driver-agent."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenkeel_octavia.supervisor import StopSignal, WatchedProcess, supervise_worker
from tests.waiting import eventually

pytestmark = pytest.mark.real_time
fork = multiprocessing.get_context("fork")


def work_in(folder: Path) -> Callable[[Callable[[float], bool]], None]:
    """Work that leaves a file for each worker, with the number of its supervisor."""

    def work(wait: Callable[[float], bool]) -> None:
        (folder / str(os.getpid())).write_text(str(os.getppid()))
        while not wait(0.05):
            pass

    return work


class Supervised:
    """A supervisor below this process, which is its driver-agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.exit_event = fork.Event()
        self.process = fork.Process(target=self._supervise, args=(WatchedProcess(os.getpid()),))
        self.process.start()

    def _supervise(self, driver_agent: WatchedProcess) -> None:
        supervise_worker(StopSignal(self.exit_event, driver_agent), work_in(self.folder))

    def workers(self) -> list[int]:
        """Process ids of all workers so far, in order of start."""
        files = sorted(self.folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        return [int(file.name) for file in files if file.read_text()]

    def supervisor_of(self, worker: int) -> int:
        return int((self.folder / str(worker)).read_text())


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    running = Supervised(tmp_path)
    yield running
    running.exit_event.set()
    running.process.join(30.0)  # its sentinel is open in its workers too
    for worker in running.workers():
        wait_until_gone(worker)


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30.0
    while Path(f"/proc/{pid}").exists() and "\tZ" not in Path(f"/proc/{pid}/status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def test_killed_worker_is_replaced(supervised: Supervised) -> None:
    await eventually(lambda: len(supervised.workers()) == 1)
    os.kill(supervised.workers()[0], signal.SIGKILL)
    await eventually(lambda: len(supervised.workers()) == 2)
    assert supervised.supervisor_of(supervised.workers()[1]) == supervised.process.pid


async def test_worker_takes_the_place_of_a_killed_supervisor(supervised: Supervised) -> None:
    await eventually(lambda: len(supervised.workers()) == 1)
    (first,) = supervised.workers()
    os.kill(supervised.supervisor_of(first), signal.SIGKILL)
    await eventually(lambda: len(supervised.workers()) == 2)
    assert supervised.supervisor_of(supervised.workers()[1]) == first


async def test_all_processes_end_when_driver_agent_requests_it(supervised: Supervised) -> None:
    await eventually(lambda: len(supervised.workers()) == 1)
    supervised.exit_event.set()
    supervised.process.join(30.0)
    assert supervised.process.exitcode == 0
    wait_until_gone(supervised.workers()[0])
