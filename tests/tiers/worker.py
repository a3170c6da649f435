"""A worker of :mod:`tests.tiers.workers`: a process that was forked after collection, and runs the tests it is told."""

import atexit
import os
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from typing import Any

import pytest

CONTROLLERS_PLUGINS = ("terminalreporter", "evenkeel outcomes", "evenkeel workers")
"""Plugins of the process that collected, which hears of all tests."""
DONE = "done"


class Reports:
    """Sends reports to the process that collected."""

    def __init__(self, config: pytest.Config, channel: Connection) -> None:
        self._config = config
        self._channel = channel

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._channel.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def serve(session: pytest.Session, name: str, channel: Connection, others: Iterable[Connection]) -> None:
    """Run tests whose numbers come through ``channel`` until None comes, and end the process. ``others``: connections
    that belong to the process that collected, which would not be closed by its end."""
    for other in others:
        other.close()
    code = 1
    try:
        become_worker(session.config, name)
        session.config.pluginmanager.register(Reports(session.config, channel))
        with _interruption():
            _run_tests(session, channel)
        session.config.hook.pytest_sessionfinish(session=session, exitstatus=pytest.ExitCode.OK)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@contextmanager
def _interruption() -> Iterator[None]:
    """An interrupted run is one that ends: fixtures are torn down, and nothing interrupts that."""
    try:
        yield
    except (EOFError, ConnectionError, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_tests(session: pytest.Session, channel: Connection) -> None:
    """A test's fixtures stay for the next one, which is known when it begins."""
    current = channel.recv()
    while current is not None:
        following = channel.recv()
        item = session.items[current]
        nextitem = None if following is None else session.items[following]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        channel.send(DONE)
        current = following


def become_worker(config: Any, name: str) -> None:
    """Whatever the processes share is made this one's own: captured output, and the folder of temporary files.
    ``workerinput`` is what plugins know workers of pytest-xdist by."""
    config.workerinput = {"workerid": name}
    for plugin in CONTROLLERS_PLUGINS:
        if config.pluginmanager.hasplugin(plugin):
            config.pluginmanager.unregister(name=plugin)
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    folders = config._tmp_path_factory
    folders._given_basetemp = folders.getbasetemp() / f"popen-{name}"
    folders._basetemp = None
    folders._exit_stack = ExitStack()
    folders._next_number = {}
