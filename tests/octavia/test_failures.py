"""Whatever is killed, nothing that Octavia has accepted is lost or stays PENDING."""

import asyncio
import os
import signal
import time
from collections.abc import Callable

import pytest

from evenkeel.cli.client import API_PATH
from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.world import SETTLED_SECONDS, World

pytestmark = IN_OCTAVIA


def remove(world: World, id: str) -> None:
    world.ask("DELETE", f"/loadbalancers/{id}?cascade=true")
    assert world.settled(id) == "DELETED", world.logs()


@pytest.mark.parametrize("role", ["worker", "supervisor"])
def test_killed_process_of_the_provider_agent_is_replaced(world: World, role: str) -> None:
    wait_for_both(world)
    for pid in world.octavia.agent_processes()[role]:
        os.kill(pid, signal.SIGKILL)
    id = world.create(name=role)["id"]
    assert world.settled(id) == "ACTIVE", world.logs()
    wait_for_both(world)
    remove(world, id)


def wait_for_both(world: World) -> None:
    deadline = time.monotonic() + SETTLED_SECONDS
    while any(len(pids) != 1 for pids in world.octavia.agent_processes().values()):
        assert time.monotonic() < deadline, f"{world.octavia.agent_processes()}\n{world.logs()}"
        time.sleep(0.1)


def test_changes_while_driver_agent_is_gone_are_applied_when_it_is_back(world: World) -> None:
    id = world.create(name="before")["id"]
    assert world.settled(id) == "ACTIVE"
    world.octavia.kill_driver_agent()
    world.ask("PUT", f"/loadbalancers/{id}", {"loadbalancer": {"name": "while it was gone"}})
    created = world.create(name="new")["id"]
    assert world.status(id) == "PENDING_UPDATE" and world.status(created) == "PENDING_CREATE"
    world.octavia.start_driver_agent()
    assert world.settled(id) == world.settled(created) == "ACTIVE", world.logs()
    for each in (id, created):
        remove(world, each)


def test_prepared_driver_agent_takes_reports_as_octavias_own(world: World) -> None:
    world.octavia.kill_driver_agent()
    world.octavia.is_prepared = True
    try:
        world.octavia.start_driver_agent()
        id = world.create(name="prepared")["id"]
        assert world.settled(id) == "ACTIVE", world.logs()
        world.change(id, "PUT", f"/loadbalancers/{id}", {"loadbalancer": {"name": "changed"}})
        remove(world, id)
        assert "without a prepared database layer" not in world.octavia.logs()
    finally:
        world.octavia.kill_driver_agent()
        world.octavia.is_prepared = False
        world.octavia.start_driver_agent()


PREPARING = """
import sys
from evenkeel_octavia import driver_agent
driver_agent.prepare_database(["--config-file", sys.argv[1]])
from octavia.common import config
from octavia.db import api, models
from oslo_config import cfg
config.init(["--config-file", sys.argv[1]])
print(models.LoadBalancer.__mapper__.configured, api.get_engine().pool.checkedin(), cfg.CONF.database.max_retries)
"""


def test_prepared_database_layer_is_mapped_and_has_no_connection(world: World) -> None:
    assert world.octavia.run(PREPARING).split() == ["True", "0", "10"]


def test_late_report_of_a_killed_agent_does_not_undo_a_deletion(world: World) -> None:
    wait_for_both(world)
    id = world.create(name="late")["id"]
    assert world.settled(id) == "ACTIVE", world.logs()
    frozen = frozen_report(world, id)
    try:
        for pid in world.octavia.agent_processes()["worker"]:
            os.kill(pid, signal.SIGKILL)
        wait_until(world, lambda: "earlier reports are still under way" in world.octavia.logs())
        assert world.status(id) == "PENDING_UPDATE"  # settled: the agent reports nothing while one is under way
    finally:
        os.kill(frozen, signal.SIGCONT)
    assert world.settled(id) == "ACTIVE", world.logs()
    remove(world, id)


