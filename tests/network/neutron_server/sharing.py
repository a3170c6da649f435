"""One Neutron for all pytest workers of a run, with its RPC server where there is a RabbitMQ: starting it costs half a
minute of CPU. Its database and its bus are in the servers that the run has anyway."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.network.neutron_server.server import REQUIREMENTS, VERSION, Neutron
from tests.services import rabbitmq
from tests.services.installation import environment
from tests.services.mariadb import SharedMariaDB
from tests.services.rabbitmq import SharedRabbitMQ
from tests.services.sharing import shared
from tests.waiting import eventually

START_SECONDS = 1500.0  # its database, the tables, the servers
LISTENS_SECONDS = 600.0
REPORTS = "q-reports-plugin"
"""The queue that the RPC server consumes last."""


class NeutronPlace(NamedTuple):
    """Where a running Neutron is."""

    url: str
    """Of its API."""
    bus: str
    """Its oslo.messaging transport; empty: it has none that agents could use."""


@contextmanager
def shared_neutron(servers: Path) -> Iterator[NeutronPlace]:
    """A running Neutron; ``servers``: :func:`tests.services.sharing.directory_of_run`.

    Raises :class:`NotInstallable`, :class:`ServiceFailed`.
    """
    environment("neutron", VERSION, REQUIREMENTS)
    with shared(servers, start_neutron, start_seconds=START_SECONDS) as place:
        yield NeutronPlace(place["url"], place["bus"])


def start_neutron(stack: ExitStack, servers: Path) -> dict[str, Any]:
    """Started by the keeper of a run."""
    venv = environment("neutron", VERSION, REQUIREMENTS)
    database = stack.enter_context(SharedMariaDB.opened(servers)).create_database()
    if rabbitmq.missing():
        neutron = Neutron(venv, database)
        stack.callback(neutron.close)
        neutron.start()
        return {"homes": [str(neutron.home)], "url": neutron.url, "bus": ""}
    broker = stack.enter_context(stack.enter_context(SharedRabbitMQ.opened(servers)).virtual_host())
    bus = broker.url.replace("amqp://", "rabbit://")
    neutron = Neutron(venv, database, bus)
    stack.callback(neutron.close)
    neutron.start()
    agents = neutron.rpc_server()
    stack.callback(agents.close)
    agents.start()
    asyncio.run(eventually(lambda: _reports_are_taken(broker), within_seconds=LISTENS_SECONDS, every_seconds=1.0))
    return {"homes": [str(neutron.home), str(agents.home)], "url": neutron.url, "bus": bus}


def _reports_are_taken(broker: SharedRabbitMQ) -> bool:
    return f"{REPORTS}\t1" in broker.control("list_queues", "-p", broker.vhost, "name", "consumers")
