"""The live view's lines, cut to a width and a height."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.text import Text

from evenkeel.cli.base import reachable_devices_text
from evenkeel.cli.columns import ID_PATTERN, SHORT_ID_CHARACTERS, escape_controls
from evenkeel.cli.series import short_number
from evenkeel.cli.top.snapshot import TopSnapshot

PLAIN_ROWS_MAX = 10
"""Maximum number of rows of a section on a screen without a height limit."""
COLUMN_GAP = "  "
BAD_STYLE = "bold red"
NOTABLE_STYLE = "yellow"
GOOD_STYLE = "green"
NOTABLE_EVENTS = ("takeover", "taken_over", "handover", "shard_", "vanished", "halted", "unreachable", "overdue")
"""Words in the kinds of events that are highlighted."""

RowCells = Sequence[str]


class ScreenSection(NamedTuple):
    """A part of the view with a title. ``rows``: its lines; ``last``: if not all fit, the last rows are shown
    instead of the first.
    """

    title: str
    rows: Sequence[Text]
    last: bool = False


def screen_lines(
    snapshot: TopSnapshot, *, unreachable_reason: str = "", width: int | None = None, height: int | None = None
) -> list[Text]:
    """Return the lines of a view. ``unreachable_reason``: why no controller answers now, empty if one does; ``width``
    (characters) and ``height`` (lines): limits of the terminal; None: no line is cut, or each section has
    at most 10 rows.
    """
    lines = list(_head_lines(snapshot, unreachable_reason))
    sections = [section for section in _screen_sections(snapshot) if section.rows]
    counts = _row_counts(sections, None if height is None else height - len(lines))
    for section, count in zip(sections, counts, strict=True):
        if count:
            lines += [Text(section.title, style="bold"), *_visible_rows(section, count)]
    if width is not None:
        for line in lines:
            line.truncate(width, overflow="ellipsis")
    return lines if height is None else lines[:height]


def _visible_rows(section: ScreenSection, count: int) -> list[Text]:
    """Return ``count`` lines of a section: its last rows if ``section.last``, else its first. The last line
    has the number of rows left out, unless the rows are the last ones or there is only one line.
    """
    more = len(section.rows) - count
    if not more:
        return list(section.rows)
    if section.last:
        return list(section.rows[-count:])
    if count == 1:
        return [section.rows[0]]
    return [*section.rows[: count - 1], Text(f"{COLUMN_GAP}… {more + 1} more", style="dim")]


def _row_counts(sections: Sequence[ScreenSection], height: int | None) -> list[int]:
    """Return the number of rows for each section, besides its title: one row each in turn until the height is
    used up.
    """
    if height is None:
        return [min(len(section.rows), PLAIN_ROWS_MAX) for section in sections]
    shares = [0] * len(sections)
    left = height
    while True:
        before = left
        for at, section in enumerate(sections):
            needed = 1 if shares[at] else 2  # the first row needs the title, too
            if shares[at] < len(section.rows) and left >= needed:
                shares[at] += 1
                left -= needed
        if left == before:
            return shares


def _head_lines(snapshot: TopSnapshot, unreachable_reason: str) -> Iterator[Text]:
    status = snapshot.status
    if unreachable_reason:
        yield _escaped_line(f"LOST: {unreachable_reason}; trying again. As of {snapshot.at}:", BAD_STYLE)
    else:
        yield _escaped_line(f"Even Keel at {snapshot.at}", "bold")
    oldest = status["oldest_pending_seconds"]
    pending = f", oldest change waits {oldest:.0f} s" if oldest else ""
    yield _escaped_line(f"load balancers: {_counts_text(status['load_balancers'])}{pending}")
    shards, agents = status["shards"], status["agents"]
    yield _escaped_line(
        f"operating: {_counts_text(status['load_balancers_operating'])}; shards: {shards['total']},"
        f" {shards['unserved']} unserved; agents: {agents['up']} up, {agents['down']} silent or stopped"
    )


def _screen_sections(snapshot: TopSnapshot) -> Iterator[ScreenSection]:
    problems = snapshot.status["problems"]
    # On a line of its own, for one line would often be cut before the remedy.
    found = [
        _escaped_line(text, style)
        for problem in problems
        for text, style in (
            (f"{COLUMN_GAP}{problem['text']}", BAD_STYLE),
            (f"{COLUMN_GAP}{COLUMN_GAP}{problem['remedy']}", ""),
        )
    ]
    yield ScreenSection("Problems", found or [_escaped_line(f"{COLUMN_GAP}Nothing is wrong.", GOOD_STYLE)])
    agents = sorted(snapshot.agents, key=_agent_sort_key)
    yield ScreenSection(
        "Agents",
        _aligned_rows(
            [_agent_cells(row) for row in agents],
            ["" if row["state"] == "up" else BAD_STYLE if not row["alive"] else NOTABLE_STYLE for row in agents],
        ),
    )
    yield ScreenSection(
        "Waiting for their devices (PENDING)", _aligned_rows([_waiting_cells(row) for row in snapshot.pending])
    )
    yield ScreenSection("Busiest load balancers", _aligned_rows([_busy_cells(row) for row in snapshot.busiest]))
    yield ScreenSection("Events", [_event_line(row) for row in snapshot.events], last=True)


def _agent_sort_key(agent: Mapping[str, Any]) -> tuple[bool, bool, int, str]:
    """Return the sort key of an agent: silent ones first, then others that are not up, then by the most load
    balancers.
    """
    return agent["alive"], agent["state"] == "up", -agent["load_balancers"], agent["host"]


def _agent_cells(row: Mapping[str, Any]) -> RowCells:
    return (
        row["host"],
        f"{row['environment']}/{row['group_number']}",
        row["state"],
        f"devices {reachable_devices_text(row) or '?'}",
        f"shards {row['acting_shards']}",
        f"LBs {row['load_balancers']}",
        f"queue {row['queue_depth'] or 0}",
    )


def _waiting_cells(row: Mapping[str, Any]) -> RowCells:
    since = f"since {row['updated_at'] or row['created_at']}Z"
    return row["name"] or row["id"], row["provisioning_status"], since, row["status_reason"]


def _busy_cells(row: Mapping[str, Any]) -> RowCells:
    return (
        row["name"] or row["load_balancer_id"],
        f"{short_number(row['connections'])} conn/s",
        f"{row['active_connections']} open",
        f"in {short_number(row['bytes_in'])}B/s",
        f"out {short_number(row['bytes_out'])}B/s",
        f"members {row['members_online']}/{row['members']}",
    )


def _event_line(row: Mapping[str, Any]) -> Text:
    notable = any(part in row["kind"] for part in NOTABLE_EVENTS)
    # Commands accept the beginnings of ids, and whole ones would leave no space for what happened.
    text = ID_PATTERN.sub(lambda found: found[0][:SHORT_ID_CHARACTERS], row["text"])
    return _escaped_line(f"{COLUMN_GAP}{row['at'].rpartition('T')[2]}Z  {text}", NOTABLE_STYLE if notable else "")


def _aligned_rows(rows: Sequence[RowCells], styles: Sequence[str] = ()) -> list[Text]:
    """Return one line per row, with the cells aligned in columns. ``styles``: the style of each row; empty:
    none.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _escaped_line(COLUMN_GAP + COLUMN_GAP.join(map(str.ljust, row, widths)).rstrip(), styles[at] if styles else "")
        for at, row in enumerate(rows)
    ]


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "none"


def _escaped_line(text: str, style: str = "") -> Text:
    """Return the text as one line with control characters escaped, because tenants and devices choose parts of it."""
    return Text(escape_controls(text), style=style, no_wrap=True, end="")
