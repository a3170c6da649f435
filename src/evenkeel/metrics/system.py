"""Metrics of the whole system, which every controller reads from the database: in queries use the ``max`` of
controllers, not the sum.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from evenkeel.core.control.agent_state import AgentState, agent_state
from evenkeel.core.control.agents import Agent
from evenkeel.core.control.environments import Environment, UnreachableGroup
from evenkeel.core.control.lists import LoadBalancerSummary
from evenkeel.core.control.shards import ShardCount
from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.core.kit.values import Value
from evenkeel.core.ports import OperatorStore
from evenkeel.core.tls.certificates import ReferenceQuery
from evenkeel.core.tls.own_certificates import OwnCertificate

log = structlog.get_logger(__name__)

READ_EVERY_SECONDS = 10.0
"""Shortest interval between two reads of the database, however many servers scrape."""
READ_TIMEOUT_SECONDS = 8.0
EVENTS_PER_READ = 1000
EXPIRING_DAYS = 7
REFERENCES_MAX = 1000


class SystemFigures(Value):
    """Figures of the whole system, read from the database."""

    environments: tuple[Environment, ...]
    agents: tuple[Agent, ...]
    load_balancers: LoadBalancerSummary
    shards: tuple[ShardCount, ...]
    out_of_reach: tuple[UnreachableGroup, ...]
    certificates_expiring: int
    certificates_unreadable: int
    own_certificates: tuple[OwnCertificate, ...]
    unknown_histories: int


NOTHING = SystemFigures(
    environments=(),
    agents=(),
    load_balancers=LoadBalancerSummary(by_status={}, by_operating_status={}, waiting=0, oldest_pending_seconds=0.0),
    shards=(),
    out_of_reach=(),
    certificates_expiring=0,
    certificates_unreadable=0,
    own_certificates=(),
    unknown_histories=0,
)


async def read_figures(operators: OperatorStore) -> SystemFigures:
    """Read the figures of the whole system by a constant number of queries. Raises :class:`StoreUnavailable`."""
    expiring = await operators.references(ReferenceQuery(expiring_days=EXPIRING_DAYS), limit=REFERENCES_MAX)
    unreadable = await operators.references(ReferenceQuery(unreadable=True), limit=REFERENCES_MAX)
    return SystemFigures(
        environments=await operators.environments(),
        agents=await operators.agents(),
        load_balancers=await operators.load_balancer_summary(),
        shards=await operators.shard_counts(),
        out_of_reach=await operators.unreachable_groups(),
        certificates_expiring=len(expiring),
        certificates_unreadable=len(unreadable),
        own_certificates=await operators.own_certificates(),
        unknown_histories=len((await operators.history()).unknown),
    )


class SystemCollector(Collector):
    """Prometheus collector of the figures last read from the database. If that read failed they are absent,
    and ``evenkeel_database_up`` is 0; metrics of this process, such as ``evenkeel_message_broker_up``, are
    always there.
    """

    def __init__(
        self,
        operators: OperatorStore,
        broker_problem: Callable[[], str],
        write_problem: Callable[[], str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Initialize the collector. ``broker_problem`` returns why this process cannot send messages, ``write_problem``
        why the database accepts no writes, each at the time of its call; empty if there is no problem.
        """
        self._operators = operators
        self._broker_problem = broker_problem
        self._write_problem = write_problem
        self._now = now
        self._figures: SystemFigures | None = None
        self._read_at = float("-inf")
        self._read_seconds = 0.0
        self._events: Counter[str] = Counter()
        self._newest_event: int | None = None
        self._reading = asyncio.Lock()

    async def refresh(self) -> None:
        """Read the database, unless that was done less than :data:`READ_EVERY_SECONDS` ago. A failed read is
        logged, and the figures are absent until the next one.
        """
        # concurrent scrapes share one read: the later ones wait for it and find it recent
        async with self._reading:
            begun = self._now()
            if begun - self._read_at < READ_EVERY_SECONDS:
                return
            try:
                async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                    await self._count_events()
                    self._figures = await read_figures(self._operators)
            except (EvenKeelError, TimeoutError) as error:
                self._figures = None
                log.warning("metrics of the system not read", error=str(error) or "time-out")
            # after a failure, too: scrapes must not add load to a database that fails
            self._read_at = self._now()
            self._read_seconds = self._read_at - begun

    async def _count_events(self) -> None:
        """Count events since the last read; the first read only records the newest id."""
        if self._newest_event is None:
            newest = await self._operators.events(limit=1, newest=True)
            self._newest_event = newest[-1].id if newest else 0
            return
        while found := await self._operators.events(after=self._newest_event, limit=EVENTS_PER_READ):
            self._events.update(event.kind for event in found)
            self._newest_event = found[-1].id

    # The registry calls this when the collector is registered, before anything was read.
    def describe(self) -> Iterable[Metric]:
        """Return all metric families for the registry, with zeros instead of the system's figures."""
        return self._metric_families(NOTHING)

    def collect(self) -> Iterator[Metric]:
        """Return the metric families of one exposition."""
        return self._metric_families(self._figures)

    def _metric_families(self, figures: SystemFigures | None) -> Iterator[Metric]:
        yield unlabelled_gauge(
            "evenkeel_database_up", "Whether this controller could read the database.", figures is not None
        )
        yield unlabelled_gauge("evenkeel_database_read_seconds", "Time of the last read.", self._read_seconds)
        yield unlabelled_gauge(
            "evenkeel_database_writable",
            "Whether the database accepts this controller's writes: 0 on a standby, a read-only server or a full disk.",
            not self._write_problem(),
        )
        yield unlabelled_gauge(
            "evenkeel_message_broker_up",
            "Whether the message broker accepts this controller's messages: 0 also while it blocks publishers or "
            "confirms nothing.",
            not self._broker_problem(),
        )
        events = CounterMetricFamily(
            "evenkeel_events",
            "Events of the system since this controller began, by kind: takeovers, handovers, faults.",
            labels=["kind"],
        )
        for kind, count in sorted(self._events.items()):
            events.add_metric([kind], count)
        yield events
        if figures is not None:
            yield unlabelled_gauge(
                "evenkeel_database_unknown_histories",
                "Histories that agents saw and the database never had: nothing is removed from devices meanwhile.",
                figures.unknown_histories,
            )
            yield from _load_balancer_metrics(figures)
            yield labelled_gauge(
                "evenkeel_own_certificate_ends_timestamp_seconds",
                "When a certificate of the product itself expires, by where it is shown: servers of controllers, "
                "message broker, Keystone and others that controllers need, devices.",
                ("certificate",),
                (((one.name,), one.ends_at) for one in figures.own_certificates),
            )
            yield from _agent_metrics(figures.agents)
            yield from _shard_metrics(figures.shards)
            yield from _device_metrics(figures)


