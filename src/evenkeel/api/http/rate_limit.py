"""Rate limit by project: a token bucket each, local to this controller. Operators have no limit.

With N controllers behind a load balancer a project gets up to N times the rate. Buckets are not shared, so a refused
request causes no query.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from evenkeel.api.responses.errors import Refusal
from evenkeel.core.kit.ids import ProjectId

MAX_PROJECTS = 10_000
"""Most token buckets, one per project. The least recently used bucket is dropped; it is full again when its project
returns.
"""


class RateLimit:
    """Rate limit by project: ``per_second`` requests on average, bursts of ``burst`` (at least 1);
    ``per_second`` 0: no limit.
    """

    def __init__(self, per_second: float, burst: int, *, monotonic: Callable[[], float] = monotonic) -> None:
        self._per_second = per_second
        self._burst = float(max(burst, 1))
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """``{project id: (remaining requests, monotonic time in seconds at which these were counted)}``."""

    def count_request(self, project_id: ProjectId) -> None:
        """Count a request of a project. Raises :class:`Refusal` (429) with a Retry-After header if the
        project is over its rate; a refused request is not counted.
        """
        if not self._per_second:
            return
        now = self._monotonic()
        # taken out and inserted again, so that the dictionary is in the order of last use
        left, at = self._buckets.pop(project_id, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        allowed = left >= 1.0
        self._buckets[project_id] = (left - 1.0 if allowed else left, now)
        if len(self._buckets) > MAX_PROJECTS:
            self._buckets.popitem(last=False)
        if not allowed:
            raise too_many_requests(math.ceil((1.0 - left) / self._per_second))


def too_many_requests(retry_after_seconds: int) -> Refusal:
    """Build the refusal (429) of a request over the limit, with a Retry-After of at least one second."""
    wait = max(retry_after_seconds, 1)
    return Refusal(429, f"Too many requests. Try again in {wait} seconds.", headers=((b"retry-after", b"%d" % wait),))


UNLIMITED = RateLimit(0.0, 1)
