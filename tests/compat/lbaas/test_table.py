"""The recorded table, played against our API: each line answers the same, or differs as it says, for a documented
reason."""

from pathlib import Path

import pytest

from tests.compat.lbaas.play import Outcome, Player
from tests.compat.lbaas.server import BASE, KNOWN, served
from tests.compat.lbaas.table import Table, tables

TABLES = tuple(tables())
REASONS = Path(__file__).parents[3] / "docs" / "reference" / "differences.md"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
async def test_answers_are_those_of_the_table(table: Table, tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        outcomes = await Player(http, BASE, KNOWN).play(table)
    wrong = [_told(each) for each in outcomes if not _as_expected(each)]
    assert not wrong, "\n".join(wrong)


def _as_expected(outcome: Outcome) -> bool:
    line = outcome.line
    if line.tag == "on purpose":
        return outcome.answer == line.ours
    return outcome.answer == line.answer and outcome.holds == line.holds


def _told(outcome: Outcome) -> str:
    line = outcome.line
    return f"{line.ask} {line.send}: {outcome.answer} {outcome.holds}, not {line.ours or line.answer} {line.holds}"


def test_the_table_is_large_and_every_difference_is_documented() -> None:
    lines = [line for table in TABLES for line in table.lines]
    assert len(lines) >= 400
    assert all(line.answer is not None for line in lines)
    page = REASONS.read_text(encoding="utf-8")
    assert {line.why for line in lines if line.why and f"| {line.why} |" not in page} == set()
