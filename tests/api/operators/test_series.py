"""The traffic of a load balancer over time, in the operators' API."""

from typing import Any

from evenkeel.api.app import create_app
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import Store
from evenkeel.core.status.traffic import ListenerSeries, TrafficPoint, TrafficSeries
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client
from tests.store.conftest import statements_of

BASE = "/evenkeel/v1"


class Kept:
    """A series with one point, of any load balancer."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def series(self, load_balancer_id: LoadBalancerId) -> TrafficSeries:
        self.asked.append(load_balancer_id)
        point = TrafficPoint(
            at=86_400.0,
            connections=1 / 3,
            active_connections=4,
            bytes_in=10.0,
            bytes_out=0.0,
            request_errors=0.05,
            members_online=1,
            members=2,
        )
        listener = ListenerSeries(listener_id="listener", points=(point,))
        return TrafficSeries(interval_seconds=60.0, points=(point,), listeners=(listener,))


async def test_points_are_shown_with_their_times(store: Store, sink: Any) -> None:
    kept = Kept()
    network = BuiltinNetwork(store.operators)
    app = create_app(store=store, network=network, driver=sink, default_provider="dev", traffic=kept)
    async with Client.of(app) as api:
        id_ = (await api.load_balancer())["id"]
        shown = await api.get(f"{BASE}/loadbalancers/{id_}/series")
    assert kept.asked == [id_]
    (point,) = shown["points"]
    assert (shown["interval"], shown["reason"]) == (60.0, "")
    of_listener = {
        "at": "1970-01-02T00:00:00",
        "connections": 0.333,
        "active_connections": 4,
        "bytes_in": 10.0,
        "bytes_out": 0.0,
        "request_errors": 0.05,
    }
    assert point == of_listener | {"members_online": 1, "members": 2}
    assert shown["listeners"] == [{"listener_id": "listener", "points": [of_listener]}]


async def test_a_process_without_series_reports_it(api: Client) -> None:
    id_ = (await api.load_balancer())["id"]
    shown = await api.get(f"{BASE}/loadbalancers/{id_}/series")
    assert shown["points"] == [] and shown["reason"]


async def test_one_that_does_not_exist_is_not_found(api: Client) -> None:
    fault = await api.get(f"{BASE}/loadbalancers/00000000-0000-0000-0000-000000000000/series", status=404)
    assert "Load Balancer" in fault["faultstring"]


async def test_series_takes_one_statement(api: Client, store: SqlStore) -> None:
    id_ = (await api.load_balancer())["id"]
    with statements_of(store.database) as seen:
        await api.get(f"{BASE}/loadbalancers/{id_}/series")
    assert len(seen) == 1
