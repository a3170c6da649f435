"""The simulation repeats itself: else a failing seed could not be looked into."""

import asyncio
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.sim.loop import SimLoop, Stuck
from tests.sim.process import Process
from tests.sim.run import run_seed

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

ROOT = Path(__file__).parents[2]
SEEDS = (12, 18, "bigip-3")


@cache
def digest_of(seed: int | str) -> str:
    """From the first run of the seed here."""
    return run_seed(seed).digest


def digests_elsewhere(hash_seed: str) -> list[str]:
    """Of the same seeds, in a fresh interpreter that orders sets otherwise."""
    code = f"from tests.sim.run import run_seed\nfor seed in {SEEDS!r}: print(run_seed(seed).digest)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_a_seed_runs_the_same_every_time_and_in_every_interpreter() -> None:
    here = [digest_of(seed) for seed in SEEDS]
    assert [run_seed(seed).digest for seed in reversed(SEEDS)] == here[::-1]
    assert digests_elsewhere("4711") == here


def test_tracing_changes_nothing() -> None:
    assert run_seed(12, tracing=True).digest == digest_of(12)


def test_seeds_differ() -> None:
    assert digest_of(12) != digest_of(18)


def test_time_passes_only_while_everybody_waits() -> None:
    loop = SimLoop(start_seconds=0.0)

    async def sleep() -> float:
        await asyncio.sleep(3600.0)
        return loop.time()

    assert loop.run_until_complete(sleep()) == pytest.approx(3600.0)
    loop.abandon()


def test_waiting_for_nothing_is_found_out() -> None:
    loop = SimLoop()

    async def wait() -> None:
        await loop.create_future()

    with pytest.raises(Stuck):
        loop.run_until_complete(wait())
    loop.abandon()


def test_a_frozen_process_does_nothing_until_it_thaws_and_a_dead_one_nothing_ever() -> None:
    loop = SimLoop(start_seconds=0.0)
    did: list[tuple[str, float]] = []

    async def tick(name: str) -> None:
        while True:
            await asyncio.sleep(1.0)
            did.append((name, loop.now))

    async def run() -> None:
        frozen, dead = Process(loop, "frozen", random.Random(1)), Process(loop, "dead", random.Random(1))
        for process in (frozen, dead):
            process.spawn(tick(process.name))
        await asyncio.sleep(1.5)
        frozen.freeze()
        dead.die()
        await asyncio.sleep(5.0)
        frozen.thaw(timers_first=True)
        await asyncio.sleep(1.2)

    loop.run_until_complete(run())
    loop.abandon()
    assert did == [("frozen", 1.0), ("dead", 1.0), ("frozen", 6.5), ("frozen", 7.5)]


def test_cleanup_of_a_dead_process_has_no_effect() -> None:
    loop = SimLoop()
    did: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1.0)
        finally:
            did.append("cleaned up")

    async def run() -> None:
        process = Process(loop, "dead", random.Random(1))
        task = process.spawn(work())
        await asyncio.sleep(0.5)
        process.die()
        task.cancel()
        await asyncio.sleep(5.0)

    loop.run_until_complete(run())
    assert did == []
    loop.abandon()
