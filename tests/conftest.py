"""Fixtures for every room: the real servers, started once per test process and only if a test asks for one."""

import logging
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests import canary, log_handlers
from tests.services import mariadb as maria
from tests.services import postgres
from tests.services import rabbitmq as rabbit

_BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("busy machines", _BUSY, derandomize=True)  # the same examples in every run
settings.register_profile("exploring", _BUSY, derandomize=False)
settings.load_profile("busy machines")
canary.watch_removals()
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        # tracebacks with all local variables, as structlog shows them where rich is installed, cost a tenth of a second
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ],
    logger_factory=structlog.PrintLoggerFactory(sys.__stderr__),  # stdout is what commands print
)


SLOW = {
    "acceptance": "whole processes, killed for real",
    "api/identity/test_real_keystone.py": "a Keystone",
    "api/neutron/test_neutron_shell_v1.py": "a process for each command of the stock client",
    "api/neutron/test_neutron_shell_v2.py": "the same",
    "api/test_bad_input.py": "every attribute with every kind of bad value",
    "api/test_clients.py": "stock clients in processes of their own",
    "api/test_command_line_clients.py": "the same",
    "api/test_horizon.py": "a Horizon and a Keystone",
    "api/test_isolation.py": "every route, by strangers to a project",
    "api/test_limits.py": "the largest requests there may be",
    "api/test_openapi_stateful.py": "thousands of generated requests",
    "api/test_personas.py": "every route, by every persona",
    "api/test_query_counts.py": "every route, with little and much in the database",
    "api/test_races.py": "many clients of two controllers",
    "api/test_sdk_clients.py": "the SDK against a whole controller",
    "api/test_status_trees.py": "the largest load balancers there may be",
    "cloud": "a Keystone, a controller and an agent, and suites of others",
    "cmd/test_certificates.py": "a controller's and an agent's processes",
    "cmd/test_commands.py": "an interpreter for each command",
    "compat": "thousands of requests, and a stock Octavia",
    "demo": "the demo's processes",
    "devices/bigip/test_reach.py": "time-outs of devices that are away",
    "devices/haproxy/test_contract.py": "a daemon and real HAProxys",
    "devices/haproxy/test_lost_state.py": "a daemon and real HAProxys",
    "devices/haproxy/test_mozilla.py": "a daemon and real HAProxys",
    "devices/haproxy/test_pair.py": "a daemon and real HAProxys",
    "devices/haproxy/test_prometheus.py": "a daemon and real HAProxys",
    "devices/haproxy/test_tls.py": "a daemon and real HAProxys",
    "devices/haproxy/test_traffic.py": "a daemon and real HAProxys",
    "devices/test_capabilities.py": "every value of every attribute, on every device type",
    "devices/test_largest.py": "the largest load balancers there may be",
    "equivalence/test_histories.py": "daemons and real HAProxys",
    "fuzz": "hundreds of strangers",
    "haproxyd/haproxy/test_worker_users.py": "real HAProxys of other users",
    "haproxyd/partition": "real HAProxys for most tests",
    "haproxyd/test_daemon.py": "a daemon and real HAProxys",
    "haproxyd/test_daemon_process.py": "a daemon's process",
    "haproxyd/test_own_addresses.py": "daemons' processes",
    "haproxyd/test_unit.py": "a daemon's process, and systemd",
    "icontrol_emulator/test_strangers.py": "clients in an environment of their own, hundreds of requests",
    "key_managers/barbican/test_real_barbican.py": "a Barbican",
    "key_managers/barbican/test_with_keystone.py": "a Barbican and a Keystone",
    "key_managers/vault/test_key_manager.py": "an OpenBao",
    "model": "a model checker",
    "network/neutron": "a real Neutron for most tests",
    "services": "the servers that tests start",
    "sim": "thousands of simulated seconds",
    "store/test_query_counts.py": "little and much in the database",
    "system": "controllers and agents that wait for each other",
}
"""Folders and files of tests that ``scripts/test --quick`` leaves out, and what makes them slow."""


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow by where it is."""
    folder = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(folder).as_posix()
        if any(_is_in(path, slow) for slow in SLOW):
            item.add_marker(pytest.mark.slow)


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


@pytest.fixture(scope="session", autouse=True)
def _no_key_in_any_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """At the end, nothing that a process wrote holds the planted private key."""
    yield
    canary.search(tmp_path_factory.getbasetemp())
    if found := canary.take_findings():
        pytest.fail("\n".join(found))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Nor does what a test printed or logged, or how it failed."""
    report = yield
    canary.search_texts(item.nodeid, (text for _, text in report.sections))
    if report.failed:
        canary.search_texts(item.nodeid, [report.longreprtext])
    if report.when == "teardown" and report.passed and (found := canary.take_findings()):
        report.outcome = "failed"
        report.longrepr = "\n".join(found)
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
