"""What one API request costs: CPU milliseconds of the serving process, and requests a second.

    python benchmarks/api.py [--database sqlite:///…|postgresql://…] [--requests N] [--identity KIND]

Starts a real uvicorn process over a real store (a new SQLite file unless told otherwise; a PostgreSQL database must be
empty), drives it over loopback with 16 connections, and reads the server's CPU time from the kernel. Prints a markdown
table; compare ratios between machines, not figures. Kinds of identity: none, password_file,
keystone; in each all requests are of one caller, who is known after the first.
"""

import argparse
import asyncio
import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

CONNECTIONS = 16
START_TIMEOUT_SECONDS = 30.0
SUBNET_ID = "11111111-1111-4111-8111-111111111111"
LOGINS = {
    "none": "",
    "password_file": "Authorization: Basic YmVuY2g6YmVuY2g=\r\n",
    "keystone": "X-Auth-Token: " + "t" * 183 + "\r\n",
}
"""The line of a request's head that says who asks."""
GOALS_MS = {"create": 2.0, "show": 1.0, "list of 1,000": 25.0, "fully populated create": 8.0}


class Result(NamedTuple):
    """One line of the table."""

    name: str
    requests: int
    seconds: float
    cpu_seconds: float


# -- the server process


async def serve(database: str, port: int, identity: str) -> None:
    """Serve until killed."""
    import uvicorn

    from evenkeel.api.app import create_app
    from evenkeel.cmd.runtime import tune_collector
    from evenkeel.core.control import Change, Environment
    from evenkeel.core.model import Subnet
    from evenkeel.network.builtin import BuiltinNetwork
    from evenkeel.store.sql_store import open_store

    class Nobody:
        """A driver that does nothing."""

        async def accepted(self, change: Change) -> None:
            """Nothing."""

    store = open_store(database)
    await store.start()
    await store.add_environment(Environment(name="bench", device_driver="noop"))
    await store.add_subnet(
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
        network=BuiltinNetwork(store),
        driver=Nobody(),
        default_provider="bench",
        identity=identity_of(identity),
    )
    tune_collector()
    config = uvicorn.Config(app, port=port, access_log=False, log_level="warning", lifespan="off")
    await uvicorn.Server(config).serve()


def identity_of(kind: str) -> Any:
    """The identity that knows :data:`LOGINS`."""
    if kind == "password_file":
        return password_file()
    if kind == "keystone":
        return keystone()
    return None


def password_file() -> Any:
    """One user, who is a member of a project."""
    from evenkeel.api.identity.password_file import PasswordFile
    from evenkeel.api.identity.passwords import checked_user, hashed, line_of
    from evenkeel.api.identity.user_file import UserFile, write_lines
    from evenkeel.cmd.runtime import SystemClock

    folder = tempfile.mkdtemp(prefix="evenkeel-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "users"
    write_lines(path, [line_of(checked_user("bench", "bench", ["member"], hashed("bench", os.urandom(16))))])
    return PasswordFile(UserFile(path), SystemClock())


def keystone() -> Any:
    """A middleware that lets everybody in as a member, behind the adapter."""
    from evenkeel.api.identity.keystone import KeystoneIdentity

    def middleware(application: Callable[..., Any]) -> Callable[..., Any]:
        def accept(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            token = {"expires_at": "2999-01-01T00:00:00Z"}
            environ |= {"HTTP_X_USER_ID": "u", "HTTP_X_PROJECT_ID": "bench", "HTTP_X_ROLES": "member,reader"}
            environ["keystone.token_info"] = {"token": token}
            return application(environ, start_response)

        return accept

    return KeystoneIdentity(middleware)


@contextmanager
def server(database: str, identity: str) -> Iterator[tuple[int, int]]:
    """A serving process: (port, process id)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", str(port), "--database", database, "--identity", identity]
    )
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

    login = ""
    """A header line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the answer."""
        head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n{self.login}"
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


async def drive(name: str, port: int, pid: int, count: int, make: Make) -> tuple[Result, list[bytes]]:
    """Send ``count`` requests over all connections; the cost, and the answers."""
    numbers = iter(range(count))
    answers: list[bytes] = []

    async def work(connection: Connection) -> None:
        for number in numbers:
            status, content = await connection.request(*make(number))
            if status >= 300:
                raise RuntimeError(f"{name}: {status} {content.decode()[:300]}")
            answers.append(content)

    connections = [Connection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    cpu, started = cpu_seconds(pid), time.perf_counter()
    await asyncio.gather(*map(work, connections))
    seconds = time.perf_counter() - started
    for connection in connections:
        connection.close()
    return Result(name, count, seconds, cpu_seconds(pid) - cpu), answers


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


async def measure(port: int, pid: int, count: int) -> list[Result]:
    """All lines of the table."""
    await drive("warm-up", port, pid, 64, create)
    created, answers = await drive("create", port, pid, max(count, 1000), create)
    ids = [json.loads(answer)["loadbalancer"]["id"] for answer in answers]
    shown, _ = await drive(
        "show", port, pid, count, lambda number: ("GET", f"/v2.0/lbaas/loadbalancers/{ids[number % len(ids)]}", b"")
    )
    listed, pages = await drive(
        "list of 1,000", port, pid, max(count // 20, 20), lambda _: ("GET", "/v2.0/lbaas/loadbalancers", b"")
    )
    if len(json.loads(pages[0])["loadbalancers"]) != 1000:
        raise RuntimeError("the list does not hold 1,000")
    populated, _ = await drive("fully populated create", port, pid, max(count // 2, 16), create_populated)
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
    parser.add_argument("--identity", choices=list(LOGINS), default="none")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.database, options.serve, options.identity))
        return
    Connection.login = LOGINS[options.identity]
    with tempfile.TemporaryDirectory() as folder:
        database = options.database or f"sqlite:///{folder}/bench.db"
        with server(database, options.identity) as (port, pid):
            results = asyncio.run(measure(port, pid, options.requests))
    print(table(database, options.identity, results))


if __name__ == "__main__":
    main()
