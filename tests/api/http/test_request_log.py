"""The audit trail: who wrote what, from where, and what became of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from evenkeel.api.app import create_app
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.core.control.environments import Environment
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.engine.statement_count import count_statements
from evenkeel.store.sql_store import SqlStore, open_store
from tests.api.client import Client, Sink

ALICE = {"X-User-Id": "u-1", "X-User-Name": "alice", "X-Project-Id": "web", "X-Roles": "member,reader"}
ROOT = {"X-User-Id": "u-0", "X-Project-Id": "ops", "X-Roles": "admin"}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = open_store(f"sqlite:///{tmp_path}/api.db")
    await opened.start()
    yield opened
    await opened.close()


@pytest.fixture
async def client(store: SqlStore) -> AsyncIterator[Client]:
    await store.operators.add_environment(Environment(name="dev", device_driver="noop"))
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=Sink(),
        default_provider="dev",
        identity=TrustedHeaders(frozenset()),
    )
    async with Client.of(app) as made:
        yield made


def told(logs: list[Any]) -> list[dict[str, Any]]:
    return [entry for entry in logs if entry["event"].startswith("write ")]


async def test_an_accepted_write_names_user_project_roles_address_and_request(client: Client) -> None:
    with capture_logs() as logs:
        answer = await client.http.post(
            "/evenkeel/v1/subnets", json={"subnet": {"name": "v", "cidr": "192.0.2.0/24"}}, headers=ROOT
        )
        await client.http.get("/evenkeel/v1/subnets", headers=ROOT)
    (entry,) = told(list(logs))
    assert answer.status_code == 201, answer.text
    assert entry.pop("milliseconds") >= 0
    assert entry == {
        "event": "write accepted",
        "log_level": "info",
        "method": "POST",
        "path": "/evenkeel/v1/subnets",
        "status": 201,
        "user": "u-0",
        "project": "ops",
        "roles": "admin",
        "address": "127.0.0.1",
        "request_id": answer.headers["x-openstack-request-id"],
    }


async def test_a_request_that_changes_no_object_is_no_write_whatever_its_method(client: Client) -> None:
    lease = {"provider": "dev", "holder": "h", "seconds": 5}
    with capture_logs() as logs:
        await client.http.post("/evenkeel/v1/mirror/statuses", json={"ids": []}, headers=ROOT)
        await client.http.put("/evenkeel/v1/mirror/lease", json=lease, headers=ROOT)
    assert told(list(logs)) == []


async def test_an_attempt_without_permission_is_in_the_trail_whatever_it_would_have_done(client: Client) -> None:
    with capture_logs() as logs:
        await client.http.post("/evenkeel/v1/mirror/statuses", json={"ids": []}, headers=ALICE)
    (entry,) = told(list(logs))
    assert (entry["event"], entry["status"], entry["user"]) == ("write refused", 403, "alice")


async def test_a_refused_write_states_why(client: Client) -> None:
    with capture_logs() as logs:
        await client.http.post("/evenkeel/v1/subnets", json={"subnet": {}}, headers=ALICE)
        await client.http.post("/v2/lbaas/loadbalancers", json={"loadbalancer": {}})
        await client.http.delete("/v2/lbaas/pools/nope", headers=ALICE)
        await client.http.post("/v2/lbaas/loadbalancers", json={"loadbalancer": {}}, headers=ALICE)
    entries = told(list(logs))
    assert [(each["event"], each["log_level"], each["status"]) for each in entries] == [
        ("write refused", "warning", status) for status in (403, 401, 404, 400)
    ]
    assert [each["user"] for each in entries] == ["alice", "", "alice", "alice"]
    assert all(each["reason"] for each in entries)


async def test_at_debug_level_every_request_is_logged_with_its_statements(client: Client, store: SqlStore) -> None:
    count_statements(store.database, enabled=True)
    with capture_logs() as logs:
        await client.http.get("/v2.0/lbaas/loadbalancers", headers=ALICE)
    count_statements(store.database, enabled=False)
    with capture_logs() as later:
        await client.http.get("/v2.0/lbaas/loadbalancers", headers=ALICE)
    (counted,), (not_counted,) = ([e for e in seen if e["event"] == "request answered"] for seen in (logs, later))
    assert counted["statements"] > 0 and not_counted["statements"] == 0
    assert counted["log_level"] == "debug" and counted["request_id"].startswith("req-")
