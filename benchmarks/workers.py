"""What requests cost a controller with one worker and with several: CPU milliseconds of all its processes together, and
of the database, and requests a second.

    python -m benchmarks.workers [--workers 1 2] [--runs 3] [--requests 2000] [--agents 3]

Starts, for each run, its own PostgreSQL, RabbitMQ and real ``evenkeel-controller``, agents of the no-op driver in one
process, and drives the API over loopback with 16 connections from this process. Runs are in turns, and medians are
printed: compare ratios, as CPU time is counted on a machine whose cores the database, the broker and the client share.
"""

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from pathlib import Path

from benchmarks.api import SUBNET_ID, Connection, Make, create, create_populated
from benchmarks.idle import ask, cpu_seconds, family, wait_for
from tests.services.postgres import PostgreSQL
from tests.services.rabbitmq import RabbitMQ

CONNECTIONS = 16
IDLE_SECONDS = 20.0
CONFIGURATION = """
[DEFAULT]
transport_url = {bus}
environments = lab:noop
workers = {workers}
[database]
connection = {database}
[quotas]
default_load_balancer_quota = -1
default_listener_quota = -1
default_pool_quota = -1
default_health_monitor_quota = -1
default_member_quota = -1
[api]
bind_port = 0
endpoint_file = {folder}/endpoint
"""


class Measured:
    """A running controller, and the processes that serve it."""

    def __init__(self, url: str, controller: int, database: int) -> None:
        self.url = url
        self.port = int(url.rpartition(":")[2])
        self._controller = controller
        self._database = database

    def cpu(self) -> tuple[float, float]:
        """Of the controller's processes, and of the database's, so far."""
        return cpu_seconds(family(self._controller)), cpu_seconds(family(self._database))

    def resident_mib(self) -> float:
        """Of the controller's processes."""
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in family(self._controller))
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    async def drive(self, count: int, make: Make) -> tuple[float, float, float, list[bytes]]:
        """CPU ms a request of the controller, of the database, requests a second, the answers."""
        numbers, answers = iter(range(count)), []

        async def work(connection: Connection) -> None:
            for number in numbers:
                status, content = await connection.request(*make(number))
                if status >= 300:
                    raise RuntimeError(f"{status} {content.decode()[:300]}")
                answers.append(content)

        opened = [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(CONNECTIONS)]
        connections = [Connection(*both, "") for both in opened]
        before, began = self.cpu(), time.perf_counter()
        await asyncio.gather(*map(work, connections))
        seconds, after = time.perf_counter() - began, self.cpu()
        for connection in connections:
            connection.close()
        ours, theirs = ((now - then) * 1000 / count for now, then in zip(after, before, strict=True))
        return ours, theirs, count / seconds, answers


async def measure(at: Measured, count: int, results: dict[str, list[tuple[float, float, float]]]) -> None:
    """One run: adds to what others have measured."""
    await at.drive(64, lambda number: create(10_000_000 + number))
    *figures, answers = await at.drive(count, create)
    results["create"].append(tuple(figures))
    ids = [re.search(rb'"id":"([^"]+)"', answer)[1].decode() for answer in answers]  # type: ignore[index]
    await active(at, ids)
    shown = await at.drive(2 * count, lambda n: ("GET", f"/v2.0/lbaas/loadbalancers/{ids[n % len(ids)]}", b""))
    results["show"].append(shown[:3])
    listed = await at.drive(max(count // 20, 32), lambda _: ("GET", "/v2.0/lbaas/loadbalancers", b""))
    results["list of 1,000"].append(listed[:3])
    *figures, answers = await at.drive(count // 2, create_populated)
    results["fully populated create"].append(tuple(figures))
    await active(at, [re.search(rb'"id":"([^"]+)"', answer)[1].decode() for answer in answers])  # type: ignore[index]
    before, began = at.cpu(), time.monotonic()
    await asyncio.sleep(IDLE_SECONDS)
    seconds = time.monotonic() - began
    ours, theirs = ((now - then) * 1000 / seconds for now, then in zip(at.cpu(), before, strict=True))
    results["idle, CPU ms/s"].append((ours, theirs, 0.0))
    results["resident MiB"].append((at.resident_mib(), 0.0, 0.0))


async def active(at: Measured, ids: list[str]) -> None:
    """Wait until nothing is PENDING: the agents' reports cost the controller as well, outside of what is measured."""
    status = f"{at.url}/evenkeel/v1/status"
    deadline = time.monotonic() + 300
    while (await asyncio.to_thread(ask, status))["status"]["load_balancers"].get("PENDING_CREATE"):
        if time.monotonic() > deadline:
            raise RuntimeError("load balancers stay PENDING")
        await asyncio.sleep(0.2)


def run(workers: int, options: argparse.Namespace, results: dict[str, list[tuple[float, float, float]]]) -> None:
    """One run with everything of its own."""
    broker, server, started = RabbitMQ(), PostgreSQL(autovacuum="on"), []
    with tempfile.TemporaryDirectory(prefix="evenkeel-workers-") as name:
        folder = Path(name)
        try:
            broker.start()
            server.start()
            file, log = folder / "controller.ini", folder / "log"
            database = server.create_database()
            file.write_text(CONFIGURATION.format(bus=broker.url, workers=workers, database=database, folder=folder))
            command = [sys.executable, "-m", "evenkeel.cmd.controller", "--config-file", str(file)]
            started.append(subprocess.Popen(command, stderr=log.open("wb")))
            wait_for(lambda: started[0].poll() or log.read_text().count('event="API listening"') == workers)
            wait_for((folder / "endpoint").exists)
            url = (folder / "endpoint").read_text().strip()
            command = [sys.executable, "-m", "benchmarks.idle", "--agents-of", broker.url]
            started.append(subprocess.Popen([*command, "--agents", str(options.agents)]))
            wait_for(lambda: ask(f"{url}/evenkeel/v1/status")["status"]["agents"].get("up", 0) == options.agents)
            add_subnet(url)
            asyncio.run(measure(Measured(url, started[0].pid, server.pid), options.requests, results))
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(90)
            broker.close()
            server.close()
            if started and started[0].returncode:
                print(log.read_text()[-2000:], file=sys.stderr)


def add_subnet(url: str) -> None:
    """The addresses of VIPs."""
    body = b'{"subnet": {"id": "%s", "name": "bench", "cidr": "10.0.0.0/8"}}' % SUBNET_ID.encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/evenkeel/v1/subnets", body, headers)  # noqa: S310  # our own
    urllib.request.urlopen(request).close()  # noqa: S310


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--agents", type=int, default=3)
    options = parser.parse_args()
    results: dict[int, dict[str, list[tuple[float, float, float]]]] = {n: defaultdict(list) for n in options.workers}
    for number in range(options.runs):
        for workers in options.workers:
            run(workers, options, results[workers])
            print(f"run {number + 1}, {workers} workers: {dict(results[workers])}", file=sys.stderr, flush=True)
    print("| request | workers | controller, CPU ms/request | PostgreSQL, CPU ms/request | requests/s |")
    print("|---|---|---|---|---|")
    for kind in results[options.workers[0]]:
        for workers in options.workers:
            figures = [statistics.median(column) for column in zip(*results[workers][kind], strict=True)]
            print(f"| {kind} | {workers} | {figures[0]:.2f} | {figures[1]:.2f} | {figures[2]:.0f} |")


if __name__ == "__main__":
    main()
