"""What small and large load balancers cost: ``python -m benchmarks.large [--tree PATH …] [--stock]``.

Load balancers are created by one request each: bare ones; some with a listener, a pool, a monitor and three members;
and one of 100 listeners, each with a pool of 10 members, which is then shown: itself, its status tree, its listeners,
its pools, the members of a pool. Measured are the CPU milliseconds of the serving process
for a request (schedstat), without a network, devices or Keystone, over a new SQLite file. ``--tree`` names source
trees; without it, this one runs. ``--stock`` has a stock Octavia beside them, as ``tests/compat`` starts it: in one
process, once over SQLite in memory, once over a new SQLite file, which like ours is in WAL mode and synchronized with
the disk at each commit. ``--only`` names the requests: creating the large one takes an Octavia a quarter of a minute.

Prints a markdown table, with the ratio of each row to the last. Run it at the top of the source tree.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.api import START_TIMEOUT_SECONDS, SUBNET_ID, server
from benchmarks.density import cpu_ms

LISTENERS, MEMBERS = 100, 10
WARM_UP = 3
TIMES = {
    "create bare": 100,
    "create populated": 50,
    "create": 5,
    "show": 100,
    "status tree": 20,
    "its listeners": 20,
    "its pools": 20,
    "members of a pool": 50,
}
"""Request -> how often it is made."""
PATH = "/v2.0/lbaas"


class Target:
    """One API. ``headers`` say who asks."""

    def __init__(self, url: str, pid: int, subnet: str, headers: dict[str, str]) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=START_TIMEOUT_SECONDS)
        self._pid = pid
        self._subnet = subnet
        self._headers = {"Content-Type": "application/json", **headers}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to one request, on a kept connection where the server keeps it."""
        data = None if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, PATH + path, data, self._headers)
            answer = self._connection.getresponse()
        except http.client.RemoteDisconnected:
            self._connection.request(method, PATH + path, data, self._headers)
            answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content)

    def create(self, listeners: int = LISTENERS) -> dict[str, Any]:
        """Create a load balancer with so many listeners and pools."""
        return self._post([*map(listener, range(listeners))])

    def create_populated(self) -> dict[str, Any]:
        """Create a load balancer with a listener, a pool, a monitor and three members."""
        one = listener(1, members=3)
        one["default_pool"]["healthmonitor"] = {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3}
        return self._post([one])

    def _post(self, listeners: list[dict[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {"vip_subnet_id": self._subnet, "project_id": "proj-a"}
        if listeners:
            fields["listeners"] = listeners
        made: dict[str, Any] = self.ask("POST", "/loadbalancers", {"loadbalancer": fields})["loadbalancer"]
        return made

    def cost(self, times: int, request: Callable[[], Any]) -> float:
        """CPU milliseconds of a request."""
        before = cpu_ms([self._pid])
        for _ in range(times):
            request()
        return (cpu_ms([self._pid]) - before) / times

    def costs(self, only: Sequence[str]) -> dict[str, float]:
        """CPU milliseconds of these requests."""
        for _ in range(WARM_UP):
            self.create(1)
        made: list[dict[str, Any]] = []
        creations: dict[str, Callable[[], Any]] = {
            "create bare": lambda: self.create(0),
            "create populated": self.create_populated,
            "create": lambda: made.append(self.create()),
        }
        found = {name: self.cost(TIMES[name], request) for name, request in creations.items() if name in only}
        if found.keys() >= set(only):
            return found
        large = made[0] if made else self.create()
        load_balancer, pool = large["id"], large["pools"][0]["id"]
        reads = {
            "show": f"/loadbalancers/{load_balancer}",
            "status tree": f"/loadbalancers/{load_balancer}/status",
            "its listeners": f"/listeners?loadbalancer_id={load_balancer}",
            "its pools": f"/pools?loadbalancer_id={load_balancer}",
            "members of a pool": f"/pools/{pool}/members",
        }
        for name, path in reads.items():
            if name in only:
                self.ask("GET", path)
                found[name] = self.cost(TIMES[name], lambda path=path: self.ask("GET", path))
        return found


def listener(number: int, members: int = MEMBERS) -> dict[str, Any]:
    """A listener with a pool of so many members."""
    there = [{"address": f"10.{number}.0.{host}", "protocol_port": 80} for host in range(1, members + 1)]
    pool = {"name": f"pool-{number}", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": there}
    return {"name": f"web-{number}", "protocol": "HTTP", "protocol_port": 8000 + number, "default_pool": pool}


@contextmanager
def stock(database: Path | None) -> Iterator[Target]:
    """A stock Octavia whose device reports nothing, which would cost it CPU at each request; None: over SQLite in
    memory.
    """
    from tests.compat.octavia.stock import RESET, OctaviaServer, installed
    from tests.compat.octavia.world import KNOWN, PERSONAS

    octavia = OctaviaServer(installed(), database)
    try:
        octavia.start()
        urllib.request.urlopen(octavia.url + RESET, timeout=START_TIMEOUT_SECONDS).close()  # noqa: S310
        assert octavia._process is not None
        headers = {**PERSONAS["admin"], "X-Compat-Outcome": "PENDING"}
        yield Target(octavia.url, octavia._process.pid, KNOWN["subnet"], headers)
    finally:
        octavia.close()


def costs_of_stock(only: Sequence[str]) -> dict[str, dict[str, float]]:
    """Costs of a stock Octavia, by where its database is: the last where ours is."""
    with stock(None) as target:
        in_memory = target.costs(only)
    with new_folder() as folder, stock(folder / "octavia.db") as target:
        return {"Octavia, in memory": in_memory, "Octavia, on a file": target.costs(only)}


@contextmanager
def new_folder() -> Iterator[Path]:
    """A directory for a database, on the same file system for each of them."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-large-") as name:
        yield Path(name)


def ours(only: Sequence[str]) -> dict[str, float]:
    """Costs of this source tree."""
    with new_folder() as folder, server(f"sqlite:///{folder}/bench.db", "none", folder, quotas=False) as (port, pid):
        return Target(f"http://127.0.0.1:{port}", pid, SUBNET_ID, {}).costs(only)


def costs_in(tree: Path, only: Sequence[str]) -> dict[str, float]:
    """The same of another source tree, by this file and that tree's ``benchmarks.api``."""
    paths = os.pathsep.join([str(tree / "src"), str(tree), str(Path.cwd())])
    command = [sys.executable, __file__, "--costs", "--only", *only]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, cwd=tree, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, action="append", help="a source tree, such as a worktree of git")
    parser.add_argument("--stock", action="store_true", help="a stock Octavia, too (installed at the first time)")
    parser.add_argument("--only", choices=list(TIMES), nargs="+", default=list(TIMES), help="these requests")
    parser.add_argument("--costs", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.costs:
        print(json.dumps(ours(options.only)))
        return
    rows = {tree.resolve().name: costs_in(tree.resolve(), options.only) for tree in options.tree or [Path.cwd()]}
    if options.stock:
        rows |= costs_of_stock(options.only)
    print(f"| CPU ms | {' | '.join(options.only)} |\n|---|{'---|' * len(options.only)}")
    last = list(rows.values())[-1]
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(f'{row[it]:.2f} ({last[it] / row[it]:.1f})' for it in options.only)} |")
    print(f"\n{time.strftime('%H:%M')}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
