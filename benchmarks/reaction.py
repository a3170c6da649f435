"""How soon a change is acknowledged when the partition holds many load balancers: by the daemon, and by the API."""

import asyncio
import statistics
import time
from collections.abc import Callable

import msgspec

from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.devices.haproxy.client import DaemonClient
from evenkeel.devices.haproxy.options import parse_options
from evenkeel.haproxyd import wire
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant
from tests.acceptance.websites import create, website

POLL_SECONDS = 0.002
PAUSE_SECONDS = 0.05
"""Between changes. What a change leaves to be done after its answer is not to fall into the next one's time."""
AT_ONCE = 8


HEAD = ("| milliseconds | p50 | p95 | longest | times | aim (p50) |", "|---|---|---|---|---|---|")


async def populate(tenants: list[Tenant], subnet_id: str, network: str, port: int, backends: list[int]) -> None:
    """A load balancer for each tenant object, all of one project; returns when all are ACTIVE."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, tenant: Tenant) -> None:
        async with turns:
            await create(tenant, website(subnet_id, f"{network}.{number}", {"HTTP": port}, backends))
            await active(tenant)

    await asyncio.gather(*(one(number, tenant) for number, tenant in enumerate(tenants, 2)))


async def active(tenant: Tenant, pause_seconds: float = POLL_SECONDS) -> None:
    """Wait until its load balancer is. ``pause_seconds``: between two looks."""
    path = f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}?fields=provisioning_status"
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            status = (await tenant.surely("GET", path))["loadbalancer"]["provisioning_status"]
            if status == "ACTIVE":
                return
            if status == "ERROR":
                raise RuntimeError(f"load balancer {tenant.load_balancer_id} is in ERROR")
            await asyncio.sleep(pause_seconds)


async def through_the_api(tenant: Tenant, path: str, wrapper: str, field: str, values: list[int]) -> list[float]:
    """Seconds from a PUT to ACTIVE, for each value."""
    found = []
    for value in values:
        began = time.perf_counter()
        await tenant.surely("PUT", f"{LBAAS}{path}", {wrapper: {field: value}})
        await active(tenant)
        found.append(time.perf_counter() - began)
    return found


# -- the daemon alone


class Partition:
    """One partition, changed as the agents' driver does. No agent may run meanwhile."""

    def __init__(self, side: HaproxyDevices, held: wire.PartitionConfig) -> None:
        known = side.daemon
        given = {
            "haproxyd_url": known.url,
            "haproxyd_username": known.user,
            "haproxyd_password": known.password,
            "ca_file": known.ca_file,
        }
        options = parse_options(given, environment="bench", group_number=1, host="bench")
        self._daemon = DaemonClient(options.hosts[0], options)
        self._name = held.name
        self._held = held
        self._balancer = held.load_balancers[0]

    async def close(self) -> None:
        """Disconnect."""
        await self._daemon.close()

    async def repeat(
        self,
        change: Callable[[wire.LoadBalancerConfig, int], wire.LoadBalancerConfig],
        how: wire.ApplyMethod,
        count: int,
        *,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> list[float]:
        """Seconds until each change is acknowledged. Raises :class:`RuntimeError` unless all were made as ``how``."""
        found = []
        life = (await self._daemon.read_about()).state_id
        owned = wire.PartitionChange(epoch=self._held.epoch, session_id=self._held.session_id, state_id=life)
        for number in range(count):
            wanted = change(self._balancer, number)
            wanted = msgspec.structs.replace(wanted, revision=self._balancer.revision + 1)
            began = time.perf_counter()
            receipt = await self._daemon.patch(self._name, msgspec.structs.replace(owned, load_balancers=(wanted,)))
            found.append(time.perf_counter() - began)
            if receipt.how != how or receipt.outcomes[0].error:
                raise RuntimeError(f"not {how}: {receipt}")
            self._balancer = wanted
            await asyncio.sleep(pause_seconds)
        return found


def other_weight(balancer: wire.LoadBalancerConfig, number: int) -> wire.LoadBalancerConfig:
    """A member gets another weight."""
    backend = balancer.backends[0]
    first, *others = backend.servers
    servers = (msgspec.structs.replace(first, weight=number % 250 + 2), *others)
    return msgspec.structs.replace(balancer, backends=(msgspec.structs.replace(backend, servers=servers),))


def member_comes_or_goes(balancer: wire.LoadBalancerConfig, number: int) -> wire.LoadBalancerConfig:
    """A member is added, and removed the next time."""
    backend = balancer.backends[0]
    name = f"added-{number // 2}"
    servers = tuple(one for one in backend.servers if one.name != name)
    if len(servers) == len(backend.servers):
        servers += (msgspec.structs.replace(servers[0], name=name, port=servers[0].port + 1),)
    return msgspec.structs.replace(balancer, backends=(msgspec.structs.replace(backend, servers=servers),))


def other_timeout(balancer: wire.LoadBalancerConfig, number: int) -> wire.LoadBalancerConfig:
    """A listener's clients get another time."""
    frontend = balancer.frontends[0]
    kept = tuple(line for line in frontend.lines if not line.startswith("timeout client "))
    lines = (*kept[:1], f"timeout client {60_000 + number}ms", *kept[1:])
    return msgspec.structs.replace(balancer, frontends=(msgspec.structs.replace(frontend, lines=lines),))


# -- figures


def row(what: str, seconds: list[float], goal: str = "") -> str:
    """Of a table: milliseconds."""
    ordered = sorted(seconds)
    p50, p95 = statistics.median(ordered), ordered[int(len(ordered) * 0.95)]
    return f"| {what} | {1000 * p50:.1f} | {1000 * p95:.1f} | {1000 * ordered[-1]:.1f} | {len(seconds)} | {goal} |"
