"""Metrics of single load balancers."""

from prometheus_client import CollectorRegistry, generate_latest

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.status.traffic import TrafficReading, TrafficTotals
from evenkeel.metrics.load_balancers import TrafficCollector
from evenkeel.metrics.system import READ_EVERY_SECONDS


class Reports:
    """Totals of three load balancers."""

    def __init__(self) -> None:
        self.down = False
        self.limits: list[int] = []

    async def read_traffic(self, *, limit: int) -> TrafficReading:
        self.limits.append(limit)
        if self.down:
            raise StoreUnavailable("the database is gone")
        totals = [
            TrafficTotals(
                load_balancer_id=LoadBalancerId(f"lb-{number}"),
                group=("dev", 1),
                statistics=ListenerStatistics(total_connections=number, bytes_in=2**40, active_connections=9),
                members_online=1 if number else None,
                members=2,
            )
            for number in range(3)
        ]
        return TrafficReading(groups=(), load_balancers=tuple(totals[:limit]), counted=3)


class World:
    """A collector of two of them."""

    def __init__(self) -> None:
        self.reports = Reports()
        self.now = 0.0
        self.collector = TrafficCollector(self.reports, limit=2, now=lambda: self.now)  # type: ignore[arg-type]
        self._registry = CollectorRegistry()
        self._registry.register(self.collector)

    async def lines(self, seconds: float = READ_EVERY_SECONDS) -> list[str]:
        self.now += seconds
        await self.collector.refresh()
        return [line for line in generate_latest(self._registry).decode().splitlines() if line[0] != "#"]


async def test_each_has_its_totals_and_those_above_the_bound_are_counted() -> None:
    lines = await World().lines()
    assert 'evenkeel_load_balancer_connections_total{load_balancer="lb-1"} 1.0' in lines
    assert 'evenkeel_load_balancer_bytes_in_total{load_balancer="lb-0"} 1.099511627776e+12' in lines
    assert 'evenkeel_load_balancer_active_connections{load_balancer="lb-0"} 9.0' in lines
    assert 'evenkeel_load_balancer_members_online{load_balancer="lb-1"} 1.0' in lines
    of_unseen = [line for line in lines if line.startswith("evenkeel_load_balancer_members") and "lb-0" in line]
    assert of_unseen == ['evenkeel_load_balancer_members{load_balancer="lb-0"} 2.0']
    assert "evenkeel_load_balancers_left_out 1.0" in lines
    assert not [line for line in lines if "lb-2" in line]
    assert len(lines) == 2 * 7


async def test_the_database_is_read_at_intervals_whoever_scrapes() -> None:
    world = World()
    await world.lines()
    await world.lines(seconds=1.0)
    assert world.reports.limits == [2]


async def test_without_the_database_there_are_none() -> None:
    world = World()
    await world.lines()
    world.reports.down = True
    assert await world.lines() == []
