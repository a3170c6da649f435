"""What changes and looks cost on a BIG-IP: device requests, the agent's CPU time, and seconds.

    python -m benchmarks.bigip [--latency 30ms] [--repeats 5]

The driver in this process, as an agent's worker drives it; the emulator in a process of its own, with a fixed latency
of each request. Of several repetitions the median is printed, as a markdown table. Run it at the top of the source
tree.

The first table has the changes of F5's OpenStack agent 9.10 too, as recorded facts (``tests/devices/bigip/f5_agent``)
and replayed one after the other: those of its requests that change something, without those that only read.
Published figures of other products for comparison: the same agent, measured with f5-sdk 3.0.11 against a store in
memory: 72 requests from nothing to a load balancer with listener, pool, monitor and three members (7 API operations),
12 GETs for each status poll of that load balancer. SAP's Octavia driver sends one AS3 declaration of the whole tenant
for any change.
"""

import argparse
import asyncio
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import structlog
from msgspec.structs import replace

from emulator_tests.client import Client
from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip import open_group
from tests.devices.bigip.f5_agent.links import Unit
from tests.devices.bigip.f5_agent.requests import Request
from tests.devices.bigip.f5_agent.scenes import Replay
from tests.devices.bigip.f5_agent.tenants import Tenant
from tests.devices.bigip.rig import ENVIRONMENT
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, listener, member, pool, service, session_of
from tests.waiting import eventually

LISTENERS, MEMBERS = 100, 10
RESYNCED = 1_000
TENANTS = 100
F5_TENANT, F5_UNIT = Tenant(id=PROJECT, prefix="f5"), Unit(name="bigip-1")
AT_ONCE = 10
"""Shards that an agent serves concurrently in the last row."""


class EmulatorProcess:
    """The emulator, and its control API."""

    def __init__(self, folder: Path, latency: str) -> None:
        self._folder, self._latency = folder, latency

    async def __aenter__(self) -> "EmulatorProcess":
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "icontrol_emulator", "--device", "bigip-1@127.0.0.1:0", "--no-data-plane"),
            *("--state-dir", str(self._folder), "--latency", self._latency),
            stderr=asyncio.subprocess.DEVNULL,
        )
        published = self._folder / "endpoints.json"
        await eventually(published.exists)
        self.endpoints: dict[str, Any] = json.loads(published.read_text())
        self._http = aiohttp.ClientSession(self.endpoints["control_url"])
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.close()
        self._process.terminate()
        await self._process.wait()

    async def requests(self) -> int:
        """Requests since the last call, logins not counted."""
        async with self._http.get("/counters") as answer:
            counted = (await answer.json())["bigip-1"]
        async with self._http.post("/counters/reset"):
            pass
        return sum(count for kind, count in counted.items() if kind in ("reads", "writes", "stats"))

    async def send(self, requests: Iterable[Request]) -> None:
        """Send requests one after the other; the device takes each."""
        client = Client(self.endpoints["devices"][0]["url"], Path(self.endpoints["ca_file"]))
        try:
            for each in requests:
                body = dict(each.body) if each.method != "DELETE" else None
                answer = await client.send(each.method, each.path, body)
                assert answer.status == HTTPStatus.OK, f"{each}: {answer}"
        finally:
            await client.close()

    def driver(self, **changes: str) -> Owner:
        """An agent's driver."""
        options = {
            "icontrol_hostname": self.endpoints["devices"][0]["url"].removeprefix("https://"),
            "icontrol_username": "admin",
            "icontrol_password": "admin",
            "f5_ha_type": "standalone",
            "ca_file": self.endpoints["ca_file"],
            "save_interval": "0",
            "connect_timeout": "60",  # a machine with other work on it may be silent for long
            **changes,
        }
        return Owner(open_group(options, environment=ENVIRONMENT, group_number=1, host="host-1"))