def frozen_report(world: World, id: str) -> int:
    """Change a load balancer; return the process of the report on it, which is frozen before it reports anything."""
    for attempt in range(20):
        known = world.octavia.report_processes()
        world.ask("PUT", f"/loadbalancers/{id}", {"loadbalancer": {"name": f"change {attempt}"}})
        while not (begun := world.octavia.report_processes() - known) and world.status(id) == "PENDING_UPDATE":
            time.sleep(0.002)  # the process maps Octavia's models first, which takes a fifth of a second
        for pid in [*begun][:1]:
            os.kill(pid, signal.SIGSTOP)
            if world.status(id) == "PENDING_UPDATE":
                return pid
            os.kill(pid, signal.SIGCONT)
        assert world.settled(id) == "ACTIVE", world.logs()
    raise AssertionError("each report was too fast")


def test_agent_of_its_own_takes_over_and_reports_without_driver_agent(world: World) -> None:
    with world.octavia.own_agent(report_by="database"):
        world.octavia.kill_driver_agent()
        id = world.create(name="no driver-agent")["id"]
        assert world.settled(id) == "ACTIVE", world.logs()
        world.change(id, "PUT", f"/loadbalancers/{id}", {"loadbalancer": {"name": "changed"}})
        remove(world, id)
    world.octavia.start_driver_agent()
    id = world.create(name="driver-agent again")["id"]
    assert world.settled(id) == "ACTIVE", world.logs()
    remove(world, id)


def test_without_a_controller_deletions_are_accepted_and_all_else_is_refused(world: World) -> None:
    id = world.create(name="left")["id"]
    assert world.settled(id) == "ACTIVE"
    world.cluster.kill("controller-1")
    status, answer = world.octavia.request(
        "POST", "/loadbalancers", {"loadbalancer": {"vip_subnet_id": world.subnet_id}}
    )
    assert status == 500 and "try again later" in answer["faultstring"]
    world.ask("DELETE", f"/loadbalancers/{id}")
    asyncio.run(world.cluster.start_again("controller-1"))
    assert world.settled(id) == "DELETED", world.logs()
    assert world.pending() == []


def test_load_balancer_that_the_controllers_lost_comes_back(world: World) -> None:
    id = world.create(name="lost")["id"]
    assert world.settled(id) == "ACTIVE"
    world.cluster.client().delete(
        f"{API_PATH}/mirror/loadbalancers/{id}", {"provider": "prod", "snapshot": round(time.time() + 1, 6)}
    )
    wait_until_mirrored(world, id)
    world.change(id, "PUT", f"/loadbalancers/{id}", {"loadbalancer": {"name": "found"}})
    remove(world, id)


LOSING = """
import sys
import sqlalchemy
from octavia.common import config
config.init(["--config-file", sys.argv[1]])
from octavia.db import api
with api.get_engine().begin() as connection:
    for table, column in (("vip", "load_balancer_id"), ("load_balancer", "id")):
        connection.execute(sqlalchemy.text(f"DELETE FROM {table} WHERE {column} = :id"), {"id": sys.argv[2]})
"""
"""Removes a load balancer without children as a restored backup does."""


def test_load_balancer_that_octavias_database_lost_is_served_until_an_operator_deletes_it(world: World) -> None:
    id = world.create(name="unknown")["id"]
    assert world.settled(id) == "ACTIVE"
    world.octavia.run(LOSING, id)
    assert world.octavia.evenkeel("leftovers").splitlines() == [f"{id} provider evenkeel, environment prod"]
    kept = world.mirrored(id)
    assert kept is not None and kept["provisioning_status"] == "ACTIVE"
    assert f"{id} provider evenkeel, environment prod: deleted" in world.octavia.evenkeel("leftovers", "--delete")
    wait_until(world, lambda: world.mirrored(id) is None)
    # settled: the command reads the same rows
    assert world.octavia.evenkeel("leftovers") == ""


def wait_until(world: World, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SETTLED_SECONDS
    while not condition():
        assert time.monotonic() < deadline, world.logs()
        time.sleep(0.2)


def wait_until_mirrored(world: World, id: str) -> None:
    deadline = time.monotonic() + SETTLED_SECONDS
    while (found := world.mirrored(id)) is None or found["provisioning_status"] != "ACTIVE":
        assert time.monotonic() < deadline, f"{found}\n{world.logs()}"
        time.sleep(0.2)
