"""Two tenants never mix: one fills everything it may write with canaries, the other asks for everything there is.

``EVENKEEL_TEST_ISOLATION_REQUESTS`` sets how many requests the other makes.
"""

import json
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import Store
from evenkeel.core.resources.model import Subnet
from tests.api import bodies
from tests.api.client import Client
from tests.api.gateway import gateway
from tests.api.personas import ADMIN, OTHER, PROJECT, STRANGER
from tests.api.requests_of import Known, Route, body_of, path_of, routes

REQUESTS = int(os.environ.get("EVENKEEL_TEST_ISOLATION_REQUESTS", "3000"))
SEED = 20261121
OWN_AT_MOST = 20

CANARY = "canary-d41c"
CANARIES = (CANARY, "198.51.100.", "203.0.113.")
"""Texts, member addresses, and the private address pool with its VIPs. The other tenant never writes them."""
PRIVATE_SUBNET = Subnet(
    id="6d1c5a8f-0000-4000-8000-00000000000a",
    network_id="6d1c5a8f-0000-4000-8000-00000000000b",
    name=f"{CANARY}-subnet",
    cidr="203.0.113.0/24",
    gateway_ip="203.0.113.1",
    allocation_start="203.0.113.10",
    allocation_end="203.0.113.200",
    project_id=PROJECT,
)


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Client]:
    """The API behind a gateway; the first tenant has an address pool of its own."""
    await store.operators.add_subnet(PRIVATE_SUBNET)
    async with gateway(store) as client:
        yield client


def hidden_tree(number: int) -> dict[str, Any]:
    """A load balancer whose every free text is a canary."""
    text = {"name": f"{CANARY}-name-{number}", "description": f"{CANARY} described", "tags": [f"{CANARY}-tag"]}
    monitor = {
        "type": "HTTP",
        "delay": 5,
        "timeout": 3,
        "max_retries": 2,
        "name": f"{CANARY}-monitor",
        "url_path": f"/{CANARY}",
        "http_version": 1.1,
        "domain_name": f"{CANARY}.example",
    }
    members = [
        {"address": f"198.51.100.{host}", "protocol_port": 80, "name": f"{CANARY}-member", "tags": [f"{CANARY}-tag"]}
        for host in (1, 2)
    ]
    pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "healthmonitor": monitor, "members": members, **text}
    listener = {"protocol": "HTTP", "protocol_port": 80, "default_pool": pool, "allowed_cidrs": ["203.0.113.0/24"]}
    rule = {"type": "HEADER", "compare_type": "EQUAL_TO", "key": CANARY, "value": CANARY, "tags": [f"{CANARY}-tag"]}
    url = f"https://{CANARY}.example/"
    listener["l7policies"] = [{"action": "REDIRECT_TO_URL", "redirect_url": url, "rules": [rule], **text}]
    return bodies.load_balancer(
        project_id=PROJECT, vip_subnet_id=PRIVATE_SUBNET.id, listeners=[{**listener, **text}], **text
    )


async def make(api: Client, body: dict[str, Any]) -> Known:
    """The ids of a tree, made by the administrator."""
    root = (await api.post("/loadbalancers", body, headers=ADMIN.headers))["loadbalancer"]
    pool = root["pools"][0]
    policies = root["listeners"][0]["l7policies"]
    judging = {"l7policy": policies[0]["id"], "l7rule": policies[0]["rules"][0]["id"]} if policies else {}
    return Known(
        **judging,
        load_balancer=root["id"],
        listener=root["listeners"][0]["id"],
        pool=pool["id"],
        member=pool["members"][0]["id"],
        monitor=pool["healthmonitor"]["id"],
        agent="agent-1",
        subnet=body["loadbalancer"]["vip_subnet_id"],
    )


def weight(route: Route) -> int:
    """How often a route is asked: those that answer with tenants' objects most."""
    return 8 if route.path.startswith(("/v2/", "/neutron/")) else 1


class Prowler:
    """The other tenant: asks for anything, mostly with ids that are not its own."""

    def __init__(self, api: Client, hidden: list[Known], own: list[Known]) -> None:
        self._api = api
        self._hidden = hidden
        self._own = own
        self._random = random.Random(SEED)
        self._routes = [route for route in routes() for _ in range(weight(route))]
        self.statuses: Counter[int] = Counter()
        self.leaks: list[str] = []

    async def prowl(self) -> None:
        """Make one request and look at all of its answer."""
        pick = self._random.choice
        route = pick(self._routes)
        known = self._mixed()
        path = path_of(route, known)
        answer = await self._api.http.request(
            route.method,
            path,
            params=self._query(route, known) if "?" not in path else None,
            content=self._body(route, known),
            headers={**STRANGER.headers, "Content-Type": "application/json"},
        )
        self.statuses[answer.status_code] += 1
        seen = answer.text + str(answer.headers)
        if any(canary in seen for canary in CANARIES):
            self.leaks.append(f"{route}: {answer.status_code} {answer.text[:300]}")

    def _mixed(self) -> Known:
        """Each id from somebody: the hidden tenant's, its own, nobody's."""
        sources = [self._random.choice((*self._hidden, *self._hidden, *self._own)) for _ in Known._fields]
        picked = {name: getattr(source, name) for name, source in zip(Known._fields, sources, strict=True)}
        if self._random.random() < 0.1:
            picked[self._random.choice(Known._fields)] = self._random.choice(("nobody", "x" * 40, "%27", "0"))
        return Known(**picked)

    def _query(self, route: Route, known: Known) -> list[tuple[str, str]]:
        names = [parameter.name for parameter in route.operation.parameters]
        names += ["id", "name", "project_id", "tenant_id", "loadbalancer_id", "vip_subnet_id", "default_pool_id"]
        values = (*known, PROJECT, OTHER, "created_at:desc", "vip_address:asc", "name", "vip_address", "True", "1")
        count = self._random.choice((0, 0, 1, 2))
        return [(self._random.choice(names), self._random.choice(values)) for _ in range(count)]

    def _body(self, route: Route, known: Known) -> bytes | None:
        body = body_of(route.operation, known)
        if body is None:
            return None
        inner = body.get(next(iter(body)))
        if "loadbalancer" in body and self._random.random() < 0.7:
            inner.pop("project_id", None)
        if isinstance(inner, dict) and self._random.random() < 0.5:
            self._twist(inner, known)
        content = json.dumps(body).encode()
        return content[: self._random.randrange(len(content))] if self._random.random() < 0.05 else content

    def _twist(self, inner: dict[str, Any], known: Known) -> None:
        """Point to somebody else's things, or say that it is theirs."""
        names = ("project_id", "tenant_id", "loadbalancer_id", "listener_id", "pool_id", "default_pool_id", "subnet_id")
        for name in self._random.sample(names, 2):
            inner[name] = self._random.choice((*known, PROJECT, OTHER))
        if "vip_subnet_id" in inner:
            inner["vip_subnet_id"] = known.subnet


