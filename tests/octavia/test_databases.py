"""Octavia's database fails over: to another node of a Galera cluster, or to a replica that lacks the last commits."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from evenkeel.cli.client import ClientError
from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.hosts import Client
from tests.octavia.relay import Relay
from tests.octavia.tenants import Tenant
from tests.octavia.world import World, octavia_host
from tests.services.mariadb import PASSWORD, USER, Galera, MariaDB, cluster_missing

pytestmark = IN_OCTAVIA
ENVIRONMENT = "spare"
LIMIT_SECONDS = 120.0
QUIET_SECONDS = 60.0


@pytest.fixture(scope="module", autouse=True)
def spare_agent(world: World) -> Iterator[None]:
    """The agent of a no-op device for the Octavias of this module."""
    options = {"DEFAULT": {"environment_prefix": ENVIRONMENT, "device_driver": "noop"}}
    asyncio.run(world.cluster.start_agent("spare-1", options=options))
    try:
        yield
    finally:
        world.cluster.processes["agent-spare-1"].stop()


@contextlib.contextmanager
def octavia_on(world: World, url: str, relay: Relay) -> Iterator[World]:
    """The world with an Octavia whose database has this URL, and is reached through the relay."""
    port = url.rpartition(":")[2].partition("/")[0]
    through = url.replace(f":{port}/", f":{relay.port}/")
    octavia = octavia_host(world.octavia.venv, world.cluster, through, {"evenkeel": ENVIRONMENT})
    try:
        octavia.register_providers()
        octavia.start()
        yield world.through(octavia)
    finally:
        octavia.close()


def wait_until(world: World, condition: Callable[[], bool], seconds: float = LIMIT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, world.logs()
        time.sleep(0.2)


# -- a Galera cluster


def test_nothing_is_lost_or_pending_when_the_node_of_a_galera_cluster_is_killed(world: World) -> None:
    if reason := cluster_missing():
        pytest.skip(reason)
    cluster = Galera()
    with contextlib.closing(cluster):
        cluster.start()
        first, second = cluster.nodes
        # two nodes: without a larger weight the one that is left would not be a majority
        second.sql("SET GLOBAL wsrep_provider_options = 'pc.weight=2'")
        relay = Relay(first.port)
        with contextlib.closing(relay), octavia_on(world, cluster.create_database()[0], relay) as own:
            client = Client(Tenant(own, 0, str(time.time_ns())))
            client.start()
            try:
                wait_until(own, lambda: client.operations >= 4)
                first.kill()
                relay.switch(second.port)
                done = client.operations
                wait_until(own, lambda: client.operations >= done + 4)
            finally:
                client.end()
            wait_until(own, lambda: own.pending() == [], QUIET_SECONDS)
            # settled: nothing is PENDING
            assert client.differences == [] and client.tenant.differences() == []
            own.ask("DELETE", f"/loadbalancers/{client.tenant.id}?cascade=true")
            assert own.settled(client.tenant.id) == "DELETED", own.logs()


# -- a replica


@dataclass
class Pair:
    """A primary and its replica."""

    primary: MariaDB
    replica: MariaDB
    relay: Relay

    def follow(self) -> None:
        """Let the replica copy all that the primary commits."""
        self.replica.sql(
            f"CHANGE MASTER TO master_host='127.0.0.1', master_port={self.primary.port}, master_user='{USER}',"
            f" master_password='{PASSWORD}', master_use_gtid=slave_pos; START SLAVE"
        )

    def wait_for_replica(self) -> None:
        """Wait until the replica has all commits."""
        position = self.primary.sql("SELECT @@gtid_binlog_pos").strip()
        assert self.replica.sql(f"SELECT MASTER_GTID_WAIT('{position}', 60)").strip() == "0"

    def lag(self) -> None:
        """Let the replica lack all commits from now on."""
        self.wait_for_replica()
        self.replica.sql("STOP SLAVE")

    def fail_over(self) -> None:
        """Lose the primary."""
        self.primary.kill()
        self.replica.sql("RESET SLAVE ALL")
        self.relay.switch(self.replica.port)


@pytest.fixture
def pair() -> Iterator[Pair]:
    primary = MariaDB({"server-id": "1", "log-bin": "changes", "binlog-format": "ROW"})
    replica = MariaDB({"server-id": "2"})
    with contextlib.closing(primary), contextlib.closing(replica):
        for each in (primary, replica):
            each.start()
        relay = Relay(primary.port)
        with contextlib.closing(relay):
            made = Pair(primary, replica, relay)
            made.follow()
            yield made


def test_controllers_follow_a_replica_that_lacks_commits_and_keep_what_only_they_have(world: World, pair: Pair) -> None:
    with octavia_on(world, pair.primary.create_database(), pair.relay) as own:
        changed, deleted, kept = (own.create(name=name)["id"] for name in ("changed", "deleted", "kept"))
        for id in (changed, deleted, kept):
            assert own.settled(id) == "ACTIVE", own.logs()
        pair.lag()
        own.change(changed, "PUT", f"/loadbalancers/{changed}", {"loadbalancer": {"name": "lost change"}})
        created = own.create(name="lost")["id"]
        assert own.settled(created) == "ACTIVE", own.logs()
        own.ask("DELETE", f"/loadbalancers/{deleted}")
        assert own.settled(deleted) == "DELETED", own.logs()
        own.ask("PUT", f"/loadbalancers/{kept}", {"loadbalancer": {"name": "lost while it was pending"}})
        pair.fail_over()

        names = {changed: "changed", deleted: "deleted", kept: "kept"}
        # ACTIVE there and here, each with the content that the replica has
        wait_until(own, lambda: all(named(own, id) == name for id, name in names.items()), QUIET_SECONDS)
        assert own.pending() == []  # settled: these have no children
        own.change(kept, "PUT", f"/loadbalancers/{kept}", {"loadbalancer": {"name": "afterwards"}})
        found = own.mirrored(created)
        assert found is not None and found["provisioning_status"] == "ACTIVE"
        assert own.octavia.evenkeel("leftovers").splitlines() == [
            f"{created} provider evenkeel, environment {ENVIRONMENT}"
        ]
        own.octavia.evenkeel("leftovers", "--delete")
        for id in names:
            own.ask("DELETE", f"/loadbalancers/{id}")
        wait_until(own, lambda: all(own.mirrored(id) is None for id in (created, *names)))


def named(world: World, id: str) -> str | None:
    """The name of a load balancer that Octavia and the controllers show as ACTIVE; None if they differ."""
    status, answer = world.octavia.request("GET", f"/loadbalancers/{id}")
    if status != 200 or (found := world.mirrored(id)) is None:
        return None
    theirs = answer["loadbalancer"]
    try:
        ours = world.cluster.client().get(f"/v2.0/lbaas/loadbalancers/{id}")["loadbalancer"]
    except ClientError:
        return None  # it was removed meanwhile
    statuses = {each["provisioning_status"] for each in (theirs, ours, found)}
    return theirs["name"] if statuses == {"ACTIVE"} and theirs["name"] == ours["name"] else None
