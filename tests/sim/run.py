"""One seed from beginning to end."""

import asyncio
import contextlib
import gc
import hashlib
import random
import sys
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

import structlog

from evenkeel.agent.ownership import Ownership
from evenkeel.core.kit.errors import Unavailable
from evenkeel.core.protocol.messages import ApplyHint
from evenkeel.devices.bigip.reconcile.partition_pass import PartitionPass
from tests.sim import networks
from tests.sim.aftermath import WITHIN_SECONDS, aftermath
from tests.sim.chaos import Chaos
from tests.sim.clients import Client
from tests.sim.loop import PROCESS, Stuck
from tests.sim.pool_clients import PoolClient
from tests.sim.replacement import EMPTY, GRACE_SECONDS, WAYS, Replacement
from tests.sim.scenario import Scenario
from tests.sim.verdict import false_alarms, forget_unknown, judge, undone, unrest
from tests.sim.watchdog import Watchdog
from tests.sim.world import World

QUIET_WITHIN_SECONDS = 120.0
OBSERVED_SECONDS = 4.0
"""Between two looks of an observer. What devices get and lose between two is found by a question each minute only."""
QUIET_LOOKS = 3
"""In a row: what looks done may go on, as a shard that moves once more."""
RUNS_BETWEEN_COLLECTIONS = 10
BIGIP = "bigip-"
"""A seed that begins so runs with the BIG-IP driver on emulated devices, which takes longer."""
POOLS = "pools-"
"""A seed that begins so has tenants of LBaaS v1."""
LOSSES = "losses-"
"""A seed that begins so has a database that loses commits, and tenants who write fast."""
TENANTS = "tenants-"
"""A seed that begins so has new tenants all the time, hints that are late and repeated, and a database that loses
commits."""
NETWORKS = "networks-"
"""A seed that begins so has devices that are attached to networks, of which projects share some."""
SILENT = "silent-"
"""A seed that begins so has devices that fall silent."""
REPLACED = "replaced-"
"""A seed that begins so has a database that is replaced by another one; its number says by which."""
SILENT_PER_BIGIP = 5
"""Every one of so many of those runs with the BIG-IP driver."""
SEEDS_PER_PAGES = 4
"""In every one of so many agents read their assignments shard by shard."""
SEEDS_PER_NETWORKS = 3
"""So has every one of so many."""
SEEDS_PER_BIGIP = 20
"""So does every one of so many."""

_runs = 0


class Result(NamedTuple):
    """What became of one run."""

    seed: str
    violations: list[str]
    counts: Counter[str]
    faults: Counter[str]
    virtual_seconds: float
    digest: str
    """Of the event log: equal for equal runs."""
    trace: list[tuple[Any, ...]]

    @property
    def command(self) -> str:
        """What repeats it."""
        return f"python -m tests.sim --seed {self.seed} --trace"


def run_seed(seed: int | str, *, tracing: bool = False) -> Result:
    """Run a seed; never raises for what the product does."""
    world = World(str(seed), scenario_of(str(seed)), tracing=tracing)
    kind = PoolClient if str(seed).startswith(POOLS) else Client
    return run_world(world, lambda: life_of(world, kind))


def scenario_of(seed: str) -> Scenario:
    """The scenario of a seed: its prefix and its number decide about some of it."""
    scenario = Scenario(World.stream_of(seed, "scenario"))
    if seed.startswith(BIGIP) or _is_nth(seed, "", SEEDS_PER_BIGIP) or _is_nth(seed, SILENT, SILENT_PER_BIGIP):
        scenario.driver = "bigip"
    if seed.startswith(NETWORKS) or _is_nth(seed, "", SEEDS_PER_NETWORKS):
        scenario.networks = True
    if seed.startswith(LOSSES):
        scenario.lose_commits()
    if seed.startswith(TENANTS):
        scenario.new_tenants(World.stream_of(seed, "new tenants"))
    if seed.startswith(SILENT):
        scenario.silence()
    if seed.startswith(REPLACED):
        number = int(seed.removeprefix(REPLACED))
        scenario.replace_database(WAYS[number % len(WAYS)], GRACE_SECONDS)
        scenario.networks = scenario.replaced == EMPTY
    number = seed.removeprefix(LOSSES)
    if number.isdigit() and int(number) % SEEDS_PER_PAGES == SEEDS_PER_PAGES - 1:
        scenario.assignments_per_call = 1
    return scenario


def _is_nth(seed: str, prefix: str, count: int) -> bool:
    number = seed.removeprefix(prefix)
    return seed.startswith(prefix) and number.isdigit() and int(number) % count == 0


def clean_runs(prefix: str, numbers: Iterable[int]) -> list[Result]:
    """Return the results of the seeds ``prefix`` + number. Raises :class:`AssertionError` with the command and the
    violations of each seed that violates anything.
    """
    # All run before the first is judged: one failure names every seed that fails.
    results = [run_seed(f"{prefix}{number}") for number in numbers]
    failed = [f"{result.command}\n{chr(10).join(result.violations)}" for result in results if result.violations]
    assert not failed, "\n\n".join(failed)
    return results


def run_world(world: World, live: Callable[[], Coroutine[Any, Any, None]] | None = None) -> Result:
    """Run a world that was made ready; ``live`` is what happens in it, if not what its scenario says."""
    with patched(world):
        try:
            world.loop.run_until_complete(live() if live is not None else life_of(world, Client))
        except Stuck:
            world.watch.violation("everything waits for ever")
        finally:
            seconds = world.loop.now - 1000.0
            world.over = world.watch.over = True
            world.loop.abandon()
    world.counts.update(world.watch.counts)
    return Result(
        seed=world.seed,
        violations=world.watch.violations,
        counts=world.counts,
        faults=world.effects.faults,
        virtual_seconds=seconds,
        digest=hashlib.sha256(repr([line for line in world.trace if line[1] != "log"]).encode()).hexdigest(),
        trace=world.trace,
    )


