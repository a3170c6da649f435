"""One Neutron for all pytest workers of a run, with its RPC server where there is a RabbitMQ: starting costs half a
minute of CPU.

The servers belong to a keeper, a process of its own. Each worker holds a shared lock on a file for as long as it needs
them; the keeper waits for the exclusive lock, which it gets when the last worker let go, was killed or crashed, and
stops them. Run as ``python -m tests.network.neutron_server.sharing DIRECTORY`` it is the keeper.
"""

import asyncio
import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.network.neutron_server.server import REQUIREMENTS, VERSION, Neutron
from tests.services import rabbitmq
from tests.services.installation import environment, locked
from tests.services.process import ServiceFailed
from tests.waiting import eventually

_ROOT = Path(__file__).parents[3]
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
def shared_neutron(directory: Path) -> Iterator[NeutronPlace]:
    """A running Neutron; ``directory`` is the same for all workers of a run, and of no other run.

    Raises :class:`NotInstallable`, :class:`ServiceFailed`.
    """
    venv = environment("neutron", VERSION, REQUIREMENTS)
    directory.mkdir(mode=0o700, exist_ok=True)
    with (directory / "users").open("a") as users:
        with locked(directory / "start"):
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a keeper that is just ending
            if not (directory / "place").exists():
                _start_keeper(directory, venv)
        yield NeutronPlace(**json.loads((directory / "place").read_text()))


def _start_keeper(directory: Path, venv: Path) -> None:
    """Not a child of ours: it may outlive this worker."""
    failed, log = directory / "failed", directory / "keeper.log"
    failed.unlink(missing_ok=True)
    detached = ["/bin/sh", "-c", '"$@" >>"$0" 2>&1 </dev/null &', str(log)]
    keeper = [sys.executable, "-m", "tests.network.neutron_server.sharing", str(directory), str(venv)]
    subprocess.run([*detached, *keeper], cwd=_ROOT, check=True, start_new_session=True)
    deadline = time.monotonic() + START_SECONDS
    while not (directory / "place").exists():
        if failed.exists() or time.monotonic() > deadline:
            raise ServiceFailed(f"Neutron did not come up:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.1)


def keep(directory: Path, venv: Path) -> None:
    """Serve until nobody holds the lock."""
    try:
        with ExitStack() as servers:
            ready = directory / "place.new"
            ready.write_text(json.dumps(_start(servers, venv)._asdict()))
            ready.rename(directory / "place")
            with (directory / "users").open("a") as users:
                fcntl.flock(users, fcntl.LOCK_EX)
                (directory / "place").unlink()
                servers.close()
    except BaseException:
        (directory / "failed").touch()
        raise


def _start(servers: ExitStack, venv: Path) -> NeutronPlace:
    if rabbitmq.missing():
        neutron = Neutron(venv)
        servers.callback(neutron.close)
        neutron.start()
        return NeutronPlace(neutron.url, "")
    broker = rabbitmq.RabbitMQ()
    servers.callback(broker.close)
    broker.start()
    bus = broker.url.replace("amqp://", "rabbit://")
    neutron = Neutron(venv, bus)
    servers.callback(neutron.close)
    neutron.start()
    agents = neutron.rpc_server()
    servers.callback(agents.close)
    agents.start()
    asyncio.run(eventually(lambda: _reports_are_taken(broker), within_seconds=LISTENS_SECONDS, every_seconds=1.0))
    return NeutronPlace(neutron.url, bus)


def _reports_are_taken(broker: rabbitmq.RabbitMQ) -> bool:
    return f"{REPORTS}\t1" in broker.control("list_queues", "name", "consumers")


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
