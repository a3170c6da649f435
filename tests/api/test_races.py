"""Many clients of two controllers ask for the same at once: what the API promises holds, whoever comes first."""

# ruff: noqa: F811 - a test's arguments are the fixtures that are imported here

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx
import pytest

from evenkeel.api.app import create_app
from evenkeel.core.resources.model import Member
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.stack import Stack
from tests.api.subnet import SUBNET
from tests.store.conftest import (  # noqa: F401
    WITH_GALERA,
    database_url,
    galera_template,
    mariadb_template,
    other_database_url,
    other_store,
    postgresql_template,
    sqlite_template,
    store,
)

MANY = 50
QUOTA = 10
TRIES = 20
ADDRESS = "10.10.7.7"
LBAAS = "/v2/lbaas"

pytestmark = pytest.mark.timeout(900)  # the first test of a process starts servers


@pytest.fixture(params=WITH_GALERA)
def backend(request: pytest.FixtureRequest) -> str:
    """Which database; the controllers are at both nodes of a cluster."""
    return str(request.param)


class Controllers(NamedTuple):
    """Two controllers' APIs over one database, and what their drivers were told."""

    first: Client
    second: Client
    sink: Sink

    async def together(self, method: str, path: str, body: Any) -> list[httpx.Response]:
        """The answers to ``MANY`` requests at once, ``body(number)`` each, half of them by each controller."""
        calls = (
            _settled((self.first, self.second)[number % 2].http, method, LBAAS + path, body(number))
            for number in range(MANY)
        )
        return await asyncio.gather(*calls)


async def _settled(http: httpx.AsyncClient, method: str, url: str, body: Any) -> httpx.Response:
    """The answer. Nodes of a cluster roll one of two back that meet, and processes wait only so long for the file of
    SQLite; who always loses is told 503, to try again."""
    for _ in range(TRIES):
        answer = await http.request(method, url, json=body)
        if answer.status_code != 503:
            break
    return answer


@pytest.fixture
async def both(store: SqlStore, other_store: SqlStore) -> AsyncIterator[Controllers]:
    """Two controllers over the same database."""
    await store.operators.add_subnet(SUBNET)
    sink = Sink()
    apps = [
        create_app(store=at, network=BuiltinNetwork(at.operators), driver=sink, default_provider="prod")
        for at in (store, other_store)
    ]
    async with Client.of(apps[0]) as first, Client.of(apps[1]) as second:
        yield Controllers(first, second, sink)


def statuses(answers: list[httpx.Response]) -> dict[int, int]:
    return dict(Counter(answer.status_code for answer in answers))


def on_one_address(number: int) -> dict[str, Any]:
    """A load balancer with a listener on a port of the one address."""
    listener = {"protocol": "HTTP", "protocol_port": 80}
    return bodies.load_balancer(name=f"lb-{number}", vip_address=ADDRESS, listeners=[listener])


async def test_of_many_creates_of_one_vip_and_port_one_is_made(both: Controllers) -> None:
    answers = await both.together("POST", "/loadbalancers", on_one_address)

    assert statuses(answers) == {201: 1, 409: MANY - 1}
    faults = {answer.json()["faultstring"] for answer in answers if answer.status_code == 409}
    assert all(ADDRESS in fault and "in use" in fault for fault in faults)
    (root,) = (await both.first.get("/loadbalancers"))["loadbalancers"]
    assert root["vip_address"] == ADDRESS and len(root["listeners"]) == 1
    assert len((await both.second.get("/listeners"))["listeners"]) == 1


async def test_of_many_listeners_on_one_port_one_is_made(both: Controllers) -> None:
    root = await both.first.load_balancer()
    body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 80}

    answers = await both.together("POST", "/listeners", lambda _: {"listener": body})

    assert statuses(answers) == {201: 1, 409: MANY - 1}
    assert len((await both.second.get("/listeners"))["listeners"]) == 1


def batch(number: int) -> dict[str, Any]:
    """A pool's members in full: no two requests have an address in common, nor as many."""
    return {"members": [{"address": f"10.30.{number}.{host + 1}", "protocol_port": 80} for host in range(number + 1)]}


async def test_of_batch_replaces_at_once_the_last_accepted_stands_whole(both: Controllers) -> None:
    root = await both.first.load_balancer()
    pool = await both.first.pool(root["id"])

    answers = await both.together("PUT", f"/pools/{pool['id']}/members", batch)

    assert statuses(answers) == {202: MANY}
    accepted = [change for change in both.sink.changes if change.revision > 2]
    last = max(accepted, key=lambda change: change.revision)
    assert sorted(change.revision for change in accepted) == list(range(3, MANY + 3))
    shown = {row["address"] for row in (await both.second.get(f"/pools/{pool['id']}/members"))["members"]}
    assert shown == {row.address for row in last.resources if isinstance(row, Member) and not row.deleted}
    assert shown in [{member["address"] for member in batch(number)["members"]} for number in range(MANY)]
    assert len((await both.first.get(f"/pools/{pool['id']}"))["pool"]["members"]) == len(shown)


async def test_of_many_creates_as_many_are_made_as_the_quota_allows(both: Controllers) -> None:
    await both.first.put("/quotas/default", {"quota": {"load_balancer": QUOTA}}, 202)

    answers = await both.together("POST", "/loadbalancers", lambda number: bodies.load_balancer(project_id="default"))

    assert statuses(answers) == {201: QUOTA, 403: MANY - QUOTA}
    assert len((await both.second.get("/loadbalancers"))["loadbalancers"]) == QUOTA


async def test_real_controllers_make_one_of_many_on_one_address(stack: Stack) -> None:
    assert len(stack.urls) == 2
    limits = httpx.Limits(max_connections=MANY)
    async with httpx.AsyncClient(timeout=120.0, limits=limits) as http:
        calls = (
            _settled(http, "POST", f"{stack.urls[number % 2]}{LBAAS}/loadbalancers", on_one_address(number))
            for number in range(MANY)
        )
        answers = await asyncio.gather(*calls)
        assert statuses(answers) == {201: 1, 409: MANY - 1}
        (made,) = [answer.json()["loadbalancer"]["id"] for answer in answers if answer.status_code == 201]
        gone = await http.delete(f"{stack.url}{LBAAS}/loadbalancers/{made}", params={"cascade": "true"})
        assert gone.status_code == 204
