"""Fixtures of servers. A server is started once for all workers of a run, and only if a test asks for one; each test
has a database or a virtual host of its own in it. A test that stops, kills, freezes or configures a server takes an
``own_`` one, which its worker starts for such tests alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import mariadb as maria
from tests.services import postgres
from tests.services import rabbitmq as rabbit
from tests.services.forking import forked_starts
from tests.services.sharing import directory_of_run


@pytest.fixture(scope="session", autouse=True)
def _forked_starts() -> Iterator[None]:
    """Processes of clusters are forked from one that has imported their program."""
    with forked_starts():
        yield


@pytest.fixture(scope="session")
def shared_servers(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The directory of the servers that the workers of this run share."""
    return directory_of_run(tmp_path_factory, pytestconfig)


@pytest.fixture(scope="session")
def rabbitmq_node(shared_servers: Path) -> Iterator[rabbit.SharedRabbitMQ]:
    """The running RabbitMQ; tests take ``rabbitmq``."""
    if reason := rabbit.missing():
        pytest.skip(reason)
    with rabbit.SharedRabbitMQ.opened(shared_servers) as server:
        yield server


@pytest.fixture
def rabbitmq(rabbitmq_node: rabbit.SharedRabbitMQ) -> Iterator[rabbit.SharedRabbitMQ]:
    """An empty virtual host of the running RabbitMQ."""
    with rabbitmq_node.virtual_host() as host:
        yield host


@pytest.fixture(scope="session")
def stoppable_rabbitmq() -> Iterator[rabbit.RabbitMQ]:
    """What ``own_rabbitmq`` is, running or not."""
    if reason := rabbit.missing():
        pytest.skip(reason)
    server = rabbit.RabbitMQ()
    yield server
    server.close()


@pytest.fixture
def own_rabbitmq(stoppable_rabbitmq: rabbit.RabbitMQ) -> rabbit.RabbitMQ:
    """A RabbitMQ that the test may stop and configure. It runs, whatever the test before did to it."""
    stoppable_rabbitmq.start()
    return stoppable_rabbitmq


@pytest.fixture(scope="session")
def postgresql(shared_servers: Path) -> Iterator[postgres.SharedPostgreSQL]:
    """The running PostgreSQL."""
    if reason := postgres.missing():
        pytest.skip(reason)
    with postgres.SharedPostgreSQL.opened(shared_servers) as server:
        yield server


@pytest.fixture
def postgresql_database(postgresql: postgres.SharedPostgreSQL) -> Iterator[str]:
    """The URL of an empty database of the test's own."""
    url = postgresql.create_database()
    yield url
    postgresql.drop_database(url)


@pytest.fixture(scope="session")
def stoppable_postgresql() -> Iterator[postgres.PostgreSQL]:
    """What ``own_postgresql`` is, running or not."""
    if reason := postgres.missing():
        pytest.skip(reason)
    server = postgres.PostgreSQL()
    yield server
    server.close()


@pytest.fixture
def own_postgresql(stoppable_postgresql: postgres.PostgreSQL) -> postgres.PostgreSQL:
    """A PostgreSQL that the test may stop and configure. It runs, whatever the test before did to it."""
    stoppable_postgresql.start()
    return stoppable_postgresql


@pytest.fixture
def own_postgresql_database(own_postgresql: postgres.PostgreSQL) -> Iterator[str]:
    """The URL of an empty database of the test's own, in ``own_postgresql``."""
    url = own_postgresql.create_database()
    yield url
    own_postgresql.drop_database(url)


@pytest.fixture(scope="session")
def mariadb(shared_servers: Path) -> Iterator[maria.SharedMariaDB]:
    """The running MariaDB."""
    if reason := maria.missing():
        pytest.skip(reason)
    with maria.SharedMariaDB.opened(shared_servers) as server:
        yield server


@pytest.fixture
def mariadb_database(mariadb: maria.SharedMariaDB) -> Iterator[str]:
    """The URL of an empty database of the test's own."""
    url = mariadb.create_database()
    yield url
    mariadb.drop_database(url)


@pytest.fixture(scope="session")
def stoppable_mariadb() -> Iterator[maria.MariaDB]:
    """What ``own_mariadb`` is, running or not."""
    if reason := maria.missing():
        pytest.skip(reason)
    server = maria.MariaDB()
    yield server
    server.close()


@pytest.fixture
def own_mariadb(stoppable_mariadb: maria.MariaDB) -> maria.MariaDB:
    """A MariaDB that the test may stop and configure. It runs, whatever the test before did to it."""
    stoppable_mariadb.start()
    return stoppable_mariadb


@pytest.fixture
def own_mariadb_database(own_mariadb: maria.MariaDB) -> Iterator[str]:
    """The URL of an empty database of the test's own, in ``own_mariadb``."""
    url = own_mariadb.create_database()
    yield url
    own_mariadb.drop_database(url)


@pytest.fixture(scope="session")
def galera(shared_servers: Path) -> Iterator[maria.SharedGalera]:
    """The running Galera cluster of two nodes."""
    if reason := maria.cluster_missing():
        pytest.skip(reason)
    with maria.SharedGalera.opened(shared_servers) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def own_galera() -> Iterator[maria.Galera]:
    """A Galera cluster whose nodes a test may restart."""
    if reason := maria.cluster_missing():
        pytest.skip(reason)
    cluster = maria.Galera()
    cluster.start()
    yield cluster
    cluster.close()
