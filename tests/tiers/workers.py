"""Pytest plugin, loaded by ``-p tests.tiers.workers``: ``--workers=N`` runs the tests in processes that are forked
after one collection, which costs seven CPU seconds; each worker of pytest-xdist collects. ``-n`` chooses that one all
the same, and ``-n0`` no workers.

A worker that crashes fails its test, and is replaced. What modules make at import is the same in all workers, so that
what a process has alone, as an address, is to be made when it is first used. No thread may run after collection.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from tests.tiers.shares import Shares
from tests.tiers.worker import DONE, serve

AHEAD = 2
"""Tests that a worker knows: the running one, and the next one, for which fixtures may stay."""
POLL_SECONDS = 2.0
"""A process of a test may hold a crashed worker's end of its channel, so that it is not closed."""
END_SECONDS = 60.0
_FORK = multiprocessing.get_context("fork")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option ``--workers``."""
    parser.addoption("--workers", type=int, default=0, metavar="N", help="fork so many processes that run the tests")


def number_of_workers(config: pytest.Config) -> int:
    """0: tests are not run by forked processes."""
    chosen = config.getoption("numprocesses", None) is not None or config.getoption("usepdb", False)
    return 0 if chosen else int(config.getoption("--workers", 0))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in workers, if that is asked for and collection succeeded."""
    number = min(number_of_workers(session.config), len(session.items))
    if not number or session.testsfailed or session.config.option.collectonly:
        return None
    Workers(session, number).run()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


class Worker:
    """One process, as the process that forked it knows it."""

    def __init__(self, session: pytest.Session, name: str, share: int, others: list[Connection]) -> None:
        self.name = name
        self.share = share
        """Number of its tests in :class:`Shares`, which a worker that replaces it takes over."""
        self.given = deque[int]()
        """Tests it has not finished; the first runs."""
        self.is_told_to_end = False
        self.channel, channel = _FORK.Pipe()
        self.process: BaseProcess = _FORK.Process(target=serve, args=(session, name, channel, [*others, self.channel]))
        self.process.start()
        channel.close()

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended and all it has sent was received."""
        return self.process.exitcode is not None and not self.channel.poll()


class Workers:
    """All workers of a run."""

    def __init__(self, session: pytest.Session, number: int) -> None:
        self._session = session
        self._hook: Any = session.config.hook
        self._shares = Shares(len(session.items), number)
        self._number = number
        self._started = 0
        self._running: list[Worker] = []
        self._failed: list[str] = []
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # whose folder workers share

    def run(self) -> None:
        """Start workers, and hear of their tests until they have ended. Raises RuntimeError if one ended badly."""
        terminal = self._session.config.pluginmanager.getplugin("terminalreporter")
        if terminal is not None:
            terminal.showfspath = False  # files alternate
        if threading.active_count() > 1:
            names = ", ".join(thread.name for thread in threading.enumerate())
            print(f"\nworkers are forked while threads run: {names}")
        try:
            for share in range(self._number):
                self._start(share)
            while self._running:
                self._hear()
        finally:
            self._stop()
        if self._failed:
            raise RuntimeError("; ".join(self._failed))

    def _start(self, share: int) -> None:
        others = [worker.channel for worker in self._running]
        worker = Worker(self._session, f"gw{self._started}", share, others)
        self._started += 1
        self._running.append(worker)
        for _ in range(AHEAD):
            self._give(worker)

    def _give(self, worker: Worker) -> None:
        """One more test, or the end, once."""
        if worker.is_told_to_end:
            return
        is_over = self._session.shouldfail or self._session.shouldstop
        test = None if is_over else self._shares.take(worker.share)
        if test is None:
            worker.is_told_to_end = True
        else:
            worker.given.append(test)
        with suppress(OSError):  # it has crashed, which shows when it is heard
            worker.channel.send(test)

    def _hear(self) -> None:
        ready = wait([worker.channel for worker in self._running], POLL_SECONDS)
        for worker in list(self._running):
            if worker.channel in ready:
                self._receive(worker)
            elif worker.has_ended:
                self._end(worker)

    def _receive(self, worker: Worker) -> None:
        try:
            message = worker.channel.recv()
        except (EOFError, OSError):
            self._end(worker)
            return
        if message == DONE:
            self._log_end(worker.given.popleft())
            self._give(worker)
        else:
            report = self._hook.pytest_report_from_serializable(config=self._session.config, data=message)
            self._hook.pytest_runtest_logreport(report=report)

    def _log_end(self, test: int) -> None:
        item = self._session.items[test]
        self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _end(self, worker: Worker) -> None:
        """Replace a worker that ended before its tests."""
        self._running.remove(worker)
        worker.channel.close()
        worker.process.join()
        how = f"worker {worker.name} ended with exit code {worker.process.exitcode}"
        if worker.given:
            self._report_crash(worker.given.popleft(), how)
            for test in reversed(worker.given):
                self._shares.give_back(worker.share, test)
            self._start(worker.share)
        elif worker.process.exitcode:
            self._failed.append(how)

    def _report_crash(self, test: int, how: str) -> None:
        item = self._session.items[test]
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", f"{item.nodeid}: {how}", "call")
        self._hook.pytest_runtest_logreport(report=report)
        self._log_end(test)

    def _stop(self) -> None:
        """Of a run that was interrupted: end the workers, which close what they have opened."""
        for worker in self._running:
            worker.channel.close()
            if worker.process.pid is not None and worker.process.exitcode is None:
                os.kill(worker.process.pid, signal.SIGINT)
        for worker in self._running:
            worker.process.join(END_SECONDS)
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()
