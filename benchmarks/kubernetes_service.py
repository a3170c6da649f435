"""How long Kubernetes' cloud controller takes for a Service with many ports and nodes: ours beside a stock Octavia.

    python -m benchmarks.kubernetes_service [--ports 10] [--nodes 100]

Sends what cloud-provider-openstack sends, with its pauses: after each write it reads the load balancer, and while that
is not ACTIVE it sleeps 1 s, 1.2 s, 1.44 s, … The stock Octavia, on SQLite, takes every change before it answers: its
time is that of its API and of one report for each changed object. Ours has a controller, an agent and no-op devices.
``waiting`` is the part that the client slept. Run it in the repository's root.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.api.stack import GREEN, PROVIDER, Stack
from tests.compat.octavia.stock import OctaviaServer, installed
from tests.compat.octavia.stories.kubernetes import SERVICE
from tests.compat.octavia.world import KNOWN, PERSONAS

FIRST_PORT = 8000
FIRST_NODE_PORT = 30000
PAUSE_SECONDS = 1.0
PAUSE_FACTOR = 1.2
LIMIT_SECONDS = 600.0


class CloudController:
    """A client that does as cloud-provider-openstack's service controller does."""

    def __init__(self, client: httpx.Client, subnet_id: str, provider: str, ports: int) -> None:
        self._client = client
        self._subnet_id = subnet_id
        self._provider = provider
        self._ports = range(FIRST_PORT, FIRST_PORT + ports)
        self._id = ""
        self.waited = 0.0
        """Seconds slept because the load balancer was not ACTIVE."""
        self.requests = 0

    def ensure(self, nodes: int) -> None:
        """Create the Service's load balancer in one request."""
        self._get(f"/loadbalancers?name={SERVICE}")
        body = {
            "name": SERVICE,
            "provider": self._provider,
            "vip_subnet_id": self._subnet_id,
            "tags": [SERVICE],
            "listeners": [self._listener(port, nodes) for port in self._ports],
        }
        self._id = self._send("POST", "/loadbalancers", {"loadbalancer": body})["loadbalancer"]["id"]
        self._wait()
        self._get(f"/listeners?loadbalancer_id={self._id}")

    def update(self, nodes: range) -> None:
        """Make these the members of every pool, one pool after the other."""
        self._get(f"/loadbalancers/{self._id}")
        self._get(f"/listeners?loadbalancer_id={self._id}")
        for port in self._ports:
            pools = self._get(f"/pools?loadbalancer_id={self._id}")["pools"]
            (pool,) = (each["id"] for each in pools if each["name"] == f"TCP_{port}_pool")
            self._get(f"/pools/{pool}/members")
            self._send("PUT", f"/pools/{pool}/members", {"members": self._members(port, nodes)})
            self._wait()

    def _listener(self, port: int, nodes: int) -> dict[str, Any]:
        pool = {
            "name": f"TCP_{port}_pool",
            "protocol": "TCP",
            "lb_algorithm": "ROUND_ROBIN",
            "members": self._members(port, range(nodes)),
            "healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1},
        }
        return {"protocol": "TCP", "protocol_port": port, "tags": [SERVICE], "default_pool": pool}

    def _members(self, port: int, nodes: range) -> list[dict[str, Any]]:
        return [
            {
                "address": f"198.51.{number // 200 + 1}.{number % 200 + 1}",
                "protocol_port": port - FIRST_PORT + FIRST_NODE_PORT,
                "name": f"node-{number}",
                "subnet_id": self._subnet_id,
            }
            for number in nodes
        ]

    def _wait(self) -> None:
        self._pause_until(lambda: self._status() == "ACTIVE")

    def _pause_until(self, is_done: Any) -> None:
        pause, began = PAUSE_SECONDS, time.monotonic()
        while not is_done():
            if time.monotonic() > began + LIMIT_SECONDS:
                raise TimeoutError(f"load balancer {self._id} is {self._status()}")
            time.sleep(pause)
            self.waited += pause
            pause *= PAUSE_FACTOR

    def _status(self) -> str:
        self.requests += 1
        answer = self._client.get(f"/v2/lbaas/loadbalancers/{self._id}")
        return "" if answer.status_code == 404 else str(answer.json()["loadbalancer"]["provisioning_status"])

    def _get(self, path: str) -> Any:
        return self._send("GET", path)

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        self.requests += 1
        answer = self._client.request(method, f"/v2/lbaas{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


@contextmanager
def stock(ports: int) -> Iterator[CloudController]:
    """A client of a stock Octavia."""
    server = OctaviaServer(installed())
    server.start()
    try:
        with httpx.Client(base_url=server.url, headers=PERSONAS["member"], timeout=LIMIT_SECONDS) as client:
            client.get("/compat/reset").raise_for_status()
            yield CloudController(client, KNOWN["subnet"], "noop", ports)
    finally:
        server.close()


@contextmanager
def ours(ports: int, wait_until_applied: float) -> Iterator[CloudController]:
    """A client of ours; ``wait_until_applied``: the option of the controller, seconds."""
    options = {"api": {"wait_until_applied": wait_until_applied}}
    with (
        tempfile.TemporaryDirectory() as folder,
        Stack.started(Path(folder), options=options) as stack,
        httpx.Client(base_url=stack.url, timeout=LIMIT_SECONDS) as client,
    ):
        yield CloudController(client, GREEN.id, PROVIDER, ports)


def measure(name: str, client: CloudController, nodes: int) -> None:
    """Print a row for each thing that happens to the Service."""
    acts = {
        "created": lambda: client.ensure(nodes),
        "a node added": lambda: client.update(range(nodes + 1)),
        "a node removed": lambda: client.update(range(1, nodes + 1)),
    }
    for act, do in acts.items():
        requests, waited, began = client.requests, client.waited, time.monotonic()
        do()
        took = time.monotonic() - began
        slept = client.waited - waited
        print(f"| {name} | {act} | {client.requests - requests} | {took:.1f} | {slept:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ports", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=100)
    given = parser.parse_args()
    print("| | Service | requests | seconds | waiting |\n|---|---|---|---|---|")
    for seconds in (0.0, 1.0):
        with ours(given.ports, seconds) as client:
            measure(f"Even Keel, wait_until_applied = {seconds:g}", client, given.nodes)
    with stock(given.ports) as client:
        measure("stock Octavia, changes taken at once", client, given.nodes)


if __name__ == "__main__":
    main()
