"""Compares random load balancers: ours, and those of Octavia's amphora."""

import argparse
import asyncio
import itertools
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import structlog

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from tests.devices.haproxy.configuration import HAPROXY as BINARY
from tests.equivalence.octavia.chosen import DEFINITIONS, definitions
from tests.equivalence.octavia.compare import pair
from tests.equivalence.octavia.on_purpose import reasons
from tests.equivalence.octavia.tls_cases import CASES
from tests.equivalence.verdict import shown


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.equivalence.octavia", description=__doc__)
    parser.add_argument("--definitions", type=int, default=DEFINITIONS, help=f"how many; default {DEFINITIONS}")
    parser.add_argument("--tls", metavar="TITLE", help="only cases of TLS whose title has this in it")
    parser.add_argument("--first", type=int, default=1, help="the first seed; default 1")
    wanted = parser.parse_args()
    os.environ.setdefault("EVENKEEL_TEST_HAPROXY", str(BINARY))  # the same for both
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY_DIR) as folder:
        return asyncio.run(_run(wanted, Path(folder)))


async def _run(wanted: argparse.Namespace, folder: Path) -> int:
    different = equal = 0
    async with pair(folder) as made:
        for seed, tree in _chosen(wanted):
            because = {one: reasons(tree, one) for one in await made.differences(tree)}
            found = [one for one, why in because.items() if not why]
            equal += not because
            different += bool(found)
            print(f"{seed}: {'; '.join(sorted({*itertools.chain(*because.values())})) or 'equal'}", flush=True)
            if found:
                print(f"  {shown(tree)}", *(f"  different: {text}" for text in found), sep="\n", flush=True)
    print(f"{equal} are equal, {different} differ without a reason")
    return 1 if different else 0


def _chosen(wanted: argparse.Namespace) -> Iterator[tuple[str, ServiceDefinition]]:
    """Title or seed, and load balancer."""
    if wanted.tls is not None:
        return ((title, tree) for title, tree in CASES.items() if wanted.tls in title)
    drawn = itertools.islice(definitions(wanted.first), wanted.definitions)
    return ((f"seed {seed}", tree) for seed, tree in drawn)


if __name__ == "__main__":
    sys.exit(main())
