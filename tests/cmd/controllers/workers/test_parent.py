"""A parent whose host has no more processes or descriptors."""

import asyncio
import errno
import signal
import sys
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from structlog.testing import capture_logs

from evenkeel.cmd.controllers.workers import parent as parents
from evenkeel.cmd.controllers.workers.connection import WorkerConnection
from evenkeel.cmd.controllers.workers.parent import WorkerSupervisor
from evenkeel.cmd.controllers.workers.worker import WorkerProcess
from evenkeel.core.kit.backoff import Backoff
from tests.waiting import eventually

START = asyncio.create_subprocess_exec
SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


class Host:
    """Starts a process that does nothing instead of a worker, after it has refused ``failures`` times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.started: list[asyncio.subprocess.Process] = []

    async def start(self, *_: str, **options: Any) -> asyncio.subprocess.Process:
        if self.failures:
            self.failures -= 1
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        self.started.append(await START(*SLEEP, **options))
        return self.started[-1]


def with_host(monkeypatch: pytest.MonkeyPatch, failures: int) -> Host:
    host = Host(failures)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", host.start)
    monkeypatch.setattr(parents, "RESTART_BACKOFF", Backoff(initial_seconds=0.01, max_seconds=0.01))
    return host


def open_descriptors() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


async def test_a_worker_that_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    host = with_host(monkeypatch, failures=2)
    with socket() as listening, capture_logs() as lines:
        parent = WorkerSupervisor("some", (), listening, 1, beat_seconds=30.0)
        parent.serves.set()
        running = asyncio.create_task(parent.run())
        await eventually(lambda: host.started or running.done())
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await parent.stop()
    assert [line["error"] for line in lines if line["event"] == "worker ended; it is started again"] == [
        "not started: [Errno 11] Resource temporarily unavailable"
    ] * 2


async def test_a_worker_whose_start_is_cancelled_has_ended_when_the_parent_has(monkeypatch: pytest.MonkeyPatch) -> None:
    host = with_host(monkeypatch, failures=0)
    opening = asyncio.Event()

    async def open_line(_: WorkerConnection) -> None:
        opening.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(WorkerConnection, "open", open_line)
    with socket() as listening:
        parent = WorkerSupervisor("some", (), listening, 1, beat_seconds=30.0)
        running = asyncio.create_task(parent.run())
        await opening.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await parent.stop()
    assert [process.returncode for process in host.started] == [-signal.SIGKILL]


async def test_before_any_worker_serves_a_failed_start_ends_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    with_host(monkeypatch, failures=1)
    with socket() as listening, pytest.raises(BlockingIOError):
        await WorkerSupervisor("some", (), listening, 1, beat_seconds=30.0).run()


async def test_a_failed_start_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    with_host(monkeypatch, failures=1)
    with socket() as listening:
        before = open_descriptors()
        with pytest.raises(BlockingIOError) as raised:  # the traceback would keep sockets open
            await WorkerProcess.start(1, ("some",), listening, beat_seconds=30.0, on_serving=lambda _: None)
        assert open_descriptors() == before, raised
