"""Record the table from a live judge: ``python -m tests.compat.lbaas.record URL KNOWN [TABLE ...]``.

``KNOWN`` is a file of JSON with the ids of what the judge has, by the names of :data:`.server.KNOWN`. Only
files whose first line names a live server are recorded; the others are written by hand.
"""

import asyncio
import json
import sys
from pathlib import Path

import httpx
import structlog
from msgspec.structs import replace

from tests.compat.lbaas.play import Outcome, Player
from tests.compat.lbaas.table import Line, Table, tables, write

log = structlog.get_logger(__name__)
LIVE = "live"


def recorded(outcome: Outcome) -> Line:
    """The line with the judge's answer."""
    return replace(outcome.line, answer=outcome.answer, holds=outcome.holds, message=outcome.message)


async def record(url: str, known: dict[str, str], names: list[str]) -> None:
    """Play the tables against the judge, and write them with its answers."""
    async with httpx.AsyncClient(base_url=url, timeout=60.0) as http:
        for table in tables():
            if table.source.source.endswith(LIVE) and (not names or table.name in names):
                outcomes = await Player(http, "/v2.0", known).play(table)
                write(Table(name=table.name, source=table.source, lines=tuple(recorded(each) for each in outcomes)))
                log.info("recorded", table=table.name, lines=len(outcomes))


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), sys.argv[3:]))
