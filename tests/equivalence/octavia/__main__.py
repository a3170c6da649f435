"""Compares random load balancers: ours, and those of Octavia's amphora."""

import argparse
import asyncio
import logging
import os
import sys
import tempfile
from pathlib import Path

import structlog

from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY
from tests.devices.haproxy.configuration import HAPROXY as BINARY
from tests.equivalence.history import draw
from tests.equivalence.host import HAPROXY
from tests.equivalence.octavia.compare import pair
from tests.equivalence.octavia.on_purpose import reason
from tests.equivalence.verdict import shown

WITHOUT_CERTIFICATES = ("HTTP", "TCP", "HTTPS")
"""Protocols of the listeners that are compared."""


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.equivalence.octavia", description=__doc__)
    parser.add_argument("--definitions", type=int, default=60, help="how many; default 60")
    parser.add_argument("--first", type=int, default=1, help="the first seed; default 1")
    wanted = parser.parse_args()
    os.environ.setdefault("EVENKEEL_TEST_HAPROXY", str(BINARY))  # the same for both
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY) as folder:
        return asyncio.run(_run(wanted, Path(folder)))


async def _run(wanted: argparse.Namespace, folder: Path) -> int:
    compared = different = 0
    seed = wanted.first
    async with pair(folder) as made:
        while compared < wanted.definitions:
            tree = next(iter(draw(str(seed), HAPROXY, steps=0).first.values()))
            seed += 1
            if any(one.protocol not in WITHOUT_CERTIFICATES for one in tree.listeners):
                continue
            differences = await made.differences(tree)
            reasons = {one: reason(tree, one) for one in differences}
            found = [one for one, why in reasons.items() if not why]
            compared, different = compared + 1, different + bool(found)
            print(f"seed {seed - 1}: {'; '.join(sorted({*reasons.values()} - {''})) or 'equal'}", flush=True)
            if found:
                print(f"  {shown(tree)}", *(f"  different: {text}" for text in found), sep="\n", flush=True)
    print(f"{different} of {compared} differ without a reason")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
