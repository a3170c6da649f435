"""``evenkeel loadbalancer series``: the traffic of a load balancer over the last hours."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from evenkeel.cli.base import ListCommand
from evenkeel.cli.columns import list_table
from evenkeel.cli.load_balancers import add_load_balancer_argument, load_balancer_path
from evenkeel.core.kit.words import count_with_noun

POINT_COLUMNS = (
    "at",
    "connections",
    "active_connections",
    "bytes_in",
    "bytes_out",
    "request_errors",
    "members_online",
    "members",
)
LINE_COLUMNS = ("figure", "last", "mean", "max", "trend")
BAR_CHARACTERS = "▁▂▃▄▅▆▇█"
UNKNOWN_CHARACTER = " "
TREND_CHARACTERS = 32
UNIT_FACTORS = (("G", 1e9), ("M", 1e6), ("k", 1e3))

SeriesPoint = Mapping[str, Any]


class FigureLine(NamedTuple):
    """A line of the table: its title, and the function that reads its value from a point."""

    title: str
    value_of: Callable[[SeriesPoint], float]


FIGURE_LINES = (
    FigureLine("connections/s", lambda point: point["connections"]),
    FigureLine("active connections", lambda point: point["active_connections"]),
    FigureLine("bytes in/s", lambda point: point["bytes_in"]),
    FigureLine("bytes out/s", lambda point: point["bytes_out"]),
    FigureLine("request errors/s", lambda point: point["request_errors"]),
    FigureLine("members online", lambda point: point["members_online"]),
)


class ShowSeries(ListCommand):
    """Show the traffic of a load balancer over the last hours, as trends; with -f json and other formats than
    a table every measured point.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_load_balancer_argument(parser)

    def take_action(self, parsed_args: Namespace) -> Any:
        path = load_balancer_path(self.client, parsed_args.loadbalancer)
        series = self.client.get(f"{path}/series")
        if series["reason"]:
            self.app.stderr.write(f"no points: {series['reason']}\n")
        points = series["points"]
        if parsed_args.formatter != "table":
            return list_table(POINT_COLUMNS, points)
        if points:
            self.app.stderr.write(
                f"from {points[0]['at']} to {points[-1]['at']} UTC, {count_with_noun(len(points), 'point')}\n"
            )
        return list_table(LINE_COLUMNS, trend_rows(points, series["interval"]))


def trend_rows(
    points: Sequence[SeriesPoint], interval_seconds: float, figures: Iterable[FigureLine] = FIGURE_LINES
) -> Iterator[dict[str, str]]:
    """Yield one row of the table, by column, for each figure; none without points. ``interval_seconds``: time
    between two points.
    """
    if not points:
        return
    places = _character_indexes(points, interval_seconds)
    for title, value_of in figures:
        values = [value_of(point) for point in points]
        yield {
            "figure": title,
            "last": short_number(values[-1]),
            "mean": short_number(sum(values) / len(values)),
            "max": short_number(max(values)),
            "trend": trend_bars(values, places),
        }


def _character_indexes(points: Sequence[SeriesPoint], interval_seconds: float) -> list[int]:
    """Return, for each point, the index of its character in the trend; characters without points are gaps."""
    times = [datetime.fromisoformat(point["at"]).timestamp() for point in points]
    step = max(interval_seconds, (times[-1] - times[0]) / (TREND_CHARACTERS - 1)) or 1.0
    return [round((time - times[0]) / step) for time in times]


def trend_bars(values: Sequence[float], character_indexes: Sequence[int]) -> str:
    """Return the trend as a text of bars: each is as high as the mean of its values, relative to the highest
    mean. ``character_indexes``: index of each value's character; characters without values are spaces.
    """
    by_place: dict[int, list[float]] = {}
    for place, value in zip(character_indexes, values, strict=True):
        by_place.setdefault(place, []).append(value)
    means = {place: sum(each) / len(each) for place, each in by_place.items()}
    # All values may be zero.
    most = max(means.values()) or 1.0
    heights = {place: BAR_CHARACTERS[round(mean / most * (len(BAR_CHARACTERS) - 1))] for place, mean in means.items()}
    return "".join(heights.get(place, UNKNOWN_CHARACTER) for place in range(max(means) + 1))


def short_number(value: float) -> str:
    """Format a value with three significant digits, from 1000 on with the suffix k, M or G."""
    for unit, size in UNIT_FACTORS:
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
