"""Clients of an Octavia go on working while everything around them is killed in turn.

``python -m tests.octavia.storm --operations 500 --clients 8`` prints the outcome.
"""

import argparse
import asyncio
import itertools
import os
import signal
import tempfile
import threading
import time
import urllib.error
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.octavia.world import World
from tests.services.octavia import PROJECT, installed

PAUSE_SECONDS = 3.0
"""Between two kills."""
QUIET_SECONDS = 180.0
"""Time after the last kill within which nothing may be PENDING."""


@dataclass
class Tenant:
    """One client with a load balancer and a pool of its own, and what Octavia has accepted from it."""

    world: World
    number: int
    id: str = ""
    pool: str = ""
    name: str = ""
    members: set[str] = field(default_factory=set)
    refused: int = 0

    def work(self, operations: int) -> None:
        """Run so many operations that Octavia accepts, one after the other."""
        root = self._accepted("POST", "/loadbalancers", self._new, lambda: self._found("/loadbalancers"))
        self.id, self.name = root["id"], root["name"]
        pool = {"pool": {"name": self.name, "loadbalancer_id": self.id, "protocol": "TCP", "lb_algorithm": "SOURCE_IP"}}
        self.pool = self._accepted("POST", "/pools", lambda: pool, lambda: self._found("/pools"))["id"]
        for step in range(operations - 2):
            self._step(step)

    def _new(self) -> Any:
        vip = {"vip_subnet_id": self.world.subnet_id, "vip_address": self.world.address()}
        return {"loadbalancer": {"name": f"tenant-{self.number}", **vip}}

    def _step(self, step: int) -> None:
        if step % 3 == 2:
            self.name = f"tenant-{self.number} step {step}"
            body = {"loadbalancer": {"name": self.name}}
            self._accepted("PUT", f"/loadbalancers/{self.id}", lambda: body, lambda: None)
            return
        address = f"198.51.{100 + self.number}.{step % 250 + 1}"
        members = f"/pools/{self.pool}/members"
        new = {"member": {"address": address, "protocol_port": 1024 + step}}
        self._accepted("POST", members, lambda: new, lambda: self._found(members, address=address))
        self.members.add(address)

    def _accepted(self, method: str, path: str, body: Callable[[], Any], is_done: Callable[[], Any]) -> dict[str, Any]:
        """The object in the answer. A request is repeated until it is accepted; one whose answer was lost may have
        been."""
        while True:
            try:
                if found := is_done():
                    return dict(found)
                status, answer = self.world.octavia.request(method, path, body())
                if status < 300:
                    return dict(next(iter(answer.values())))
            except (urllib.error.URLError, OSError, ValueError):
                pass
            self.refused += 1
            time.sleep(0.3)

    def _found(self, path: str, **wanted: str) -> Any:
        """The object that an earlier request made, if there is one."""
        kind = path.rpartition("/")[2]
        wanted = wanted or {"name": f"tenant-{self.number}"}
        status, answer = self.world.octavia.request("GET", path)
        if status != 200:
            raise ValueError(status)
        return next((row for row in answer[kind] if wanted.items() <= row.items()), None)

    def differences(self) -> list[str]:
        """What Octavia, or the controllers, have otherwise than Octavia has accepted."""
        found = []
        ours = self.world.cluster.client()
        for where, get in (
            ("Octavia", self.world.ask),
            ("controllers", lambda _, path: ours.get(f"/v2.0/lbaas{path}")),
        ):
            root = get("GET", f"/loadbalancers/{self.id}")["loadbalancer"]
            members = {row["address"] for row in get("GET", f"/pools/{self.pool}/members")["members"]}
            if (root["name"], root["provisioning_status"], members) != (self.name, "ACTIVE", self.members):
                found.append(f"{where}: {root['name']} {root['provisioning_status']} {len(members)} members")
        return found


def killers(world: World) -> list[Callable[[], None]]:
    """Each kills something; what does not come back by itself is started again."""

    def agent(role: str) -> Callable[[], None]:
        def kill() -> None:
            for pid in world.octavia.agent_processes()[role]:
                os.kill(pid, signal.SIGKILL)

        return kill

    def driver_agent() -> None:
        world.octavia.kill_driver_agent()
        world.octavia.start_driver_agent()

    def controller() -> None:
        world.cluster.kill("controller-1")
        asyncio.run(world.cluster.start_again("controller-1"))

    def database() -> None:
        world.database.kill()
        world.database.start()

    def haproxy_agent() -> None:
        world.cluster.kill("agent-host-1")
        asyncio.run(world.cluster.start_again("agent-host-1"))

    return [agent("worker"), database, agent("supervisor"), controller, driver_agent, haproxy_agent]


def storm(world: World, *, clients: int, operations: int) -> list[Tenant]:
    """Run clients while processes are killed; returns when nothing is PENDING any more."""
    tenants = [Tenant(world, number) for number in range(clients)]
    ended = threading.Event()
    with ThreadPoolExecutor(clients + 1) as threads:
        killing = threads.submit(_kill, world, ended)
        try:
            for done in [threads.submit(tenant.work, operations // clients) for tenant in tenants]:
                done.result()
        finally:
            ended.set()
        print(f"{killing.result()} kills")
    deadline = time.monotonic() + QUIET_SECONDS
    while pending := world.pending():
        assert time.monotonic() < deadline, f"{pending}\n{world.logs()}"
        time.sleep(0.5)
    return tenants


def _kill(world: World, ended: threading.Event) -> int:
    """Kill in turn until the end, each at least once; the number of kills."""
    each = killers(world)
    for number, kill in enumerate(itertools.cycle(each)):
        if number >= len(each) and ended.wait(PAUSE_SECONDS):
            return number
        kill()
        time.sleep(PAUSE_SECONDS if number < len(each) else 0.0)
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--version", default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        venv = installed(given.version) if given.version else installed()
        with World.started(Path(folder), venv) as world:
            began = time.monotonic()
            tenants = storm(world, clients=given.clients, operations=given.operations)
            seconds = time.monotonic() - began
            for tenant in tenants:
                print(f"tenant {tenant.number}: {tenant.refused} refused; differences: {tenant.differences()}")
            print(f"{given.operations} operations in {seconds:.0f} s for project {PROJECT}")


if __name__ == "__main__":
    main()