def unlabelled_gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    """Build a gauge family with one value and no labels."""
    return GaugeMetricFamily(name, text, value=float(value))


def labelled_gauge(
    name: str, text: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    """Build a gauge family with labels. ``labels``: the labels' names; ``values``: (the labels' values,
    value) of each series.
    """
    family = GaugeMetricFamily(name, text, labels=labels)
    for names, value in values:
        family.add_metric(names, float(value))
    return family


def _load_balancer_metrics(figures: SystemFigures) -> Iterator[Metric]:
    counts = figures.load_balancers
    yield labelled_gauge(
        "evenkeel_load_balancers",
        "Load balancers by provisioning status.",
        ("provisioning_status",),
        (((status,), count) for status, count in sorted(counts.by_status.items())),
    )
    yield labelled_gauge(
        "evenkeel_load_balancers_operating",
        "Load balancers, by operating status.",
        ("operating_status",),
        (((status,), count) for status, count in sorted(counts.by_operating_status.items())),
    )
    yield unlabelled_gauge(
        "evenkeel_load_balancers_age_seconds",
        "How long before the read these were counted: controllers share the count. 0: for the read.",
        counts.age_seconds,
    )
    yield unlabelled_gauge(
        "evenkeel_load_balancers_waiting",
        "PENDING load balancers with a reason: more than time is needed.",
        counts.waiting,
    )
    yield unlabelled_gauge(
        "evenkeel_pending_oldest_seconds",
        "How long ago the oldest change was accepted that is still PENDING; 0: there is none.",
        counts.oldest_pending_seconds,
    )
    yield unlabelled_gauge(
        "evenkeel_certificates_expiring",
        f"Certificates in use that expire within {EXPIRING_DAYS} days, at most {REFERENCES_MAX}.",
        figures.certificates_expiring,
    )
    yield unlabelled_gauge(
        "evenkeel_certificates_unreadable",
        f"References to certificates in use that cannot be read, at most {REFERENCES_MAX}.",
        figures.certificates_unreadable,
    )


def _agent_metrics(agents: tuple[Agent, ...]) -> Iterator[Metric]:
    place = ("environment", "group", "host")

    def agent_labels(agent: Agent) -> tuple[str, ...]:
        return (agent.environment, str(agent.group_number), agent.host)

    yield labelled_gauge(
        "evenkeel_agent_state",
        "1 for the state that an agent is in, else 0.",
        (*place, "state"),
        (
            ((*agent_labels(agent), state.value), agent_state(agent) is state)
            for agent in agents
            for state in AgentState
        ),
    )
    yield labelled_gauge(
        "evenkeel_agent_reported_queue_depth",
        "Load balancers that wait at an agent, as it last reported.",
        place,
        ((agent_labels(agent), agent.queue_depth) for agent in agents),
    )
    yield labelled_gauge(
        "evenkeel_agent_acting_shards",
        "Shards that an agent serves, by the database.",
        place,
        ((agent_labels(agent), agent.acting_shards) for agent in agents),
    )
    yield labelled_gauge(
        "evenkeel_agent_capacity_score",
        "How full an agent's devices are: the highest of its metrics' shares of their limits; 1: full.",
        place,
        ((agent_labels(agent), agent.capacity_score) for agent in agents),
    )


def _shard_metrics(counts: tuple[ShardCount, ...]) -> Iterator[Metric]:
    yield labelled_gauge("evenkeel_shards", "Shards.", ("environment",), (((c.environment,), c.total) for c in counts))
    yield labelled_gauge(
        "evenkeel_shards_unserved",
        "Shards for which no live agent acts.",
        ("environment",),
        (((c.environment,), c.unserved) for c in counts),
    )


def _device_metrics(figures: SystemFigures) -> Iterator[Metric]:
    yield labelled_gauge(
        "evenkeel_devices_out_of_reach",
        "Devices of a group that no agent reaches; only groups with such devices, or without an observer.",
        ("environment", "group"),
        (((each.environment, str(each.number)), len(each.reach.away)) for each in figures.out_of_reach),
    )
    yield labelled_gauge(
        "evenkeel_environment_halted",
        "Whether an environment's circuit breaker is open.",
        ("environment",),
        (((each.name,), each.halted_at is not None) for each in figures.environments),
    )
