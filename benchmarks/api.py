"""What one API request costs: CPU milliseconds of the serving process, and requests a second.

    python -m benchmarks.api [--database sqlite:///…|postgresql://…] [--requests N] [--identity KIND …] [--quotas]

Starts a process with the controllers' own server over a real store (a new SQLite file unless told otherwise; a
PostgreSQL database must be empty), drives it over loopback with 16 connections, and reads the server's CPU time from
the kernel. Prints a markdown table for each kind of identity; compare ratios between machines, not figures. Kinds:
none; password_file, one caller; keystone, a token for each connection, which keystonemiddleware validates with a
stand-in for Keystone in a process of its own, and remembers as it does in operation. Run it in the repository's root.
"""

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.identities import CALLERS, OPENED

CONNECTIONS = 16
START_TIMEOUT_SECONDS = 120.0
SUBNET_ID = "11111111-1111-4111-8111-111111111111"
GOALS_MS = {"create": 1.2, "show": 0.4, "list of 1,000": 8.0, "fully populated create": 3.0}
QUOTA = 10**6


class Result(NamedTuple):
    """One line of the table."""

    name: str
    requests: int
    seconds: float
    cpu_seconds: float


# -- the server process


async def serve(database: str, port: int, identity: str, folder: Path, *, quotas: bool) -> None:
    """Serve until killed, and log, as a controller does."""
    from types import SimpleNamespace

    from evenkeel.api.app import create_app
    from evenkeel.cmd.configuration import loading
    from evenkeel.cmd.controllers.serving import configured_server
    from evenkeel.cmd.options import identity_options, options
    from evenkeel.cmd.process.logs import set_up_logs
    from evenkeel.cmd.process.runtime import tune_collector
    from evenkeel.core.control.environments import Environment
    from evenkeel.core.control.writes import Change
    from evenkeel.core.resources.model import Subnet
    from evenkeel.core.resources.quota import Quotas
    from evenkeel.network.builtin import BuiltinNetwork
    from evenkeel.store.options import StoreOptions
    from evenkeel.store.sql_store import open_store

    class Nobody:
        """A driver that does nothing."""

        async def change_accepted(self, change: Change) -> None:
            """Nothing."""

    logged: Any = SimpleNamespace(debug=False, log_format="logfmt")
    set_up_logs(logged, name="controller")
    limits = Quotas(**dict.fromkeys(Quotas.__struct_fields__, QUOTA)) if quotas else Quotas()
    store = open_store(database, StoreOptions(default_quotas=limits))
    await store.start()
    await store.operators.add_environment(Environment(name="bench", device_driver="noop"))
    await store.operators.add_subnet(
        Subnet(
            id=SUBNET_ID,
            network_id=SUBNET_ID,
            name="bench",
            cidr="10.0.0.0/8",
            allocation_start="10.0.0.1",
            allocation_end="10.255.255.254",
        )
    )
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=Nobody(),
        default_provider="bench",
        identity=OPENED[identity](folder),
    )
    tune_collector()
    file = folder / "controller.ini"
    file.touch()
    conf = loading.load_configuration(
        "controller",
        ["--config-file", str(file)],
        groups={"api": options.API_OPTIONS + identity_options.API_AUTHENTICATION_OPTIONS},
    )
    with socket.create_server(("127.0.0.1", port)) as listening:
        await configured_server(app, conf).serve(sockets=[listening])