async def states(api: Client, known: list[Known]) -> list[Any]:
    """Everything of the hidden tenant, as the administrator sees it."""
    found = []
    for each in known:
        root = await api.get(f"/loadbalancers/{each.load_balancer}", headers=ADMIN.headers)
        tree = await api.get(f"/loadbalancers/{each.load_balancer}/status", headers=ADMIN.headers)
        children = [
            await api.get(path, headers=ADMIN.headers)
            for path in (
                f"/listeners/{each.listener}",
                f"/pools/{each.pool}",
                f"/pools/{each.pool}/members",
                f"/healthmonitors/{each.monitor}",
            )
        ]
        found.append((root, tree, children))
    return found


async def tidy(api: Client, own: list[Known]) -> None:
    """Remove what the other tenant made beyond its first ones, so that its lists stay short."""
    listed = (await api.get("/loadbalancers", headers=STRANGER.headers))["loadbalancers"]
    kept = {each.load_balancer for each in own}
    for row in listed[OWN_AT_MOST:]:
        if row["id"] not in kept:
            await api.delete(f"/loadbalancers/{row['id']}?cascade=true", headers=STRANGER.headers)


@pytest.mark.timeout(3600)
async def test_nothing_of_one_tenant_is_in_any_answer_to_another(api: Client) -> None:
    hidden = [await make(api, hidden_tree(number)) for number in range(3)]
    own = [await make(api, bodies.populated(project_id=OTHER)) for _ in range(3)]
    before = await states(api, hidden)
    assert CANARY in json.dumps(before)
    prowler = Prowler(api, hidden, own)
    for number in range(REQUESTS):
        await prowler.prowl()
        if number % 200 == 0:
            await tidy(api, own)
            own[:] = [await make(api, bodies.populated(project_id=OTHER)) for _ in range(3)]
    print(f"{REQUESTS} requests: {dict(sorted(prowler.statuses.items()))}")
    assert prowler.leaks == []
    assert await states(api, hidden) == before
    assert not any(status >= 500 and status != 501 for status in prowler.statuses)
    assert {200, 201, 204, 400, 403, 404} <= set(prowler.statuses)


async def test_private_address_pools_are_seen_by_their_tenant_only(api: Client) -> None:
    for path in ("/v2/subnets", "/v2/networks"):
        assert CANARY in str(
            await api.get(path, headers={"X-User-Id": "a", "X-Project-Id": PROJECT, "X-Roles": "member"})
        )
        assert CANARY not in str(await api.get(path, headers=STRANGER.headers))
    for field, value in (("vip_subnet_id", PRIVATE_SUBNET.id), ("vip_network_id", PRIVATE_SUBNET.network_id)):
        body = {"loadbalancer": {field: value}}
        assert "not found" in (await api.post("/loadbalancers", body, 400, headers=STRANGER.headers))["faultstring"]
    await api.get(f"/v2/subnets/{PRIVATE_SUBNET.id}", 404, headers=STRANGER.headers)


async def test_reasons_that_devices_give_name_nothing_of_another_tenant(api: Client, store: Store) -> None:
    hidden = await make(api, hidden_tree(1))
    own = await make(api, bodies.populated(project_id=OTHER))
    reason = (
        f"address 192.0.2.7 is held by load balancer {hidden.load_balancer} in partition Project_{PROJECT};"
        f" /Project_{PROJECT}/Project_{hidden.listener} is in use; {hidden.pool}"
    )
    await store.scheduling.store_unplaced_reason([LoadBalancerId(own.load_balancer)], reason)
    for path in ("/v2/lbaas/loadbalancers", f"/v2/lbaas/loadbalancers/{own.load_balancer}"):
        shown = str(await api.get(path, headers=STRANGER.headers))
        assert "address 192.0.2.7 is held by another load balancer in another partition" in shown
        assert not any(part in shown for part in (*hidden, f"Project_{PROJECT}") if len(part) > 8)
    for prefix in ("/neutron/v2.0/lbaas/loadbalancers", "/neutron/v2.0/lb/vips", "/neutron/v2.0/lb/pools"):
        answer = await api.http.get(prefix, headers=STRANGER.headers)
        assert not any(part in answer.text for part in (*hidden, f"Project_{PROJECT}") if len(part) > 8), answer.text
    operators = str(await api.get(f"/evenkeel/v1/loadbalancers/{own.load_balancer}/tree", headers=ADMIN.headers))
    assert hidden.load_balancer in operators
