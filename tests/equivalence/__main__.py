"""Trials: a number of histories, one again, or the shortest part of one that fails."""

import argparse
import asyncio
import contextlib
import functools
import logging
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from tests.equivalence import bigip, trial
from tests.equivalence.faults import FAULTS
from tests.equivalence.history import STEPS, Device, History, draw
from tests.equivalence.host import possible_here
from tests.equivalence.verdict import Verdict
from tests.services.forking import forked_starts

Try = Callable[[History], Awaitable[Verdict]]
DEVICES: dict[str, Callable[[], Device]] = {"haproxy": possible_here, "bigip": lambda: bigip.BIGIP}


def main() -> int:
    """Exit code 1 if any device with a history differs from a new one."""
    parser = argparse.ArgumentParser("python -m tests.equivalence", description=__doc__)
    parser.add_argument("--device", choices=DEVICES, default="haproxy", help="its type; default haproxy")
    parser.add_argument("--histories", type=int, default=10, help="how many; default 10")
    parser.add_argument("--first", type=int, default=1, help="the first seed; default 1")
    parser.add_argument("--seed", help="this one only")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of each history; default {STEPS}")
    parser.add_argument("--fault", choices=FAULTS, help="plant this fault")
    parser.add_argument("--shrink", action="store_true", help="leave out steps as long as it fails")
    parser.add_argument("--until-different", action="store_true", help="end with the first that fails")
    parser.add_argument("--verbose", action="store_true", help="show all histories")
    wanted = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY_DIR) as folder, forked_starts():
        return asyncio.run(_run(wanted, Path(folder)))


async def _run(wanted: argparse.Namespace, folder: Path) -> int:
    seeds = [wanted.seed] if wanted.seed else [str(wanted.first + number) for number in range(wanted.histories)]
    failed = 0
    async with contextlib.AsyncExitStack() as stack:
        attempt: Try = functools.partial(bigip.tried, folder=folder)
        if wanted.device == "haproxy":
            attempt = (await stack.enter_async_context(trial.rig(folder, wanted.fault or ""))).run
        for seed in seeds:
            begun = time.monotonic()
            verdict = await attempt(draw(seed, DEVICES[wanted.device](), steps=wanted.steps))
            word = "different" if verdict.differences else "equal"
            print(f"seed {seed}: {word} ({time.monotonic() - begun:.1f} s)", flush=True)
            if verdict.differences and wanted.shrink:
                verdict = await shrunk(attempt, verdict)
            if verdict.differences or wanted.verbose:
                print(verdict, flush=True)
            failed += bool(verdict.differences)
            if failed and wanted.until_different:
                break
    print(f"{failed} of {len(seeds)} differ")
    return 1 if failed else 0


async def shrunk(attempt: Try, verdict: Verdict) -> Verdict:
    """The verdict on a part of the history that still fails: first without its end, then without single steps."""
    best = verdict
    for size in range(1, len(verdict.history.steps)):
        tried = await attempt(best.history._replace(steps=verdict.history.steps[:size]))
        if tried.differences:
            best = tried
            break
    place = 0
    while place < len(best.history.steps):
        steps = best.history.steps
        tried = await attempt(best.history._replace(steps=(*steps[:place], *steps[place + 1 :])))
        if tried.differences:
            best = tried
        else:
            place += 1
    return best


if __name__ == "__main__":
    sys.exit(main())
