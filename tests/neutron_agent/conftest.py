"""A real Neutron with its RPC server, on a real RabbitMQ."""

import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from openstack.connection import Connection

from tests.network.conftest import session_to
from tests.network.neutron_server.server import REQUIREMENTS, VERSION, Neutron
from tests.services import mariadb, rabbitmq
from tests.services.installation import NotInstallable, environment
from tests.waiting import until


class Site(NamedTuple):
    """Where they are."""

    url: str
    bus: str

    @property
    def neutron(self) -> Connection:
        """An operator's access."""
        return Connection(session=session_to(self.url))


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """``EVENKEEL_TEST_NEUTRON_URL`` and ``EVENKEEL_TEST_NEUTRON_BUS`` name a running one."""
    url, bus = (os.environ.get(f"EVENKEEL_TEST_NEUTRON_{what}") for what in ("URL", "BUS"))
    if url and bus:
        yield Site(url, bus)
        return
    pytest.importorskip("oslo_messaging")
    if reason := mariadb.missing() or rabbitmq.missing():
        pytest.skip(reason)
    try:
        venv = environment("neutron", VERSION, REQUIREMENTS)
    except NotInstallable as error:
        pytest.skip(str(error))
    broker = rabbitmq.RabbitMQ()
    broker.start()
    neutron = Neutron(venv, broker.url.replace("amqp://", "rabbit://"))
    neutron.start()
    agents = neutron.rpc_server()
    agents.start()
    until(lambda: "q-reports-plugin\t1" in broker.control("list_queues", "name", "consumers"))
    yield Site(neutron.url, broker.url.replace("amqp://", "rabbit://"))
    for server in (agents, neutron, broker):
        server.close()
