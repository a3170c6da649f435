"""``python -m tests.sim``: one seed with its event log, or many at once."""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import chain

from tests.sim.run import BIGIP, LOSSES, NETWORKS, REPLACED, SILENT, TENANTS, Result, run_seed

CHUNK = 10
KINDS = {
    "bigip": (BIGIP, "the BIG-IP driver"),
    "networks": (NETWORKS, "networks that projects share"),
    "losses": (LOSSES, "a database that loses commits"),
    "tenants": (TENANTS, "new tenants, late hints and a database that loses commits"),
    "silent": (SILENT, "devices that fall silent"),
    "replaced": (REPLACED, "a database that is replaced by another one"),
}
"""Options: the prefix of the seeds, and what it means."""


def main() -> int:
    """Entry point. Exit code 1 if a seed fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seed", help="run this one")
    parser.add_argument("--trace", action="store_true", help="with --seed: print what happened")
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="run that many")
    parser.add_argument("--first", type=int, default=1, metavar="S", help="the first of them")
    for name, (_, text) in KINDS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"with --seeds: all with {text}")
    parser.add_argument("--jobs", type=int, default=4, metavar="J", help="processes")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return one(arguments.seed, trace=arguments.trace)
    if arguments.seeds < 1:
        parser.error("--seed or --seeds is needed")
    prefix = next((prefix for name, (prefix, _) in KINDS.items() if getattr(arguments, name)), "")
    seeds = [f"{prefix}{number}" for number in range(arguments.first, arguments.first + arguments.seeds)]
    return many(seeds, jobs=arguments.jobs)


def one(seed: str, *, trace: bool) -> int:
    """Run one seed and say everything about it."""
    result = run_seed(seed, tracing=trace)
    if trace:
        for moment, *what in result.trace:
            print(f"{moment - 1000.0:9.4f}", *what)
    for violation in result.violations:
        print("VIOLATION", violation)
    print(f"seed {seed}: {result.virtual_seconds:.1f} virtual seconds, trace {result.digest[:16]}")
    print("  ", _figures(result.counts))
    print("   faults:", _figures(result.faults))
    return 1 if result.violations else 0


def chunk(seeds: list[str]) -> list[Result]:
    """Several seeds in one worker; their event logs stay there."""
    return [run_seed(seed)._replace(trace=[]) for seed in seeds]


def many(seeds: list[str], *, jobs: int) -> int:
    """Run seeds in parallel: failing ones with the command that repeats them, then the figures."""
    begun = time.monotonic()
    counts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    failed: list[Result] = []
    done, hours = 0, 0.0
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(jobs) as pool:
        for result in chain.from_iterable(pool.map(chunk, chunks)):
            done += 1
            hours += result.virtual_seconds / 3600
            counts += result.counts
            faults += result.faults
            if result.violations:
                failed.append(result)
                print(f"FAILED {result.command}\n       {result.violations[0]}", flush=True)
            if done % 200 == 0:
                print(f"{done} of {len(seeds)}, {len(failed)} failed, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"runs {done}, failed {len(failed)}, violations {sum(len(each.violations) for each in failed)}")
    print(f"virtual hours {hours:.1f}, real seconds {time.monotonic() - begun:.0f}")
    print(_figures(counts))
    print("faults:", sum(faults.values()), "-", _figures(faults))
    return 1 if failed else 0


def _figures(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counted.items()))


if __name__ == "__main__":
    sys.exit(main())
