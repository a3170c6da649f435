"""A stock Octavia whose provider is a whole Even Keel on this host, with HAProxy and web servers behind it."""

import asyncio
import contextlib
import copy
import itertools
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster
from tests.services.mariadb import MariaDB
from tests.services.octavia import Octavia
from tests.services.rabbitmq import RabbitMQ

SETTLED_SECONDS = 120.0
ENVIRONMENTS = {"prod": "haproxy", "none": "noop", "big": "bigip", "spare": "noop"}
"""Device types by environment; agents of the first run always, those of the others in :mod:`tests.octavia.sites`. The
last is for further Octavias, each of which needs an environment of its own.
"""
PROVIDERS = {
    "evenkeel": "prod",
    "evenkeel-noop": "none",
    "evenkeel-bigip": "big",
    "evenkeel-elsewhere": "elsewhere",
}
"""Environments by provider; the last does not exist."""
DRIFT_SECONDS = 5.0
FINAL = ("ACTIVE", "ERROR", "DELETED")
Body = dict[str, Any]


class World:
    """Use :meth:`started`."""

    def __init__(
        self, cluster: Cluster, octavia: Octavia, database: MariaDB, subnet_id: str, broker: RabbitMQ | None
    ) -> None:
        self.cluster = cluster
        self.broker = broker
        self.database = database
        self.octavia = octavia
        """The Octavia that requests go to."""
        self.subnet_id = subnet_id
        network = choose_vip_address(random.Random()).address.rpartition(".")[0]
        self._addresses = (f"{network}.{number % 240 + 10}" for number in itertools.count())
        self._lock = threading.Lock()

    @classmethod
    @contextlib.contextmanager
    def started(
        cls, folder: Path, venv: Path, *, controllers: int = 1, broker: RabbitMQ | None = None
    ) -> Iterator[Self]:
        """Run until the block ends. ``venv``: where Octavia is installed. With a broker, which runs, the controllers
        use it and the MariaDB, in place of files.
        """
        database = MariaDB()
        environments = ",".join(f"{name}:{device}" for name, device in ENVIRONMENTS.items())
        cluster, octavia = None, None
        try:
            database.start()
            servers = {} if broker is None else {"database": database.create_database(), "transport_url": broker.url}
            cluster = Cluster(
                folder / "evenkeel",
                environment="prod",
                device="haproxy",
                controller_options={"DEFAULT": {"environments": environments}},
                **servers,
            )
            asyncio.run(_start(cluster, controllers))
            subnet = {"subnet": {"name": "vips", "cidr": "127.0.0.0/8"}}
            subnet_id = cluster.client().post(f"{API_PATH}/subnets", subnet)["subnet"]["id"]
            octavia = octavia_host(venv, cluster, database.create_database())
            octavia.register_providers()
            octavia.start()
            yield cls(cluster, octavia, database, subnet_id, broker)
        finally:
            if octavia is not None:
                octavia.close()
            if cluster is not None:
                cluster.close()
            database.close()

    def through(self, octavia: Any) -> "World":
        """This world, with another Octavia that requests go to."""
        other = copy.copy(self)
        other.octavia = octavia
        return other

    # -- requests

    def ask(self, method: str, path: str, body: object = None) -> Body:
        """The answer to a request that Octavia accepts."""
        status, answer = self.octavia.request(method, path, body)
        assert status < 300, f"{method} {path}: {status} {answer}"
        return answer or {}

    def create(self, **fields: Any) -> Body:
        """A new load balancer as the API answers, not settled yet."""
        body = {"vip_subnet_id": self.subnet_id, "vip_address": self.address(), **fields}
        created: Body = self.ask("POST", "/loadbalancers", {"loadbalancer": body})["loadbalancer"]
        return created

    def address(self) -> str:
        """An address of loopback for a VIP; one is given again after 240 others only."""
        with self._lock:
            return next(self._addresses)

    def status(self, id: str) -> str:
        """Provisioning status of a load balancer."""
        status, answer = self.octavia.request("GET", f"/loadbalancers/{id}")
        return "DELETED" if status == 404 else str(answer["loadbalancer"]["provisioning_status"])

    def settled(self, id: str) -> str:
        """The status that a load balancer ends in."""
        deadline = time.monotonic() + SETTLED_SECONDS
        while (status := self.status(id)) not in FINAL:
            assert time.monotonic() < deadline, f"{id} stays {status}\n{self.logs()}"
            time.sleep(0.1)
        return status

    def change(self, id: str, method: str, path: str, body: object = None) -> Body:
        """The object in the answer to a change below a load balancer, which ends ACTIVE."""
        answer = self.ask(method, path, body)
        assert self.settled(id) == "ACTIVE", self.logs()
        found: Body = next((value for value in answer.values() if isinstance(value, dict)), {})
        return found

    def mirrored(self, id: str) -> Body | None:
        """The load balancer's statuses at the controllers; None if they do not have it."""
        answer = self.cluster.client().post(f"{API_PATH}/mirror/statuses", {"ids": [id]})
        return next(iter(answer["loadbalancers"]), None)

    def pending(self) -> list[str]:
        """Kind and id of all objects in Octavia that are PENDING."""
        found = []
        for kind in ("loadbalancers", "listeners", "pools", "healthmonitors", "l7policies"):
            rows = self.ask("GET", f"/{kind}")[kind]
            found += [f"{kind} {row['id']}" for row in rows if row["provisioning_status"].startswith("PENDING")]
        return found

    def logs(self) -> str:
        """The ends of all logs."""
        return f"{self.octavia.logs()[-6000:]}\n{self.cluster.failure_report()}"


def octavia_host(venv: Path, cluster: Cluster, database: str, environments: Mapping[str, str] = PROVIDERS) -> Octavia:
    """A host of an Octavia with this database, over the controllers; not started yet."""
    options = {"controllers": ", ".join(cluster.controllers), "drift_interval": DRIFT_SECONDS}
    return Octavia(venv, database, environments=environments, options=options)


async def _start(cluster: Cluster, controllers: int) -> None:
    await cluster.start_devices()
    for number in range(1, controllers + 1):
        await cluster.start_controller(number)
    await asyncio.gather(cluster.start_agent("host-1"), *(cluster.start_backend(number) for number in (1, 2)))


def page_at(url: str) -> str:
    """The text of a page; empty if there is none now."""
    try:
        with urllib.request.urlopen(url, timeout=10.0) as answer:
            return str(answer.read().decode())
    except (urllib.error.URLError, OSError):
        return ""
