"""Compares random load balancers: ours, and those of Octavia's amphora."""

import argparse
import asyncio
import itertools
import logging
import os
import sys
import tempfile
from pathlib import Path

import structlog

from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY
from tests.devices.haproxy.configuration import HAPROXY as BINARY
from tests.equivalence.octavia.chosen import DEFINITIONS, definitions
from tests.equivalence.octavia.compare import pair
from tests.equivalence.octavia.on_purpose import reason
from tests.equivalence.verdict import shown


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.equivalence.octavia", description=__doc__)
    parser.add_argument("--definitions", type=int, default=DEFINITIONS, help=f"how many; default {DEFINITIONS}")
    parser.add_argument("--first", type=int, default=1, help="the first seed; default 1")
    wanted = parser.parse_args()
    os.environ.setdefault("EVENKEEL_TEST_HAPROXY", str(BINARY))  # the same for both
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY) as folder:
        return asyncio.run(_run(wanted, Path(folder)))


async def _run(wanted: argparse.Namespace, folder: Path) -> int:
    different = 0
    async with pair(folder) as made:
        for seed, tree in itertools.islice(definitions(wanted.first), wanted.definitions):
            reasons = {one: reason(tree, one) for one in await made.differences(tree)}
            found = [one for one, why in reasons.items() if not why]
            different += bool(found)
            print(f"seed {seed}: {'; '.join(sorted({*reasons.values()} - {''})) or 'equal'}", flush=True)
            if found:
                print(f"  {shown(tree)}", *(f"  different: {text}" for text in found), sep="\n", flush=True)
    print(f"{different} of {wanted.definitions} differ without a reason")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
