"""Trials of HAProxy: a number of them, one again, or the shortest part of one that fails."""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import structlog

from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY
from tests.equivalence.history import STEPS, History, draw
from tests.equivalence.host import HAPROXY
from tests.equivalence.trial import Rig, Verdict, rig


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.equivalence", description=__doc__)
    parser.add_argument("--histories", type=int, default=10, help="how many; default 10")
    parser.add_argument("--first", type=int, default=1, help="the first seed; default 1")
    parser.add_argument("--seed", help="this one only")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of each history; default {STEPS}")
    parser.add_argument("--fault", default="", help="plant this fault in the daemon")
    parser.add_argument("--shrink", action="store_true", help="leave out steps as long as it fails")
    parser.add_argument("--verbose", action="store_true", help="show the histories")
    wanted = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY) as folder:
        return asyncio.run(_run(wanted, Path(folder)))


async def _run(wanted: argparse.Namespace, folder: Path) -> int:
    seeds = [wanted.seed] if wanted.seed else [str(wanted.first + number) for number in range(wanted.histories)]
    failed = 0
    async with rig(folder, wanted.fault) as made:
        for seed in seeds:
            history = draw(seed, HAPROXY, steps=wanted.steps)
            begun = time.monotonic()
            verdict = await made.run(history)
            print(f"{seed}: {'different' if verdict.differences else 'equal'} ({time.monotonic() - begun:.1f} s)")
            if verdict.differences and wanted.shrink:
                verdict = await shrunk(made, verdict)
            if verdict.differences or wanted.verbose:
                print(told(verdict), flush=True)
            failed += bool(verdict.differences)
    print(f"{failed} of {len(seeds)} differ")
    return 1 if failed else 0


async def shrunk(made: Rig, verdict: Verdict) -> Verdict:
    """The verdict on a part of the history that still fails: first without its end, then without single steps."""
    best = verdict
    for size in range(1, len(verdict.history.steps)):
        tried = await made.run(best.history._replace(steps=verdict.history.steps[:size]))
        if tried.differences:
            best = tried
            break
    place = 0
    while place < len(best.history.steps):
        steps = best.history.steps
        tried = await made.run(best.history._replace(steps=(*steps[:place], *steps[place + 1 :])))
        if tried.differences:
            best = tried
        else:
            place += 1
    return best


def told(verdict: Verdict) -> str:
    """The history, and what was different at its end."""
    history: History = verdict.history
    lines = [f"  first: {shown(tree)}" for tree in history.first.values()]
    lines += [f"  step {number}: {shown(step)}" for number, step in enumerate(history.steps, start=1)]
    lines += [f"  different: {text}" for text in verdict.differences]
    return "\n".join(lines)


def shown(one: Any) -> str:
    """A value without its defaults."""
    if isinstance(one, msgspec.Struct):
        return f"{type(one).__name__.removeprefix('Service')}({', '.join(_fields(one))})"
    if isinstance(one, tuple) and hasattr(one, "_fields"):
        return f"{type(one).__name__}({', '.join(f'{name} {shown(value)}' for name, value in one._asdict().items())})"
    if isinstance(one, tuple):
        return f"({', '.join(map(shown, one))})"
    return repr(one)


def _fields(one: msgspec.Struct) -> Iterator[str]:
    for field in msgspec.structs.fields(one):
        value = getattr(one, field.name)
        if value != field.default and value not in ((), {}):
            yield f"{field.name} {shown(value)}"


if __name__ == "__main__":
    sys.exit(main())
