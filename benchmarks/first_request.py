"""How soon a change serves its first request: ``python -m benchmarks.first_request [--tenants 200] [--changes 400]``.

A controller, an agent, the daemon and an HAProxy for each tenant, all real processes, with SQLite and the embedded bus.
While ``--tenants`` tenants are there, ``--rate`` changes a second begin, each of another tenant that is not busy:

- a member: POST of a second member to a pool, until it answers a request;
- L7: POST of a policy with a rule that sends a path to another pool, until that pool answers;
- a pool: POST of a pool with a member as the default of a listener that has none, until it answers;
- a listener: POST of a listener with a default pool, until it answers.

Each is taken back afterwards, which is a change, too, and not measured. The time is that from the POST until the answer
to the first request that only the change allows; a request follows every 5 ms, each on a new connection. All the time
other clients ask listeners that no change concerns, and those of the changed tenants: whatever is not answered by 200
is an error. Prints a markdown table of milliseconds, errors, and the load of the machine. Run it at the top of the
source tree.
"""

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.new_tenants import LOOK_SECONDS, first_subnet
from benchmarks.reaction import active
from evenkeel.demo.cluster import Cluster
from tests.acceptance.tenant import LBAAS, Tenant, session

WEB, EMPTY, ADDED = 8080, 8081, 8082
"""Ports of a tenant's listeners: with a pool, without one, and added by a change."""
ASK_SECONDS, LIMIT_SECONDS = 0.005, 30.0
AT_ONCE = 4
STEADY_SECONDS = 0.01
"""Between two requests of the client that asks all tenants in turn."""
SEED = "first request"


class Site:
    """One tenant with a load balancer: two pools with a member each, a listener with the first, a listener without."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.vip = ""
        self.listeners: dict[int, str] = {}
        self.pools: dict[str, str] = {}

    async def create(self, subnet: str, members: dict[str, int]) -> None:
        """Create it, and wait until it is ACTIVE."""
        fields = {"project_id": self.tenant.project_id, "vip_subnet_id": subnet}
        made = await self._post("/loadbalancers", "loadbalancer", fields)
        self.tenant.load_balancer_id, self.vip = made["id"], made["vip_address"]
        await active(self.tenant, LOOK_SECONDS)
        for name, port in members.items():
            pool = {"loadbalancer_id": made["id"], "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
            self.pools[name] = (await self._post("/pools", "pool", pool))["id"]
            await active(self.tenant, LOOK_SECONDS)
            await self._post(f"/pools/{self.pools[name]}/members", "member", member(port))
            await active(self.tenant, LOOK_SECONDS)
        for port, default in ((WEB, {"default_pool_id": self.pools["A"]}), (EMPTY, {})):
            self.listeners[port] = (await self._post("/listeners", "listener", self.listener(port, **default)))["id"]
            await active(self.tenant, LOOK_SECONDS)

    def listener(self, port: int, **more: Any) -> dict[str, Any]:
        """Fields of a listener."""
        return {"loadbalancer_id": self.tenant.load_balancer_id, "protocol": "HTTP", "protocol_port": port, **more}

    async def _post(self, path: str, wrapper: str, fields: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = (await self.tenant.surely("POST", f"{LBAAS}{path}", {wrapper: fields}))[wrapper]
        return made

    async def changed(self, path: str, wrapper: str, fields: dict[str, Any], port: int, url: str, by: str) -> float:
        """Seconds from the POST until ``by`` answers at the port; then what was created is deleted."""
        began = time.perf_counter()
        asking = asyncio.create_task(self._until_answered(port, url, by))
        try:
            made = await self._post(path, wrapper, fields)
            took = await asking - began
        finally:
            asking.cancel()
        await active(self.tenant, LOOK_SECONDS)
        await self.tenant.surely("DELETE", f"{LBAAS}{path}/{made['id']}")
        await active(self.tenant, LOOK_SECONDS)
        return took

    async def _until_answered(self, port: int, url: str, by: str) -> float:
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                if await answer(self.vip, port, url) == (200, by):
                    return time.perf_counter()
                await asyncio.sleep(ASK_SECONDS)


def member(port: int) -> dict[str, Any]:
    """Fields of a member on this host."""
    return {"address": "127.0.0.1", "protocol_port": port}


Kind = Callable[[Site, dict[str, int]], Awaitable[float]]


def a_member(site: Site, members: dict[str, int]) -> Awaitable[float]:
    """A second member of the pool."""
    return site.changed(f"/pools/{site.pools['A']}/members", "member", member(members["B"]), WEB, "/", "B")


def an_l7_policy(site: Site, members: dict[str, int]) -> Awaitable[float]:
    """A policy with a rule."""
    rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/other"}
    target = {"action": "REDIRECT_TO_POOL", "redirect_pool_id": site.pools["B"]}
    fields = {"listener_id": site.listeners[WEB], **target, "rules": [rule]}
    return site.changed("/l7policies", "l7policy", fields, WEB, "/other", "B")


def a_pool(site: Site, members: dict[str, int]) -> Awaitable[float]:
    """The default pool of a listener without one."""
    fields = {"listener_id": site.listeners[EMPTY], "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    return site.changed("/pools", "pool", {**fields, "members": [member(members["B"])]}, EMPTY, "/", "B")


def a_listener(site: Site, members: dict[str, int]) -> Awaitable[float]:
    """A listener with a pool that another one uses."""
    return site.changed(
        "/listeners", "listener", site.listener(ADDED, default_pool_id=site.pools["A"]), ADDED, "/", "A"
    )


KINDS: dict[str, tuple[Kind, str]] = {
    "a member": (a_member, "80"),
    "L7": (an_l7_policy, "80"),
    "a pool": (a_pool, "80"),
    "a listener": (a_listener, "150"),
}
"""Kind of change -> how it is made, and the aim for p99."""


async def answer(address: str, port: int, url: str) -> tuple[int, str]:
    """Status and body of an answer on a new connection; 0 and the error if there is none."""
    try:
        reader, writer = await asyncio.open_connection(address, port)
        try:
            writer.write(f"GET {url} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n".encode())
            text = (await reader.read()).decode()
        finally:
            writer.close()
    except OSError as error:
        return 0, type(error).__name__
    return (int(text[9:12]), text.rpartition("\r\n\r\n")[2]) if text else (0, "closed")


class Bench:
    """All tenants, and what was measured."""

    def __init__(self, sites: list[Site], members: dict[str, int]) -> None:
        self._sites = sites
        self._members = members
        self._rng = random.Random(SEED)
        self._idle = list(sites)
        self.took: dict[str, list[float]] = {name: [] for name in KINDS}
        self.errors: Counter[str] = Counter()
        self.asked = 0

    async def run(self, changes: int, rate: float) -> None:
        """Begin so many changes, so many a second."""
        steady = asyncio.create_task(self._steady())
        names = [list(KINDS)[number % len(KINDS)] for number in range(changes)]
        self._rng.shuffle(names)
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number, name in enumerate(names):
                await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
                group.create_task(self._change(name))
        steady.cancel()
        await asyncio.gather(steady, return_exceptions=True)

    async def _change(self, name: str) -> None:
        site = self._idle.pop(self._rng.randrange(len(self._idle)))
        watch = asyncio.create_task(self._watch(site))
        try:
            self.took[name].append(await KINDS[name][0](site, self._members))
        except TimeoutError:
            self.errors[f"{name}: no answer within {LIMIT_SECONDS:g} s"] += 1
        finally:
            watch.cancel()
        self._idle.append(site)

    async def _watch(self, site: Site) -> None:
        """Ask a tenant's listener while the tenant is changed."""
        while True:
            await self._ask(site)
            await asyncio.sleep(STEADY_SECONDS)

    async def _steady(self) -> None:
        """Ask all tenants' listeners in turn."""
        while True:
            for site in self._sites:
                await self._ask(site)
                await asyncio.sleep(STEADY_SECONDS)

    async def _ask(self, site: Site) -> None:
        status, text = await answer(site.vip, WEB, "/")
        self.asked += 1
        if status != 200:
            self.errors[f"{status} {text[:40]}".strip()] += 1


