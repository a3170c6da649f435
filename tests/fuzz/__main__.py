"""``python -m tests.fuzz``: see the package."""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.fuzz.rig import Rig


async def fuzz(directory: Path, given: argparse.Namespace) -> int:
    """Run, print, and say whether all promises were kept."""
    rig = Rig(directory)
    try:
        await rig.start()
        outcome = await rig.run(seconds=given.seconds, connections=given.connections, seed=given.seed)
    finally:
        await rig.close()
    print(msgspec.json.format(msgspec.json.encode(outcome), indent=2).decode())
    for problem in outcome.problems():
        print(f"PROBLEM: {problem}")
    print(f"seed {given.seed}: {'failed' if outcome.problems() else 'all promises kept'}")
    return 1 if outcome.problems() else 0


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--directory", type=Path, help="where logs and files are kept; else a temporary one")
    given = parser.parse_args()
    if given.directory:
        return asyncio.run(fuzz(given.directory, given))
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/tmp") as directory:
        return asyncio.run(fuzz(Path(directory), given))


if __name__ == "__main__":
    sys.exit(main())
