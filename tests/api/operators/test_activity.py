"""What a controller did over time, in the operators' API."""

from typing import Any

from evenkeel.api.app import create_app
from evenkeel.api.common.ports import NoTraffic
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import Store
from evenkeel.core.status.activity import (
    Activity,
    ActivityPoint,
    ActivityTotals,
    ChangeTotals,
    RequestTotals,
    TrafficSum,
)
from evenkeel.core.status.traffic import BusyLoadBalancer, TrafficSample
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client
from tests.api.operators.conftest import BASE
from tests.store.conftest import statements_of

TRAFFIC = TrafficSample(
    connections=1 / 3,
    active_connections=4,
    bytes_in=10.0,
    bytes_out=0.0,
    request_errors=0.0,
    members_online=1,
    members=2,
)


class Kept:
    """Two points: one with everything, one with nothing."""

    def activity(self) -> Activity:
        routes = {("GET", f"/{n}"): RequestTotals(count=n, failed=0, seconds=float(n)) for n in range(1, 13)}
        full = ActivityPoint(
            at=86_400.0,
            requests=2.0,
            failed_requests=0.5,
            request_seconds=0.0004,
            changes=2,
            time_to_active_seconds=1.5,
            traffic=TrafficSum(load_balancers=3, traffic=TRAFFIC),
        )
        empty = ActivityPoint(
            at=86_460.0,
            requests=0.0,
            failed_requests=0.0,
            request_seconds=None,
            changes=0,
            time_to_active_seconds=None,
            traffic=None,
        )
        changes = ChangeTotals(count=2, seconds=3.0, buckets=((1.0, 0), (2.0, 2), (float("inf"), 2)))
        return Activity(
            since=0.0,
            interval_seconds=60.0,
            totals=ActivityTotals(routes=routes, changes=changes),
            points=(full, empty),
        )


async def test_totals_and_points_are_shown(store: Store, sink: Any) -> None:
    network = BuiltinNetwork(store.operators)
    app = create_app(store=store, network=network, driver=sink, default_provider="dev", activity=Kept())
    async with Client.of(app) as api:
        shown = (await api.get(f"{BASE}/activity"))["activity"]
    assert (shown["since"], shown["interval"], shown["reason"]) == ("1970-01-01T00:00:00", 60.0, "")
    assert (shown["requests"]["count"], shown["requests"]["mean_seconds"]) == (78, 1.0)
    assert [route["route"] for route in shown["requests"]["routes"]] == [f"/{n}" for n in range(12, 2, -1)]
    assert shown["time_to_active"] == {"count": 2, "mean_seconds": 1.5, "median_seconds": 1.5, "p95_seconds": 1.95}
    full, empty = shown["points"]
    assert full == {
        "at": "1970-01-02T00:00:00",
        "requests": 2.0,
        "failed_requests": 0.5,
        "request_seconds": 0.0004,
        "changes": 2,
        "time_to_active_seconds": 1.5,
        "load_balancers": 3,
        "connections": 0.333,
        "active_connections": 4,
        "bytes_in": 10.0,
        "bytes_out": 0.0,
        "request_errors": 0.0,
    }
    assert (empty["load_balancers"], empty["connections"], empty["request_seconds"]) == (0, None, None)


async def test_the_span_may_be_chosen(store: Store, sink: Any) -> None:
    app = create_app(
        store=store, network=BuiltinNetwork(store.operators), driver=sink, default_provider="dev", activity=Kept()
    )
    async with Client.of(app) as api:
        assert len((await api.get(f"{BASE}/activity?hours=24"))["activity"]["points"]) == 2
        refused = await api.http.get(f"{BASE}/activity?hours=25")
    assert refused.status_code == 400 and "integer from 1 to 24" in refused.text


class Busy(NoTraffic):
    """One load balancer with traffic."""

    def busiest(self) -> tuple[BusyLoadBalancer, ...]:
        return (BusyLoadBalancer(load_balancer_id=LoadBalancerId("lb"), traffic=TRAFFIC),)


async def test_the_busiest_are_shown_and_only_as_many_points_as_requested(store: Store, sink: Any) -> None:
    network = BuiltinNetwork(store.operators)
    app = create_app(store=store, network=network, driver=sink, default_provider="dev", activity=Kept(), traffic=Busy())
    async with Client.of(app) as api:
        shown = [(await api.get(f"{BASE}/activity?points={count}"))["activity"] for count in (1, 5)]
        refused = await api.get(f"{BASE}/activity?points=0", 400)
    assert [len(each["points"]) for each in shown] == [1, 2]
    (busy,) = shown[0]["busiest"]
    assert (busy["load_balancer_id"], busy["connections"], busy["members"]) == ("lb", 0.333, 2)
    assert "points" in refused["description"]


async def test_activity_reads_nothing_from_the_database(api: Client, store: SqlStore) -> None:
    with statements_of(store.database) as seen:
        shown = (await api.get(f"{BASE}/activity"))["activity"]
    assert seen == [] and shown["points"] == [] and shown["reason"]
