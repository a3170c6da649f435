"""Our API answers as the table says: as a stock Octavia, or otherwise on purpose."""

from pathlib import Path

import pytest

from tests.compat.compare import differences
from tests.compat.octavia.record import TABLE
from tests.compat.octavia.stories import all_requests
from tests.compat.octavia.world import EXTRAS, our_answers
from tests.compat.table import Line, read, request_of, stories

STORIES = dict(stories(read(TABLE)))
DIFFERENCES = Path("docs/reference/differences.md")
REQUESTS_AT_LEAST = 600


def wrong(line: Line, problems: list[str]) -> list[str]:
    """In words; none: the answer is the expected one."""
    return [f"{line} {'[on purpose]' if line.on_purpose else ''}\n    " + "\n    ".join(problems)] if problems else []


@pytest.mark.parametrize("story", STORIES)
async def test_every_answer_is_octavias_or_differs_on_purpose(story: str, tmp_path: Path) -> None:
    lines = STORIES[story]
    found: list[str] = []
    for line, got in zip(lines, await our_answers(tmp_path, lines), strict=True):
        assert line.expected is not None
        if line.on_purpose:
            assert line.ours is not None
            found += wrong(line, differences(line.ours, got, EXTRAS))
        else:
            found += wrong(line, differences(line.expected, got, EXTRAS))
    assert not found, "\n".join(found)


def test_the_table_is_of_these_requests() -> None:
    recorded = [request_of(line) for lines in STORIES.values() for line in lines]
    plain = [Line(**{**vars(line), "on_purpose": ""}) for line in recorded]
    assert plain == all_requests(), "run python -m tests.compat.octavia.record"
    assert len(plain) >= REQUESTS_AT_LEAST


def test_differences_are_rows_of_the_page() -> None:
    listed = [row.split("|")[1].strip() for row in DIFFERENCES.read_text().splitlines() if row.startswith("|")]
    named = {line.on_purpose for lines in STORIES.values() for line in lines if line.on_purpose}
    assert named <= set(listed), f"not in {DIFFERENCES}: {sorted(named - set(listed))}"
    differing = [line for lines in STORIES.values() for line in lines if line.ours is not None]
    assert all(line.on_purpose for line in differing), [str(line) for line in differing if not line.on_purpose]
