"""Fixtures for every room: the real servers, started once per test process and only if a test asks for one."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.services import mariadb as maria
from tests.services import postgres
from tests.services import rabbitmq as rabbit

settings.register_profile("busy machines", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machines")


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
