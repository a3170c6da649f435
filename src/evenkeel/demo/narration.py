"""The demo's output: timestamped lines, and on a terminal a live view of agents, traffic and events below them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from evenkeel.demo.traffic import TrafficCounts

EVENTS_SHOWN = 6

Row = Mapping[str, Any]


@dataclass
class LiveView:
    """Content of the live view: agents and events as the operators' API lists them, and the totals of the
    traffic.
    """

    agents: Sequence[Row] = ()
    events: Sequence[Row] = ()
    counts: TrafficCounts = field(default_factory=TrafficCounts)


class ProgressPrinter:
    """Prints the demo's output as plain lines, for pipes and logs. ``picture``: content of the live view,
    which this class does not show.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self.picture = LiveView()

    def say(self, text: str) -> None:
        """Print one line, with the seconds since the demo began."""
        self._console.print(f"[dim]{time.monotonic() - self._began:6.1f} s[/dim]  {escape(text)}", soft_wrap=True)

    def show(self, text: str) -> None:
        """Print the text unchanged, without the time."""
        self._console.print(escape(text), soft_wrap=True)

    def table(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        """Print a table of two columns; ``rows``: (name, value)."""
        table = Table(title=title, title_justify="left", show_header=False)
        for name, value in rows:
            table.add_row(escape(name), escape(value))
        self._console.print(table)

    def refresh(self) -> None:
        """Redraw the live view after a change, if there is one."""

    def close(self) -> None:
        """End the output; a plain narrator has nothing to end."""


class LiveProgressPrinter(ProgressPrinter):
    """Narrator that scrolls its lines above a live view of the cluster."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live = Live(self._render_picture(), console=console, refresh_per_second=4, transient=True)
        self._live.start()

    def refresh(self) -> None:
        self._live.update(self._render_picture())

    def close(self) -> None:
        """Remove the live view; the lines stay."""
        self._live.stop()

    def _render_picture(self) -> RenderableType:
        return render_live_view(self.picture)


def open_progress_printer() -> ProgressPrinter:
    """Return a narrator for standard output, with a live view on a terminal."""
    console = Console(highlight=False)
    return LiveProgressPrinter(console) if console.is_terminal else ProgressPrinter(console)


def render_live_view(picture: LiveView) -> RenderableType:
    """Render the live view: agents, traffic and the newest :data:`EVENTS_SHOWN` events."""
    agents = Table(title="agents", title_justify="left")
    for name in ("host", "state", "shards: acting", "home", "load balancers", "queue"):
        agents.add_column(name)
    for row in picture.agents:
        state = "[green]alive[/green]" if row["alive"] else "[red]down[/red]"
        numbers = (row["acting_shards"], row["home_shards"], row["load_balancers"], row["queue_depth"])
        agents.add_row(escape(row["host"]), state, *map(str, numbers))
    counts = picture.counts
    colour = "red" if counts.failed else "green"
    share = ", ".join(f"{name} {count}" for name, count in sorted(counts.answers.items()))
    traffic = f"requests: {counts.sent} sent, [{colour}]{counts.failed} failed[/{colour}]  [dim]{escape(share)}[/dim]"
    events = "\n".join(f"[dim]event[/dim] {escape(row['text'])}" for row in picture.events[-EVENTS_SHOWN:])
    return Group(agents, traffic, events)