@contextmanager
def server(database: str, identity: str, folder: Path, *, quotas: bool) -> Iterator[tuple[int, int]]:
    """A serving process: (port, process id)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.api", "--serve", str(port), "--folder", str(folder)]
    command += ["--database", database, "--identity", identity, *(["--quotas"] if quotas else [])]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
    try:
        wait_for(port, process)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(timeout=START_TIMEOUT_SECONDS)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return when the server accepts connections."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server did not start")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- the load: a bare client, so that it does not become the bottleneck


class Connection:
    """One keep-alive connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, login: str) -> None:
        """``login``: the header line that says who asks."""
        self._reader = reader
        self._writer = writer
        self._login = login

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the answer."""
        head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n{self._login}"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._writer.write(head.encode() + b"\r\n" + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in answer.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        content = await self._reader.readexactly(length) if length else b""
        return int(answer[9:12]), content

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


Make = Callable[[int], tuple[str, str, bytes]]


class Server(NamedTuple):
    """A serving process, and who asks it."""

    port: int
    pid: int
    logins: Sequence[str]


async def drive(name: str, at: Server, count: int, make: Make) -> tuple[Result, list[bytes]]:
    """Send ``count`` requests over all connections; the cost, and the answers."""
    numbers = iter(range(count))
    answers: list[bytes] = []

    async def work(connection: Connection) -> None:
        for number in numbers:
            status, content = await connection.request(*make(number))
            if status >= 300:
                raise RuntimeError(f"{name}: {status} {content.decode()[:300]}")
            answers.append(content)

    logins = itertools.islice(itertools.cycle(at.logins), CONNECTIONS)
    connections = [Connection(*await asyncio.open_connection("127.0.0.1", at.port), login) for login in logins]
    cpu, started = cpu_seconds(at.pid), time.perf_counter()
    await asyncio.gather(*map(work, connections))
    seconds = time.perf_counter() - started
    for connection in connections:
        connection.close()
    return Result(name, count, seconds, cpu_seconds(at.pid) - cpu), answers


def create(number: int) -> tuple[str, str, bytes]:
    """A load balancer alone."""
    body = {"loadbalancer": {"name": f"lb-{number}", "vip_subnet_id": SUBNET_ID}}
    return "POST", "/v2.0/lbaas/loadbalancers", json.dumps(body).encode()


def create_populated(number: int) -> tuple[str, str, bytes]:
    """A load balancer with a listener, a pool, a monitor and three members."""
    pool: dict[str, Any] = {
        "name": "pool",
        "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN",
        "healthmonitor": {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3},
        "members": [{"address": f"10.1.0.{host}", "protocol_port": 80} for host in (1, 2, 3)],
    }
    listener = {"name": "web", "protocol": "HTTP", "protocol_port": 80, "default_pool": pool}
    body = {"loadbalancer": {"name": f"full-{number}", "vip_subnet_id": SUBNET_ID, "listeners": [listener]}}
    return "POST", "/v2.0/lbaas/loadbalancers", json.dumps(body).encode()


async def measure(at: Server, count: int) -> list[Result]:
    """All lines of the table."""
    await drive("warm-up", at, 64, create)
    created, answers = await drive("create", at, max(count, 1000), create)
    ids = [json.loads(answer)["loadbalancer"]["id"] for answer in answers]
    shown, _ = await drive(
        "show", at, count, lambda number: ("GET", f"/v2.0/lbaas/loadbalancers/{ids[number % len(ids)]}", b"")
    )
    listed, pages = await drive(
        "list of 1,000", at, max(count // 20, 20), lambda _: ("GET", "/v2.0/lbaas/loadbalancers", b"")
    )
    if len(json.loads(pages[0])["loadbalancers"]) != 1000:
        raise RuntimeError("the list does not hold 1,000")
    populated, _ = await drive("fully populated create", at, max(count // 2, 16), create_populated)
    return [created, shown, listed, populated]


def calibration_seconds() -> float:
    """CPU time of a fixed piece of Python, so that figures of different machines can be compared."""
    started = time.process_time()
    total = 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - started


def table(database: str, identity: str, results: list[Result]) -> str:
    """The results as markdown."""
    lines = [
        f"Database {database.partition(':')[0]}, identity {identity}, one process, {CONNECTIONS} connections; "
        f"ten million additions in Python take {calibration_seconds():.2f} s here.",
        "",
        "| request | CPU ms/request | goal | requests/s | requests |",
        "|---|---|---|---|---|",
    ]
    for row in results:
        cpu = 1000 * row.cpu_seconds / row.requests
        goal = GOALS_MS[row.name]
        lines.append(f"| {row.name} | {cpu:.2f} | {goal:g} | {row.requests / row.seconds:.0f} | {row.requests} |")
    return "\n".join(lines)


def main() -> None:
    """Entry point of both processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--identity", choices=list(CALLERS), nargs="+", default=["none"])
    parser.add_argument("--quotas", action="store_true", help="every kind of object is limited, so it is counted")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        from evenkeel.cmd.controllers.serving import run_serving

        run_serving(serve(options.database, options.serve, options.identity[0], options.folder, quotas=options.quotas))
        return
    if options.database and len(options.identity) > 1:
        parser.error("--database: the next --identity would not find it empty")
    for identity in options.identity:
        print(measured(options.database, identity, options.requests, quotas=options.quotas), end="\n\n", flush=True)


def measured(database: str, identity: str, count: int, *, quotas: bool) -> str:
    """The table of one kind of identity, measured with a server of its own."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        folder = Path(name)
        url = database or f"sqlite:///{folder}/bench.db"
        with CALLERS[identity](folder) as logins, server(url, identity, folder, quotas=quotas) as (port, pid):
            results = asyncio.run(measure(Server(port, pid, logins), count))
    return table(url, identity, results)


if __name__ == "__main__":
    main()