class Row:
    """One line of a table: medians over the repetitions."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._found: list[tuple[int, float, float]] = []

    @property
    def requests(self) -> float:
        return statistics.median(requests for requests, _, _ in self._found)

    @property
    def seconds(self) -> float:
        return statistics.median(seconds for _, _, seconds in self._found)

    async def measure(self, emulator: EmulatorProcess, step: Awaitable[Any]) -> None:
        """Run the step and count."""
        await emulator.requests()
        cpu, clock = time.process_time(), time.perf_counter()
        await step
        taken = time.process_time() - cpu, time.perf_counter() - clock
        self._found.append((await emulator.requests(), *taken))

    def print(self) -> None:
        requests, cpu, seconds = (statistics.median(values) for values in zip(*self._found, strict=True))
        print(f"| {self.what} | {requests:.0f} | {cpu * 1000:.1f} | {seconds:.2f} |", flush=True)


def tenant(number: int, count: int) -> ServiceDefinition:
    """A load balancer with ``count`` listeners, each with a pool of ten members and a monitor."""
    places = [number * 1_000 + place for place in range(count)]
    return service(
        number,
        listeners=tuple(listener(place, protocol_port=1_000 + place % 1_000) for place in places),
        pools=tuple(pool(place, members=_members(place)) for place in places),
    )


def _members(place: int, count: int = MEMBERS) -> tuple[Any, ...]:
    head = f"10.{2 + place // 62_500}.{place // 250 % 250}"
    return tuple(
        member(place, one, address=f"{head}.{one}", protocol_port=8_000 + place % 250) for one in range(1, count + 1)
    )


def weighted(one: ServiceDefinition, weight: int) -> ServiceDefinition:
    """The same with another weight of one member of its last pool."""
    *others, last = one.pools
    first, *more = last.members
    changed = replace(last, members=(replace(first, weight=weight), *more))
    return replace(one, revision=one.revision + 1, pools=(*others, changed))


def grown(one: ServiceDefinition, count: int) -> ServiceDefinition:
    """The same with ``count`` members in its last pool."""
    *others, last = one.pools
    place = int(last.id.rpartition("-")[2])
    return replace(one, revision=one.revision + 1, pools=(*others, replace(last, members=_members(place, count))))


async def taken_over(driver: Owner, wanted: PartitionBatch) -> PartitionOutcome:
    """What an agent does with a shard that it was assigned: the guard first, then everything."""
    await driver.take_over(wanted.project_id, wanted.epoch, wanted.session_id)
    return await driver.apply(wanted)


def story() -> list[ServiceDefinition]:
    """A load balancer, listener, pool, three members and monitor, one after the other: after each step."""
    steps = (
        service(listeners=(), pools=()),
        service(listeners=(listener(default_pool_id=None),), pools=()),
        *(service(pools=(pool(members=members, monitor=None),)) for members in (0, 1, 2, 3)),
        service(members=3),
    )
    return [replace(step, revision=revision) for revision, step in enumerate(steps, 1)]


async def beside_f5(latency: str, repeats: int) -> None:
    """The same load balancers from nothing by the driver and by F5's agent, each on a new device: a table."""
    print("| from nothing | requests | F5's agent's changes | ratio | seconds | F5's agent's | ratio |")
    print("|---|---|---|---|---|---|---|")
    small, large = story(), tenant(1, LISTENERS)
    for what, steps, times in (
        ("step by step: load balancer, listener, pool, 3 members, monitor", small, repeats),
        ("the same in one change", small[-1:], repeats),
        (f"{LISTENERS} listeners with {MEMBERS} members each, in one change", [large], 1),
    ):
        ours, theirs = Row(what), Row(what)
        for _ in range(times):
            with tempfile.TemporaryDirectory() as folder:
                async with EmulatorProcess(Path(folder), latency) as emulator:
                    driver = emulator.driver()
                    await driver.check()
                    await ours.measure(emulator, _all_steps(driver, steps))
                    await driver.close()
            with tempfile.TemporaryDirectory() as folder:
                async with EmulatorProcess(Path(folder), latency) as emulator:
                    await theirs.measure(emulator, emulator.send(Replay(F5_TENANT, F5_UNIT, steps[-1:]).requests()))
        _print_pair(what, ours, theirs)
    what = "the last load balancer deleted, until the partition is gone"
    ours, theirs = Row(what), Row(what)
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            async with EmulatorProcess(Path(folder), latency) as emulator:
                driver = emulator.driver()
                await driver.check()
                await _all_steps(driver, small[-1:])
                await ours.measure(emulator, _until_gone(driver))
                await driver.close()
        with tempfile.TemporaryDirectory() as folder:
            async with EmulatorProcess(Path(folder), latency) as emulator:
                replay = Replay(F5_TENANT, F5_UNIT, small[-1:])
                await emulator.send(replay.requests())
                await theirs.measure(emulator, emulator.send(replay.deletions()))
    _print_pair(what, ours, theirs)


def _print_pair(what: str, ours: "Row", theirs: "Row") -> None:
    print(
        f"| {what} | {ours.requests:.0f} | {theirs.requests:.0f} | {ours.requests / theirs.requests:.2f}"
        f" | {ours.seconds:.2f} | {theirs.seconds:.2f} | {ours.seconds / theirs.seconds:.2f} |",
        flush=True,
    )


async def _until_gone(driver: Owner) -> None:
    """The pass of an agent that removes a tenant's last load balancer, and with it the partition."""
    await driver.apply(batch(gone(1, revision=99)))
    await driver.apply(batch(complete=True))
    left = await driver.retire(PROJECT, 1, session_of(1))
    assert not left.left, left


