"""``evenkeel activity``: requests, times to ACTIVE and traffic over the last hours."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from evenkeel.cli.base import ListCommand
from evenkeel.cli.client import API_PATH
from evenkeel.cli.columns import list_table
from evenkeel.cli.series import LINE_COLUMNS, FigureLine, trend_rows
from evenkeel.core.kit.words import count_with_noun

POINT_COLUMNS = (
    "at",
    "requests",
    "failed_requests",
    "request_seconds",
    "changes",
    "time_to_active_seconds",
    "load_balancers",
    "connections",
    "active_connections",
    "bytes_in",
    "bytes_out",
    "request_errors",
)
FIGURE_TITLES = {
    "requests": "requests/s",
    "failed_requests": "failed requests/s",
    "request_seconds": "seconds per request",
    "changes": "changes",
    "time_to_active_seconds": "seconds to ACTIVE",
    "connections": "connections/s",
    "active_connections": "active connections",
    "bytes_in": "bytes in/s",
    "bytes_out": "bytes out/s",
    "request_errors": "request errors/s",
}


class ShowActivity(ListCommand):
    """Show what the controller that answers did over the last hours, as trends; with -f json and other
    formats than a table every measured point.
    """

    supports_watch = True

    def take_action(self, parsed_args: Namespace) -> Any:
        activity = self.client.get(f"{API_PATH}/activity")["activity"]
        if parsed_args.formatter != "table":
            return list_table(POINT_COLUMNS, activity["points"])
        self.app.stderr.write("".join(f"{line}\n" for line in activity_summary(activity)))
        return list_table(LINE_COLUMNS, activity_rows(activity))


def activity_summary(activity: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about the controller's requests and changes since its start, and, if there is no history,
    the reason. ``activity``: the API's answer.
    """
    requests, times = activity["requests"], activity["time_to_active"]
    yield f"since {activity['since']} UTC: {count_with_noun(requests['count'], 'request')}, {requests['failed']} failed"
    if times["count"]:
        yield (
            f"{count_with_noun(times['count'], 'change')} became ACTIVE, half of them within"
            f" {times['median_seconds']:g} s, 95 % within {times['p95_seconds']:g} s"
        )
    if activity["reason"]:
        yield f"no points: {activity['reason']}"


def activity_rows(activity: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield one row of the table, by column, for each figure that has a value in at least one point.
    ``activity``: the API's answer.
    """
    for name, title in FIGURE_TITLES.items():
        points = [point for point in activity["points"] if point[name] is not None]
        if points:
            yield from trend_rows(points, activity["interval"], [FigureLine(title, itemgetter(name))])