async def life_of(world: World, kind: type[Client]) -> None:
    """What a scenario says happens; ``kind``: of clients."""
    scenario = world.scenario
    world.server.add_environment(world.environment, world.scenario.driver)
    if scenario.networks:
        networks.declare(world.server, scenario.projects)
    for site in world.sites.values():
        for project_id in scenario.projects:
            site.add_foreign(project_id)
    for life in world.lives:
        world.start(life)
    chaos = Chaos(world)
    begun = world.loop.now
    until = begun + 2.0 + scenario.fault_seconds
    rng = world.stream("clients")
    clients = []
    for number in range(1, scenario.clients + 1):
        project_id, begin_after = scenario.tenant(number, rng)
        clients.append(kind(world, project_id, world.stream(f"client {number}"), f"192.0.2.{number}"))
        clients[-1].begin_after = begin_after
    chaos.clients += clients
    await asyncio.sleep(2.0)
    chaos.noise()
    load = [asyncio.ensure_future(client.run(scenario.writes, until)) for client in clients]
    replacement = Replacement(world, chaos, scenario.replaced) if scenario.replaced else None
    if replacement is not None:
        load.append(asyncio.ensure_future(replacement.run(until)))
    faults = asyncio.ensure_future(chaos.run(until))
    watchdog = asyncio.ensure_future(Watchdog(world).run())
    while world.loop.now < until:
        await asyncio.sleep(1.0)
        chaos.supervise()
    await faults
    chaos.end()
    await asyncio.gather(*load)
    if replacement is not None:
        await replacement.settle()
        clients += replacement.clients
    await come_to_rest(world, chaos)
    for what in false_alarms(world):
        world.watch.violation(what)
    if not world.watch.violations:
        await aftermath(world)
    watchdog.cancel()
    await judge(world, clients)


async def come_to_rest(world: World, chaos: Chaos) -> None:
    """All faults are over: wait until nothing is left to be done."""
    deadline = world.loop.now + QUIET_WITHIN_SECONDS
    resync = world.scenario.resync_seconds * 1.3 if world.scenario.resync_seconds < 60 else 0.0
    looks = WITHIN_SECONDS if world.scenario.found_by_looks else 0.0  # the first one's report may have got no answer
    earliest = world.loop.now + max(resync, looks, world.scenario.poll_seconds, world.scenario.retry_max_seconds * 1.3)
    quiet_looks = 0
    restless: list[str] = []
    while quiet_looks < QUIET_LOOKS and world.loop.now < deadline:
        await asyncio.sleep(1.0)
        chaos.supervise()
        forget_unknown(world)
        restless = [*unrest(world), *undone(world)]
        if restless:
            earliest = max(earliest, world.loop.now + OBSERVED_SECONDS)
        quiet_looks = 0 if restless or world.loop.now < earliest else quiet_looks + 1
    for what in restless:
        world.watch.violation(f"no rest after {QUIET_WITHIN_SECONDS:g} s: {what}")


# -- the interpreter's own sources of chance and noise


@contextlib.contextmanager
def patched(world: World) -> Iterator[None]:
    """Ids from the seed; the product's log goes to the event log, and what it calls a bug is one."""
    global _runs
    uuid4, monotonic, chance, configuration = uuid.uuid4, time.monotonic, random.getstate(), structlog.get_config()
    uuid.uuid4 = lambda: uuid.UUID(world.new_id())
    time.monotonic = world.loop.time
    random.seed(f"{world.seed}/global")
    clocks = PartitionPass.__init__.__kwdefaults__
    clocks["now"] = world.loop.time
    begin_shard = Ownership.begin_shard

    def begin_and_count(self: Ownership, hint: ApplyHint) -> bool:
        begun = begin_shard(self, hint)
        world.counts["shards begun by hints"] += begun
        return begun

    structlog.configure(
        processors=[_listener(world)],
        wrapper_class=structlog.make_filtering_bound_logger(20 if world.tracing else 30),
        logger_factory=structlog.ReturnLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    collecting = gc.isenabled()
    gc.disable()  # a collection in the middle would end abandoned tasks at a random moment
    try:
        with patch.object(Ownership, "begin_shard", begin_and_count):
            yield
    finally:
        uuid.uuid4, time.monotonic, clocks["now"] = uuid4, monotonic, monotonic
        random.setstate(chance)
        structlog.configure(**configuration)
        _runs += 1
        if collecting:
            gc.enable()
        if _runs % RUNS_BETWEEN_COLLECTIONS == 0:
            gc.collect()


def _listener(world: World) -> Any:
    def listen(_logger: Any, method: str, event: dict[str, Any]) -> str:
        process = PROCESS.get()
        where = process.name if process is not None else "world"
        text = " ".join(f"{name}={value}" for name, value in event.items() if name not in ("event", "exc_info"))
        error = _exception(event.get("exc_info"))
        if error is not None and not isinstance(error, Unavailable):
            trace = "".join(traceback.format_exception(error))[-1500:]
            world.watch.violation(f"{where} logged a bug: {event['event']} {text} {trace}")
        elif world.tracing:
            world.trace_log(where, event["event"], text)
        raise structlog.DropEvent

    return listen


def _exception(given: Any) -> BaseException | None:
    if isinstance(given, tuple):
        given = given[1]
    return sys.exc_info()[1] if given is True else given
