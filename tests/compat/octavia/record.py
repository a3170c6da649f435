"""Records the answers of a stock Octavia, and ours where they differ: ``python -m tests.compat.octavia.record``.

Fails for a difference that no rule in :mod:`tests.compat.octavia.on_purpose` explains, after the table is written: it
then shows what is to be mended.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from tests.compat.compare import differences
from tests.compat.octavia.on_purpose import reason
from tests.compat.octavia.stock import OctaviaServer, installed
from tests.compat.octavia.stories import all_requests
from tests.compat.octavia.world import EXTRAS, our_answers, stock_answers, without_addresses
from tests.compat.table import Line, stories, write

TABLE = Path(__file__).with_name("table.jsonl")


async def recorded(url: str) -> AsyncIterator[Line]:
    """Every line with both answers."""
    for story, lines in stories(all_requests()):
        expected = await stock_answers(url, lines)
        with tempfile.TemporaryDirectory() as directory:
            ours = await our_answers(Path(directory), lines)
        print(story, len(lines), flush=True)
        for line, answer, own in zip(lines, expected, ours, strict=True):
            yield tagged(replace(line, expected=answer, ours=own))


def tagged(line: Line) -> Line:
    """The line, with our own answer and the reason only where it differs."""
    assert line.expected is not None and line.ours is not None
    if not differences(line.expected, line.ours, EXTRAS):
        return replace(line, ours=None)
    return replace(line, ours=replace(line.ours, body=without_addresses(line.ours.body)), on_purpose=reason(line))


async def record() -> int:
    """The number of differences without a reason."""
    server = OctaviaServer(installed())
    server.start()
    try:
        lines = [line async for line in recorded(server.url)]
    finally:
        server.close()
    write(TABLE, lines)
    unexplained = [line for line in lines if line.ours is not None and not line.on_purpose]
    for line in unexplained:
        assert line.expected is not None and line.ours is not None
        print(line, *differences(line.expected, line.ours, EXTRAS), sep="\n    ")
    print(
        f"{len(lines)} requests, {sum(bool(line.on_purpose) for line in lines)} on purpose, {len(unexplained)} to mend"
    )
    return len(unexplained)


if __name__ == "__main__":
    sys.exit(asyncio.run(record()) > 0)
