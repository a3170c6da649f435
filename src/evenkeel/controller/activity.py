"""Series of this controller's API requests, changes and the total traffic: a ring of points in memory."""

import time
from collections import deque
from collections.abc import Callable
from math import ceil

from evenkeel.controller.settings import TrafficSettings
from evenkeel.core.status.activity import Activity, ActivityPoint, ActivityTotals, TrafficSum
from evenkeel.metrics.activity import activity_totals

DAY_SECONDS = 86_400.0
POINTS_MAX = 5_760
"""Maximum number of points that a controller keeps of itself, 3 MB: a day with intervals of 15 s. A higher number of
points of load balancers (``series.points``) applies to these, too.
"""


class ActivityRecorder:
    """Records points of requests, changes and traffic, each the difference of this controller's totals since
    the previous poll. ``wall`` returns seconds since the epoch.
    """

    def __init__(
        self,
        settings: TrafficSettings,
        totals: Callable[[], ActivityTotals] = activity_totals,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._totals = totals
        self._since = wall()
        self._before: ActivityTotals | None = None
        # A day, though series of load balancers, of which there are many, are shorter.
        day = min(POINTS_MAX, ceil(DAY_SECONDS / settings.interval_seconds))
        self._points: deque[ActivityPoint] = deque(maxlen=max(1, settings.points, day))

    def activity(self) -> Activity:
        """Return this controller's totals and points, oldest first, with the reason if there are no points.
        Any thread may call it.
        """
        return Activity(
            since=self._since,
            interval_seconds=self._settings.interval_seconds,
            totals=self._totals(),
            points=tuple(self._points),
            reason="" if self._points else self._reason_without_points(),
        )

    def _reason_without_points(self) -> str:
        if not self._settings.points:
            return "this controller keeps no series: series.points is 0"
        return f"this controller began less than two intervals of {self._settings.interval_seconds:g} s ago"

    def record_poll(self, at: float, seconds: float, traffic: TrafficSum | None) -> None:
        """Record a poll that ended ``at`` (seconds since the epoch), ``seconds`` after the previous one; the
        first poll gives no point. ``traffic``: sum over all load balancers; None: unknown.
        """
        now, before = self._totals(), self._before
        self._before = now
        # The first totals contain everything since the process began, which is no rate.
        if before is not None:
            self._points.append(_activity_point(at, seconds, before, now, traffic))


def _activity_point(
    at: float, seconds: float, before: ActivityTotals, now: ActivityTotals, traffic: TrafficSum | None
) -> ActivityPoint:
    then, total = before.requests(), now.requests()
    requests = total.count - then.count
    changes = now.changes.count - before.changes.count
    return ActivityPoint(
        at=at,
        requests=requests / seconds,
        failed_requests=(total.failed - then.failed) / seconds,
        request_seconds=(total.seconds - then.seconds) / requests if requests else None,
        changes=changes,
        time_to_active_seconds=(now.changes.seconds - before.changes.seconds) / changes if changes else None,
        traffic=traffic,
    )