async def _all_steps(driver: Owner, steps: Sequence[ServiceDefinition]) -> None:
    await driver.take_over(PROJECT, 1, session_of(1))
    for step in steps:
        outcome = await driver.apply(batch(step, complete=step is steps[0]))
        assert not any(found.error for found in outcome.outcomes), outcome.outcomes


async def small_and_large(emulator: EmulatorProcess, repeats: int) -> None:
    """Changes of one object in a tenant with one listener, and in one with 100."""
    for count in (1, LISTENERS):
        rows = [Row(f"{what}, tenant of {count} listeners") for what in ("listener and pool", "member", "weight")]
        first, delete = Row(f"first load balancer of a tenant, {count} listeners"), Row(f"delete it, {count} listeners")
        for turn in range(repeats):
            driver = emulator.driver()
            await driver.check()
            one = tenant(1, count)
            await first.measure(emulator, taken_over(driver, batch(one, complete=True)))
            smaller = replace(tenant(1, count), listeners=one.listeners[:-1], pools=one.pools[:-1], revision=2)
            await driver.apply(batch(smaller))
            one = replace(one, revision=3)
            await rows[0].measure(emulator, driver.apply(batch(one)))
            one = grown(one, MEMBERS + 1)
            await rows[1].measure(emulator, driver.apply(batch(one)))
            one = weighted(one, 2 + turn)
            await rows[2].measure(emulator, driver.apply(batch(one)))
            await delete.measure(emulator, driver.apply(batch(gone(1, revision=99))))
            await driver.apply(batch(complete=True))
            left = await driver.retire(PROJECT, 1, session_of(1))  # or the next turn's would not be the first
            assert not left.left, left
            await driver.close()
        for row in (first, *rows, delete):
            row.print()


async def many(emulator: EmulatorProcess, repeats: int) -> None:
    """A tenant of 1,000 load balancers: their statuses, and a resync by an agent that knows nothing."""
    services = [tenant(number, 1) for number in range(1, RESYNCED + 1)]
    driver = emulator.driver()
    await driver.apply(batch(*services, complete=True))
    poll = Row(f"statuses and statistics of {RESYNCED} load balancers, a poll")
    look = Row(f"a look at {RESYNCED} load balancers that finds nothing to do, as the one before")
    whole = Row(f"a complete pass over {RESYNCED} load balancers that finds nothing to do, as the one before")
    resync = Row(f"full resync of {RESYNCED} load balancers of one tenant by another agent")
    for turn in range(repeats):
        await poll.measure(emulator, driver.observe())
        for row, complete in ((look, False), (whole, True)):
            again = batch(*services, epoch=turn + 1, complete=complete)
            await driver.apply(again)  # this one decodes and plans what the next one finds equal
            await row.measure(emulator, driver.apply(again))
        other = emulator.driver()
        await resync.measure(emulator, taken_over(other, batch(*services, epoch=turn + 2, complete=True)))
        await driver.close()
        driver = other
    for row in (poll, look, whole, resync):
        row.print()
    await driver.apply(batch(epoch=repeats + 1, complete=True))
    await driver.close()


async def tenants(emulator: EmulatorProcess) -> None:
    """The same number of load balancers, of 100 tenants."""
    each = RESYNCED // TENANTS
    projects = {
        f"{number:032x}": [
            replace(tenant(number * each + one, 1), project_id=f"{number:032x}") for one in range(1, each + 1)
        ]
        for number in range(TENANTS)
    }
    driver = emulator.driver()
    await _all(driver, projects, epoch=1)
    await driver.close()
    driver = emulator.driver()
    row = Row(f"full resync of {RESYNCED} load balancers of {TENANTS} tenants by another agent, {AT_ONCE} at once")
    await row.measure(emulator, _all(driver, projects, epoch=2))
    row.print()
    await driver.close()


async def _all(driver: Owner, projects: dict[str, list[ServiceDefinition]], epoch: int) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(project: str) -> None:
        async with turns:
            wanted = replace(batch(*projects[project], epoch=epoch, complete=True), project_id=project)
            outcome = await taken_over(driver, wanted)
            assert not any(found.error for found in outcome.outcomes), outcome.outcomes

    await asyncio.gather(*map(one, projects))


async def main(latency: str, repeats: int) -> None:
    """All rows."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    print(f"Latency {latency} a request; medians of {repeats}.\n")
    await beside_f5(latency, repeats)
    with tempfile.TemporaryDirectory() as folder:
        async with EmulatorProcess(Path(folder), latency) as emulator:
            print("\n| | device requests | agent's CPU ms | seconds |\n|---|---|---|---|")
            await small_and_large(emulator, repeats)
            await many(emulator, repeats)
            await tenants(emulator)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", default="30ms", help="of each request: none, realistic, or such as 30ms")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(main(options.latency, options.repeats))
