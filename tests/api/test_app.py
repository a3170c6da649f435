"""What holds for every request: ids, limits, types, methods, errors."""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from evenkeel.api.app import ROUTES, Application, create_app
from evenkeel.api.identity.caller import Caller
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.ports import Store
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import LBAAS, Client, Sink

JSON = {"Content-Type": "application/json"}


async def test_every_answer_has_its_own_request_id(api: Client) -> None:
    seen = set()
    for method, path in (("GET", "/"), ("GET", "/nowhere"), ("PATCH", LBAAS + "/pools"), ("OPTIONS", LBAAS + "/pools")):
        answer = await api.http.request(method, path)
        seen.add(answer.headers["x-openstack-request-id"])
    assert len(seen) == 4 and all(item.startswith("req-") and len(item) == 40 for item in seen)


@pytest.mark.parametrize("content", [b"{", b"nonsense", b'{"loadbalancer": {}', b"\xff\xfe", b"[" * 50_000])
async def test_broken_json_is_refused(api: Client, content: bytes) -> None:
    answer = await api.http.post(f"{LBAAS}/loadbalancers", content=content, headers=JSON)
    assert answer.status_code == 400 and answer.json()["faultcode"] == "Client"
    assert "JSON" in answer.json()["faultstring"]


@pytest.mark.parametrize("body", [[], "x", 1, None, {}, {"pool": {}}, {"loadbalancer": None}, {"loadbalancer": []}])
async def test_body_of_another_shape_is_refused(api: Client, body: object) -> None:
    answer = await api.http.post(f"{LBAAS}/loadbalancers", content=json.dumps(body), headers=JSON)
    assert answer.status_code == 400 and answer.json()["faultcode"] == "Client"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"])
