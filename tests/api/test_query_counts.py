"""What a request costs the database depends on its kind alone, never on how much there is: for every route."""

import json
import sqlite3
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest

from evenkeel.api.policy.names import PUBLIC
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client
from tests.api.gateway import AGENT_ID, gateway, join, made
from tests.api.personas import ADMIN, PROJECT
from tests.api.requests_of import Known, Route, body_of, path_of, routes
from tests.api.stores import FILE_NAME
from tests.api.test_personas import expected
from tests.store.conftest import statements_of

SMALL, LARGE = 1, 24
"""How many of each kind there are beside the first."""
READS, WRITES, FROM_MANY_TABLES = 8, 14, 20
"""The most statements of a request that reads, of one that writes, and of a delete with everything below."""
SUMMARIES = {
    "GET /evenkeel/v1/status": 15,
    "GET /evenkeel/v1/topology": 10,
    "GET /evenkeel/v1/loadbalancers/{id}/agent": 13,
}
"""More: one statement for each thing that is summed up, of the whole system or of all agents."""
THOUSAND = 1000
REMEMBERED_SECONDS = 86_400.0
"""What providers and address pools there are is not forgotten in the middle of a test, however slow this machine is."""


@pytest.fixture
async def api(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """The API; all requests are the administrator's."""
    for kind in ("PROVIDERS", "OBJECTS"):
        name = f"evenkeel.api.common.provider_lookup.{kind}_REMEMBERED_SECONDS"
        monkeypatch.setattr(name, REMEMBERED_SECONDS)
    async with gateway(store, BuiltinNetwork(store.operators, cache_seconds=REMEMBERED_SECONDS)) as client:
        client.http.headers.update(ADMIN.headers)
        yield client


async def world(api: Client, store: SqlStore, size: int) -> Known:
    """A load balancer on its agent, with ``size`` more of everything below and beside it, of a project with a quota."""
    await api.put(f"/quotas/{PROJECT}", {"quota": {"pool": -1}}, 202)
    known = await made(api)
    await store.scheduling.place_load_balancer(known.load_balancer, "dev", PROJECT, 1, AGENT_ID)
    for path, body in (*surroundings(known, size), *of_version_one(size)):
        await api.post(path, body)
    return known


def surroundings(known: Known, size: int) -> Iterator[tuple[str, Any]]:
    """What there is more: path and body of each."""
    rule = {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}
    parent = {"loadbalancer_id": known.load_balancer, "protocol": "HTTP"}
    for number in range(size):
        member = {"address": f"10.40.0.{number + 1}", "protocol_port": 80}
        pool = {**parent, "lb_algorithm": "ROUND_ROBIN", "members": [member], "healthmonitor": bodies.MONITOR}
        yield f"/pools/{known.pool}/members", {"member": member}
        yield "/pools", {"pool": pool}
        yield "/listeners", {"listener": {**parent, "protocol_port": 2000 + number, "default_pool_id": known.pool}}
        yield "/l7policies", {"l7policy": {"listener_id": known.listener, "action": "REJECT", "rules": [rule]}}
        yield f"/l7policies/{known.l7policy}/rules", {"rule": {**rule, "value": f"/{number}"}}
        yield "/loadbalancers", bodies.populated(project_id=PROJECT)


def of_version_one(size: int) -> Iterator[tuple[str, Any]]:
    """Pools and monitors of LBaaS v1, none of which has a VIP."""
    base = "/neutron/v2.0/lb"
    pool = {"protocol": "HTTP", "lb_method": "ROUND_ROBIN", "subnet_id": bodies.SUBNET_ID, "tenant_id": PROJECT}
    monitor = {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2, "tenant_id": PROJECT}
    for _ in range(size):
        yield f"{base}/pools", {"pool": pool}
        yield f"{base}/health_monitors", {"health_monitor": monitor}


async def cost(api: Client, store: SqlStore, route: Route, known: Known) -> tuple[int, int]:
    """Status, and number of statements."""
    body = json.dumps(body_of(route.operation, known)).replace('"another"', f'"{uuid.uuid4()}"')
    with statements_of(store.database) as seen:
        answer = await api.http.request(
            route.method, path_of(route, known), content=body, headers={"Content-Type": "application/json"}
        )
    return answer.status_code, len(seen)


class Snapshot:
    """All rows of a SQLite database that nobody writes to at the moment, to be put back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(path)) as database:
            database.backup(self._rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()

    def restore(self) -> None:
        """Put the rows back; open connections see them."""
        with closing(sqlite3.connect(self._path)) as database:
            self._rows.backup(database)


async def known_to(api: Client, store: SqlStore, route: Route, known: Known) -> Known:
    """What a route needs to know. A monitor is made for a pool that has none, a drained agent is undrained, and a load
    balancer of another device group is moved.
    """
    if str(route) == "POST /evenkeel/v1/moves":
        await join(store, "agent-2", 2)
        # of another project, because load balancers of one share a device group
        elsewhere = await api.post("/loadbalancers", bodies.populated(project_id="another-project"))
        await store.scheduling.place_load_balancer(
            elsewhere["loadbalancer"]["id"], "dev", "another-project", 2, "agent-2"
        )
        return known._replace(load_balancer=elsewhere["loadbalancer"]["id"])
    if route.path.endswith("/undrain"):
        await api.put(f"/evenkeel/v1/agents/{known.agent}/drain", None)
    if str(route) == "POST /v2/lbaas/healthmonitors":
        return known._replace(pool=(await api.pool(known.load_balancer))["id"])
    return known


def most(route: Route) -> int:
    """How many statements it may take at most."""
    if str(route) in SUMMARIES:
        return SUMMARIES[str(route)]
    if route.method == "GET":
        return READS
    return FROM_MANY_TABLES if route.method == "DELETE" else WRITES


def right(route: Route) -> set[int]:
    """The statuses that the administrator should get; an agent that is not there does not answer."""
    unanswered = {503} if route.path.endswith("/plan") else set()
    # the built-in network has no floating IPs, and devices hold no orphans
    no_such = {404} if route.path.endswith(("/floatingips/{id}", "/orphans/{id}")) else set()
    return {*expected(route, ADMIN), route.operation.status, *unanswered, *no_such}


ASKED = [route for route in routes() if route.operation.rule != PUBLIC]


@pytest.mark.timeout(3600)
async def test_every_route_takes_as_many_statements_however_much_there_is(
    api: Client, store: SqlStore, tmp_path: Path
) -> None:
    costs: dict[Route, list[tuple[int, int]]] = {route: [] for route in ASKED}
    for size in (SMALL, SMALL, LARGE):  # the first one fills what is remembered
        shared = await world(api, store, size)
        with Snapshot(tmp_path / FILE_NAME) as snapshot:
            for route in ASKED:
                known = await known_to(api, store, route, shared)
                costs[route].append(await cost(api, store, route, known))
                if route.method != "GET":
                    snapshot.restore()
    print("\n".join(f"{route}: {status}, {count} statements" for route, (_, _, (status, count)) in costs.items()))
    differing = {str(route): found for route, found in costs.items() if found[1] != found[2]}
    assert differing == {}
    assert [(str(route), found) for route, found in costs.items() if found[2][1] > most(route)] == []
    refused = {str(route): found[2] for route, found in costs.items() if found[2][0] not in right(route)}
    assert refused == {}


@pytest.mark.timeout(900)
async def test_a_thousand_load_balancers_are_listed_with_three_statements(api: Client, store: SqlStore) -> None:
    for number in range(THOUSAND):
        await api.post("/loadbalancers", bodies.load_balancer(name=str(number), project_id=PROJECT))

    with statements_of(store.database) as seen:
        listed = await api.get("/loadbalancers")

    assert len(listed["loadbalancers"]) == THOUSAND
    assert len(seen) <= 3


async def test_a_monitor_of_many_pools_is_changed_with_as_many_statements_as_one_of_few(
    api: Client, store: SqlStore
) -> None:
    base, found = "/neutron/v2.0/lb", []
    for size in (SMALL, LARGE):
        monitor = {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}
        answer = await api.http.post(f"{base}/health_monitors", json={"health_monitor": monitor})
        monitor_id = answer.json()["health_monitor"]["id"]
        for _ in range(size):
            pool = {"protocol": "HTTP", "lb_method": "ROUND_ROBIN", "subnet_id": bodies.SUBNET_ID}
            made_pool = (await api.http.post(f"{base}/pools", json={"pool": pool})).json()["pool"]["id"]
            await api.http.post(
                f"{base}/pools/{made_pool}/health_monitors", json={"health_monitor": {"id": monitor_id}}
            )
        with statements_of(store.database) as seen:
            change = {"health_monitor": {"delay": 9}}
            answer = await api.http.put(f"{base}/health_monitors/{monitor_id}", json=change)
        assert len(answer.json()["health_monitor"]["pools"]) == size
        found.append(len(seen))
    assert found[0] == found[1] <= WRITES