async def website(name: str) -> asyncio.Server:
    """A member that answers with its name."""

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET "):
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(name)}\r\n\r\n{name}".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(answers, "127.0.0.1", 0, backlog=1024)


async def measure(tenants: int, changes: int, rate: float, haproxy: Path | None) -> Bench:
    """Start everything, and measure."""
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-first-"))
        servers = {name: await stack.enter_async_context(await website(name)) for name in ("A", "B")}
        members = {name: one.sockets[0].getsockname()[1] for name, one in servers.items()}
        options = {"haproxyd": {"haproxy": haproxy}} if haproxy else {}
        cluster = Cluster(Path(directory), device="haproxy", device_names=["one"], device_options=options)
        stack.push_async_callback(asyncio.to_thread, cluster.close)
        await cluster.start_devices()
        await cluster.start_controller(1)
        await cluster.start_agent("host-1")
        http: aiohttp.ClientSession = await stack.enter_async_context(session())
        subnet = await first_subnet(cluster)
        sites = [Site(Tenant(http, cluster.controllers, f"tenant-{number}")) for number in range(tenants)]
        turns = asyncio.Semaphore(AT_ONCE)

        async def create(site: Site) -> None:
            async with turns:
                await site.create(subnet, members)

        await asyncio.gather(*map(create, sites))
        bench = Bench(sites, members)
        await bench.run(changes, rate)
        return bench


def table(bench: Bench) -> str:
    """What was measured as markdown."""
    lines = ["| change | p50, ms | p99, ms | longest, ms | times | aim (p99) |", "|---|---|---|---|---|---|"]
    for name, (_, aim) in KINDS.items():
        found = sorted(1000 * one for one in bench.took[name])
        p50, p99 = found[len(found) // 2], found[min(int(len(found) * 0.99), len(found) - 1)]
        lines.append(f"| {name} | {p50:.0f} | {p99:.0f} | {found[-1]:.0f} | {len(found)} | {aim} |")
    errors = ", ".join(f"{count} of {what}" for what, count in bench.errors.items()) or "0"
    return "\n".join([*lines, "", f"Errors: {errors} of {bench.asked:,} requests. Load: {os.getloadavg()[0]:.1f}."])


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=int, default=200, help="at most 240; default: %(default)s")
    parser.add_argument("--changes", type=int, default=400, help="default: %(default)s")
    parser.add_argument("--rate", type=float, default=5.0, help="changes a second; default: %(default)s")
    parser.add_argument("--haproxy", type=Path, help="the haproxy to run; else the one the daemon finds")
    options = parser.parse_args()
    print(table(asyncio.run(measure(options.tenants, options.changes, options.rate, options.haproxy))))


if __name__ == "__main__":
    main()