async def test_other_content_types_are_refused(api: Client, kind: str) -> None:
    answer = await api.http.post(f"{LBAAS}/pools", content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415


async def test_content_type_may_have_a_charset(api: Client) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    await api.post("/loadbalancers", bodies.load_balancer(), headers=headers)


async def test_only_json_is_available(api: Client) -> None:
    answer = await api.http.get(f"{LBAAS}/pools", headers={"Accept": "text/html"})
    assert answer.status_code == 406 and answer.json()["code"] == 406
    for accept in ("*/*", "application/*;q=0.1", "text/html, application/json;q=0.5", "text/html,*/*;q=0.8"):
        assert (await api.http.get(f"{LBAAS}/pools", headers={"Accept": accept})).status_code == 200


async def test_unknown_path_and_method_have_the_other_error_body(api: Client) -> None:
    assert (await api.get("/nowhere", 404))["title"] == "Not Found"
    allowed = "DELETE, GET, OPTIONS, POST, PUT"
    answer = await api.http.request("PATCH", f"{LBAAS}/loadbalancers")
    assert answer.status_code == 405 and answer.json()["code"] == 405
    assert answer.headers["allow"] == allowed
    for method in ("DELETE", "PUT"):  # as in Octavia
        answer = await api.http.request(method, f"{LBAAS}/loadbalancers")
        assert (answer.status_code, answer.json()["faultstring"]) == (400, 'Missing argument: "id"')
    assert (await api.http.head(f"{LBAAS}/loadbalancers")).status_code == 405
    options = await api.http.options(f"{LBAAS}/loadbalancers")
    assert (options.status_code, options.headers["allow"]) == (204, allowed)


async def test_body_over_the_limit_is_refused_by_its_length(api: Client) -> None:
    answer = await api.http.post(f"{LBAAS}/pools", content=b" " * ((1 << 20) + 1), headers=JSON)
    assert answer.status_code == 413 and str(1 << 20) in answer.json()["faultstring"]


async def test_body_of_unknown_length_is_refused_while_it_is_read(app: Application) -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while taken < 1000:
            taken += 1
            yield b" " * 65536

    async with Client.of(app) as api:
        answer = await api.http.post(f"{LBAAS}/pools", content=endless(), headers=JSON)
    assert answer.status_code == 413


async def test_body_that_does_not_arrive_is_given_up(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.api.http.bodies.BODY_TIMEOUT_SECONDS", 0.01)

    async def stalled() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    answer = await api.http.post(f"{LBAAS}/pools", content=stalled(), headers=JSON)
    assert answer.status_code == 408


async def test_body_in_pieces_is_put_together(api: Client) -> None:
    content = json.dumps(bodies.load_balancer()).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 7):
            yield content[start : start + 7]

    answer = await api.http.post(f"{LBAAS}/loadbalancers", content=pieces(), headers=JSON)
    assert answer.status_code == 201


async def test_database_out_of_reach_is_503_with_retry_after(
    api: Client, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*args: object, **kwargs: object) -> None:
        raise StoreUnavailable("the database is busy or out of reach")

    monkeypatch.setattr(store.tenants, "list", gone)
    monkeypatch.setattr(store.database, "query", gone)
    for path in (f"{LBAAS}/loadbalancers", "/healthz"):
        answer = await api.http.get(path)
        assert answer.status_code == 503 and answer.headers["retry-after"] == "5"
        assert answer.json()["faultcode"] == "Server"


async def test_unexpected_error_tells_only_the_request_id_and_is_logged(
    api: Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("internal detail")

    monkeypatch.setattr(store.tenants, "list", broken)
    with capture_logs() as logs:
        answer = await api.http.get(f"{LBAAS}/loadbalancers")
    request_id = answer.headers["x-openstack-request-id"]
    assert answer.status_code == 500 and "internal detail" not in answer.text and request_id in answer.text
    events = [entry["event"] for entry in logs if entry["request_id"] == request_id]
    assert events == ["request failed", "request answered"] and len(logs) == 2


# -- callers who see one project only


@pytest.fixture
async def scoped(store: Store, sink: Sink) -> AsyncIterator[Client]:
    """A client that may only see project p1."""

    class Member:
        async def identify(self, headers: object, scope: object) -> Caller:
            return Caller(project_id="p1", roles=("member",))

    app = create_app(
        store=store, network=BuiltinNetwork(store.operators), driver=sink, default_provider="dev", identity=Member()
    )
    async with Client.of(app) as client:
        yield client


async def test_scoped_caller_sees_and_changes_only_its_project(api: Client, scoped: Client) -> None:
    mine = await scoped.load_balancer()
    other = await api.load_balancer(project_id="p2")
    assert mine["project_id"] == "p1"
    assert (await scoped.get("/loadbalancers"))["loadbalancers"] == [mine]
    assert (await scoped.get("/loadbalancers?project_id=p2"))["loadbalancers"] == []
    await scoped.get(f"/loadbalancers/{other['id']}", 403)
    await scoped.put(f"/loadbalancers/{other['id']}", {"loadbalancer": {"name": "x"}}, 403)
    await scoped.delete(f"/loadbalancers/{other['id']}", 403)
    await scoped.get("/loadbalancers/nobody", 404)
    await scoped.post("/loadbalancers", bodies.load_balancer(project_id="p2"), 403)
    body = {"loadbalancer_id": other["id"], "protocol": "HTTP", "protocol_port": 80}
    await scoped.post("/listeners", {"listener": body}, 403)


async def test_scoped_caller_is_no_operator(scoped: Client) -> None:
    await scoped.get("/evenkeel/v1/agents", 403)


async def test_provider_is_needed_where_there_is_no_default(store: Store, sink: Sink) -> None:
    app = create_app(store=store, network=BuiltinNetwork(store.operators), driver=sink, default_provider="")
    async with Client.of(app) as client:
        answer = await client.post("/loadbalancers", bodies.load_balancer(), 400)
        assert "provider" in answer["faultstring"]
        await client.load_balancer(provider="dev")


async def test_ids_are_injected(store: Store, sink: Sink) -> None:
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        new_id=lambda: "the-id",
    )
    async with Client.of(app) as client:
        assert (await client.load_balancer())["id"] == "the-id"
    assert (await store.tenants.get(LoadBalancer, "the-id", project_id=None)).name == "lb"


async def test_every_path_allows_the_methods_of_its_own_operations(api: Client) -> None:
    methods: dict[str, set[str]] = {}
    for route_map in ROUTES:
        for operation, prefix in itertools.product(route_map.operations, route_map.prefixes):
            methods.setdefault((prefix + operation.path) or "/", {"OPTIONS"}).add(operation.method)
    for path, allowed in methods.items():
        answer = await api.http.options(re.sub(r"\{\w+\}", "x", path))
        assert (answer.status_code, answer.headers["allow"]) == (204, ", ".join(sorted(allowed))), path


def test_no_two_operations_have_one_path() -> None:
    seen = [
        (operation.method, re.sub(r"\{\w+\}", "{}", prefix + operation.path))
        for route_map in ROUTES
        for operation in route_map.operations
        for prefix in route_map.prefixes
    ]
    assert len(seen) == len(set(seen)), sorted({each for each in seen if seen.count(each) > 1})


@pytest.mark.parametrize("base", ["/v2/lbaas", "/v2.0/lbaas", "/v2", "/v2.0"])
async def test_octavias_paths_are_served_with_and_without_lbaas(api: Client, base: str) -> None:
    for kind in ("loadbalancers", "flavors", "providers", "availabilityzones"):
        answer = await api.http.get(f"{base}/{kind}")
        assert answer.status_code == 200 and next(iter(answer.json())).replace("_", "") == kind
