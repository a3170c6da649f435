"""How long a client waits whose UDP member has died: a part of :mod:`.l4`.

A client asks without a pause through a daemon's host, with checks of one second. Its member's port closes, so that each
check is refused; the time from then until another member answers the same client is measured, some times.
"""

import statistics
import time

from evenkeel.haproxyd import wire
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.host import running
from tests.haproxyd.layer4.lab import Client, Lab, Member, lab
from tests.waiting import eventually

PARTITION = "bench_1"
PROBE = wire.Ping(delay=1, timeout=1, rise=1, fall=1, protocol="udp")
ASKED_SECONDS = 0.02


async def measure_deaths(count: int) -> None:
    """Print the waits."""
    async with lab() as where, running(where) as daemon, daemon.client() as agent:
        members = {name: await where.member(number) for number, name in ((1, "m1"), (2, "m2"))}
        held = balancer(*members.values(), ping=PROBE)
        await agent.patch(PARTITION, wire.PartitionChange(epoch=1, load_balancers=(held,)))

        async def all_up() -> bool:
            found = [await agent.server(PARTITION, name) for name in members]
            return all(one.checked and one.up for one in found)

        waits = []
        for _ in range(count):
            await eventually(all_up)
            waits.append(await _wait(where, members))
    print("\n| UDP member died, checks of 1 s, until its client is answered | median | longest |\n|---|---|---|")
    print(f"| {count} times | {statistics.median(waits):.2f} s | {max(waits):.2f} s |")


async def _wait(where: Lab, members: dict[str, Member]) -> float:
    client = where.open_client()
    try:
        mine = await _answer(client)
        members[mine].stop()
        began = time.monotonic()
        await _answer(client)
        waited = time.monotonic() - began
        await members[mine].start()
        return waited
    finally:
        client.close()


async def _answer(client: Client) -> str:
    """The name of the member that answers, asked until one does."""
    while (found := await client.ask(ASKED_SECONDS)) in ("refused", "silence"):
        pass
    return found
