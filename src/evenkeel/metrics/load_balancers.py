"""Metrics of single load balancers, enabled by an option: their number is bounded, and their only label is the load
balancer's id.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.core.ports import ReportStore
from evenkeel.core.status.traffic import TrafficReading, TrafficTotals
from evenkeel.metrics.system import READ_EVERY_SECONDS, READ_TIMEOUT_SECONDS

log = structlog.get_logger(__name__)

LABEL = "load_balancer"
NOTHING = TrafficReading(groups=(), load_balancers=(), counted=0)

Figure = tuple[str, str, Callable[[TrafficTotals], int | None]]
_COUNTERS: tuple[Figure, ...] = (
    (
        "evenkeel_load_balancer_connections",
        "Connections to a load balancer, as its devices counted them. Lower than before: a device restarted.",
        lambda totals: totals.statistics.total_connections,
    ),
    (
        "evenkeel_load_balancer_bytes_in",
        "Bytes from clients of a load balancer.",
        lambda totals: totals.statistics.bytes_in,
    ),
    (
        "evenkeel_load_balancer_bytes_out",
        "Bytes to clients of a load balancer.",
        lambda totals: totals.statistics.bytes_out,
    ),
    (
        "evenkeel_load_balancer_request_errors",
        "Requests to a load balancer that its devices could not serve.",
        lambda totals: totals.statistics.request_errors,
    ),
)
_GAUGES: tuple[Figure, ...] = (
    (
        "evenkeel_load_balancer_active_connections",
        "Open connections to a load balancer.",
        lambda totals: totals.statistics.active_connections,
    ),
    ("evenkeel_load_balancer_members", "Members of a load balancer.", lambda totals: totals.members),
    (
        "evenkeel_load_balancer_members_online",
        "Members of a load balancer that take new connections: ONLINE, or without a health monitor; absent while nobody"
        " observes its devices.",
        lambda totals: totals.members_online,
    ),
)


class TrafficCollector(Collector):
    """Prometheus collector of load balancers' totals, as last read from the database; if that read failed
    there are none.
    """

    def __init__(self, reports: ReportStore, *, limit: int, now: Callable[[], float] = time.monotonic) -> None:
        """Initialize the collector. ``limit``: most load balancers shown, the oldest ones; at least 1."""
        self._reports = reports
        self._limit = limit
        self._now = now
        self._read_at = float("-inf")
        self._reading: TrafficReading | None = None
        self._turn = asyncio.Lock()

    async def refresh(self) -> None:
        """Read the database, unless that was done less than :data:`READ_EVERY_SECONDS` ago. A failed read is
        logged, and the totals are absent until the next one.
        """
        # Concurrent scrapes share one read: the later ones wait for it and find it recent.
        async with self._turn:
            if self._now() - self._read_at < READ_EVERY_SECONDS:
                return
            try:
                async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                    self._reading = await self._reports.read_traffic(limit=self._limit)
            except (EvenKeelError, TimeoutError) as error:
                self._reading = None
                log.warning("metrics of load balancers not read", error=str(error) or "time-out")
            self._read_at = self._now()

    def describe(self) -> Iterable[Metric]:
        """Return all metric families, without values of load balancers, for the registry."""
        return _metric_families(NOTHING)

    def collect(self) -> Iterator[Metric]:
        """Return the metric families of one exposition; none if the last read failed."""
        return iter(()) if self._reading is None else _metric_families(self._reading)


def _metric_families(reading: TrafficReading) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "evenkeel_load_balancers_left_out",
        "Load balancers with traffic that have no metrics of their own: above load_balancers_max of [metrics].",
        value=float(reading.counted - len(reading.load_balancers)),
    )
    for kind, figures in ((CounterMetricFamily, _COUNTERS), (GaugeMetricFamily, _GAUGES)):
        for name, text, value_of in figures:
            family = kind(name, text, labels=[LABEL])
            for totals in reading.load_balancers:
                if (value := value_of(totals)) is not None:
                    family.add_metric([totals.load_balancer_id], float(value))
            yield family
