"""How long a new tenant waits for its first load balancer: ``python -m benchmarks.new_tenants [--tenants 40]``.

A controller, an agent and a device in real processes, with SQLite and the embedded bus: emulated BIG-IP, then HAProxy
behind its daemon. One tenant after another creates a load balancer with a listener, a pool, a monitor and a member in
one request; the time is that from the request until the tenant sees it ACTIVE. A tenant that comes first on a host
waits for what the agent, the device's partition and, on HAProxy hosts, the tenant's own HAProxy process need to start.

With ``--at-once 8`` so many callers create tenants at the same time: tenants a second, and the CPU milliseconds of each
kind of process for a tenant (schedstat, with the processes that have ended).

Prints a markdown table. Run it at the top of the source tree; compare ratios, not figures, and two revisions only in
runs beside each other (``--tree``).
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import aiohttp

from benchmarks import reaction
from benchmarks.density import cpu_ms
from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import DEVICE_KINDS, Cluster
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from tests.acceptance.tenant import Tenant, session

WARM_UP = 3
"""Tenants whose times do not count: processes load what they need once."""
LAST_HOUSE = 250
LOOK_SECONDS = 0.05
"""Between two looks of one of several callers, so that their looks cost little beside what is measured."""
KINDS = ("controller", "agent", "devices", "haproxy")
"""Kinds of processes: ``devices`` is the daemon or the emulator."""
AT_ONCE_HEAD = f"| device | callers | tenants a second | p50, ms | {' | '.join(KINDS)} | all, CPU ms a tenant |"


async def first_subnet(cluster: Cluster) -> str:
    """The subnet of all VIPs."""
    place = choose_vip_address(random.Random())  # avoids addresses in use, no secret
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    made = await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body)
    return str(made["subnet"]["id"])


async def one_after_another(cluster: Cluster, http: aiohttp.ClientSession, tenants: int) -> list[float]:
    """Seconds from request to ACTIVE of each tenant's load balancer."""
    subnet = await first_subnet(cluster)
    found = []
    for number in range(tenants + WARM_UP):
        tenant = Tenant(http, cluster.controllers, f"tenant-{number}")
        began = time.perf_counter()
        await tenant.create(subnet)
        await reaction.active(tenant)
        found.append(time.perf_counter() - began)
    return found[WARM_UP:]


# -- several callers


def children_cpu_ms(pids: Iterable[int]) -> float:
    """CPU time of ended children of processes, in the kernel's ticks."""
    fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum(1000 * (int(one[13]) + int(one[14])) / os.sysconf("SC_CLK_TCK") for one in fields)


def cpu_by_kind(cluster: Cluster) -> dict[str, float]:
    """CPU milliseconds so far."""
    pids = {kind: [one.pid for name, one in cluster.processes.items() if name.startswith(kind)] for kind in KINDS}
    if isinstance(cluster.side, HaproxyDevices):
        pids["haproxy"] = cluster.side.haproxy_pids()
    return {kind: cpu_ms(found) + children_cpu_ms(found) for kind, found in pids.items()}


async def at_once(cluster: Cluster, http: aiohttp.ClientSession, tenants: int, callers: int) -> str:
    """Row of the table for so many callers, without the device."""
    subnet = await first_subnet(cluster)
    numbers: Iterator[int] = iter(range(tenants))
    found: list[float] = []

    async def one(number: int) -> None:
        tenant = Tenant(http, cluster.controllers, f"tenant-{number}")
        began = time.perf_counter()
        await tenant.create(subnet)
        await reaction.active(tenant, LOOK_SECONDS)
        found.append(time.perf_counter() - began)

    async def caller() -> None:
        for number in numbers:
            await one(number)

    for number in range(tenants, tenants + WARM_UP):
        await one(number)
    found.clear()
    before, began = cpu_by_kind(cluster), time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    took, after = time.perf_counter() - began, cpu_by_kind(cluster)
    each = {kind: (after[kind] - before[kind]) / tenants for kind in KINDS}
    p50 = sorted(found)[len(found) // 2]
    cells = [str(callers), f"{tenants / took:.1f}", f"{1000 * p50:.0f}", *(f"{each[kind]:.1f}" for kind in KINDS)]
    return " | ".join([*cells, f"{sum(each.values()):.1f} |"])


# -- running


async def measure(device: str, tenants: int, callers: int) -> str:
    """Row of the table for a type of devices."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-tenants-") as directory:
        cluster = Cluster(Path(directory), device=device, device_names=["one"])
        try:
            await cluster.start_devices()
            await cluster.start_controller(1)
            await cluster.start_agent("host-1")
            async with session() as http:
                if callers > 1:
                    return f"| {device} | {await at_once(cluster, http, tenants, callers)}"
                return reaction.row(device, await one_after_another(cluster, http, tenants))
        finally:
            await asyncio.to_thread(cluster.close)


def measured_in(tree: Path, device: str, tenants: int, callers: int) -> str:
    """The same in a process that imports from a source tree."""
    paths = os.pathsep.join([str(tree / "src"), str(tree / "packages" / "icontrol-emulator" / "src"), str(tree)])
    command = [sys.executable, __file__, "--row", "--device", device, f"--tenants={tenants}", f"--at-once={callers}"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, cwd=tree, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=int, default=40, help=f"for each type of devices, at most {LAST_HOUSE - 10}")
    parser.add_argument("--device", choices=DEVICE_KINDS, action="append", help="only this type of devices")
    parser.add_argument("--at-once", type=int, default=1, help="callers")
    parser.add_argument("--tree", type=Path, action="append", help="a source tree, such as a worktree of git")
    parser.add_argument("--row", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    tenants, devices = min(options.tenants, LAST_HOUSE - 10), options.device or list(DEVICE_KINDS)
    if options.row:
        print(asyncio.run(measure(devices[0], tenants, options.at_once)))
        return
    head = reaction.HEAD if options.at_once == 1 else (AT_ONCE_HEAD, "|---" * (AT_ONCE_HEAD.count("|") - 1) + "|")
    print("\n".join(head), flush=True)
    for device in devices:
        for tree in options.tree or [Path.cwd()]:
            row = measured_in(tree.resolve(), device, tenants, options.at_once)
            print(row.replace(f"| {device}", f"| {device}, {tree.name or tree.resolve().name}", 1), flush=True)


if __name__ == "__main__":
    main()
