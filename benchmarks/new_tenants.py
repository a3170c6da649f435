"""How long a new tenant waits for its first load balancer: ``python -m benchmarks.new_tenants [--tenants 40]``.

A controller, an agent and a device in real processes, with SQLite and the embedded bus: emulated BIG-IP, then HAProxy
behind its daemon. One tenant after another creates a load balancer with a listener, a pool, a monitor and a member in
one request; the time is that from the request until the tenant sees it ACTIVE. A tenant that comes first on a host
waits for what the agent, the device's partition and, on HAProxy hosts, the tenant's own HAProxy process need to start.

Prints a markdown table of milliseconds. Run it at the top of the source tree; compare ratios, not figures, and two
revisions only in runs beside each other.
"""

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path

import aiohttp

from benchmarks import reaction
from evenkeel.cli.client import API
from evenkeel.demo.addresses import choose_place
from evenkeel.demo.cluster import DEVICES, Cluster
from tests.acceptance.tenant import Tenant, session

WARM_UP = 3
"""Tenants whose times do not count: processes load what they need once."""
LAST_HOUSE = 250


async def one_after_another(cluster: Cluster, http: aiohttp.ClientSession, tenants: int) -> list[float]:
    """Seconds from request to ACTIVE of each tenant's load balancer."""
    place = choose_place(random.Random())  # avoids addresses in use, no secret
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API}/subnets", body))["subnet"]["id"]
    found = []
    for number in range(tenants + WARM_UP):
        tenant = Tenant(http, cluster.controllers, f"tenant-{number}")
        began = time.perf_counter()
        await tenant.create(subnet)
        await reaction.active(tenant)
        found.append(time.perf_counter() - began)
    return found[WARM_UP:]


async def measure(device: str, tenants: int) -> str:
    """Row of the table for a type of devices."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-tenants-") as directory:
        cluster = Cluster(Path(directory), device=device, device_names=["one"])
        try:
            await cluster.start_devices()
            await cluster.start_controller(1)
            await cluster.start_agent("host-1")
            async with session() as http:
                return reaction.row(device, await one_after_another(cluster, http, tenants))
        finally:
            await asyncio.to_thread(cluster.close)


async def run(tenants: int, devices: list[str]) -> None:
    """Measure and print."""
    print("\n".join(reaction.HEAD), flush=True)
    for device in devices:
        print(await measure(device, tenants), flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=int, default=40, help=f"for each type of devices, at most {LAST_HOUSE - 10}")
    parser.add_argument("--device", choices=DEVICES, action="append", help="only this type of devices")
    options = parser.parse_args()
    asyncio.run(run(min(options.tenants, LAST_HOUSE - 10), options.device or list(DEVICES)))


if __name__ == "__main__":
    main()
