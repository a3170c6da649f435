"""Fixtures and rules for the tests of every room; those of servers are in :mod:`tests.services.fixtures`."""

import logging
import os
import sys
from collections.abc import Generator, Iterator, MutableMapping
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

# before anything imports Eventlet, which is half a second quicker without it: no name is resolved through it
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")

from tests import canary, log_handlers
from tests.compiled_statements import share_compiled_statements
from tests.entry_points import read_entry_points_once
from tests.services import sharing
from tests.tiers.marks import pytest_collection as pytest_collection
from tests.tiers.marks import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.tiers.marks import pytest_ignore_collect as pytest_ignore_collect

pytest_plugins = ["tests.services.fixtures"]

_BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("busy machines", _BUSY, derandomize=True)  # the same examples in every run
settings.register_profile("exploring", _BUSY, derandomize=False)
settings.load_profile("busy machines")
canary.watch_removals()
share_compiled_statements()
read_entry_points_once()


def _line(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    """A log entry with its traceback. With structlog's own renderer for terminals an entry takes twice the time, and
    tests of devices write tens of thousands."""
    begin = [str(event.pop(name, "")) for name in ("timestamp", "level", "event")]
    traces = [event.pop(name) for name in ("stack", "exception") if name in event]
    return "\n".join([" ".join([*begin, *(f"{name}={value}" for name, value in event.items())]), *traces])


structlog.configure(
    processors=[*structlog.get_config()["processors"][:-1], structlog.processors.format_exc_info, _line],
    logger_factory=structlog.PrintLoggerFactory(sys.__stderr__),  # stdout is what commands print
)


@pytest.fixture(scope="session", autouse=True)
def _no_key_in_any_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """At the end, nothing that a process wrote holds the planted private key."""
    yield
    canary.search(tmp_path_factory.getbasetemp())
    if found := canary.take_findings():
        raise canary.KeyFound("\n".join(found))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Nor does what a test printed or logged, or how it failed."""
    report = yield
    canary.search_texts(item.nodeid, (text for _, text in report.sections))
    if report.failed:
        canary.search_texts(item.nodeid, [report.longreprtext])
    if report.when == "teardown" and report.passed and (found := canary.take_findings()):
        report.outcome = "failed"
        report.longrepr = "\n".join(found)
        report.user_properties = [*report.user_properties, ("key_found", True)]
    elif call.excinfo is not None and call.excinfo.errisinstance(canary.KeyFound):
        report.user_properties = [*report.user_properties, ("key_found", True)]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """The run ends when the servers have ended that its workers shared; a server that stays is a failure."""
    yield
    if hasattr(session.config, "workerinput"):
        return
    servers = sharing.directory_of_run(session.config._tmp_path_factory, session.config)  # type: ignore[attr-defined]
    if late := sharing.wait_until_stopped(servers):
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        print(f"\nservers that run on: {', '.join(late)}", file=sys.stderr)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command run in the test's own process sets up logging to a stream that ends with the test."""
    root = logging.getLogger()
    level, configuration = root.level, structlog.get_config()
    yield
    structlog.configure(**configuration)
    log_handlers.remove()
    if root.level != level:  # logging would forget of all loggers whether they are enabled
        root.setLevel(level)


@pytest.fixture(autouse=True)
def umask_as_before() -> Iterator[None]:
    """A changed umask belongs to the whole process: servers of later tests could not read their own files."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    assert os.umask(before) == before
