"""Fixtures for every room: the real servers, started once per test process and only if a test asks for one."""

import logging
import os
import sys
from collections.abc import Generator, Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests import canary, log_handlers
from tests.services import mariadb as maria
from tests.services import postgres
from tests.services import rabbitmq as rabbit
from tests.tiers.marks import pytest_collection as pytest_collection
from tests.tiers.marks import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.tiers.marks import pytest_ignore_collect as pytest_ignore_collect

_BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("busy machines", _BUSY, derandomize=True)  # the same examples in every run
settings.register_profile("exploring", _BUSY, derandomize=False)
settings.load_profile("busy machines")
canary.watch_removals()
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))  # stdout is what commands print


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


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[rabbit.RabbitMQ]:
    """A running RabbitMQ. A test that stops it must start it again."""
    if reason := rabbit.missing():
        pytest.skip(reason)
    server = rabbit.RabbitMQ()
    server.start()
    yield server
    server.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.PostgreSQL]:
    """A running PostgreSQL. A test that stops it must start it again."""
    if reason := postgres.missing():
        pytest.skip(reason)
    server = postgres.PostgreSQL()
    server.start()
    yield server
    server.close()


@pytest.fixture
def postgresql_database(postgresql: postgres.PostgreSQL) -> Iterator[str]:
    """The URL of an empty database of the test's own."""
    url = postgresql.create_database()
    yield url
    postgresql.drop_database(url)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[maria.MariaDB]:
    """A running MariaDB. A test that stops it must start it again."""
    if reason := maria.missing():
        pytest.skip(reason)
    server = maria.MariaDB()
    server.start()
    yield server
    server.close()


@pytest.fixture
def mariadb_database(mariadb: maria.MariaDB) -> Iterator[str]:
    """The URL of an empty database of the test's own."""
    url = mariadb.create_database()
    yield url
    mariadb.drop_database(url)


@pytest.fixture(scope="session")
def galera() -> Iterator[maria.Galera]:
    """A running Galera cluster of two nodes."""
    if reason := maria.cluster_missing():
        pytest.skip(reason)
    cluster = maria.Galera()
    cluster.start()
    yield cluster
    cluster.close()


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command run in the test's own process sets up logging to a stream that ends with the test."""
    root = logging.getLogger()
    level, configuration = root.level, structlog.get_config()
    yield
    structlog.configure(**configuration)
    log_handlers.remove()
    root.setLevel(level)


@pytest.fixture(autouse=True)
def umask_as_before() -> Iterator[None]:
    """A changed umask belongs to the whole process: servers of later tests could not read their own files."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    assert os.umask(before) == before
