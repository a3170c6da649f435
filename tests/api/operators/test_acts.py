"""Operators' acts are events with the user's name and id, the request id and the client's address."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evenkeel.api.app import ROUTES, Application, create_app
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.core.ports import Store
from evenkeel.devices.noop.capabilities import CAPABILITIES as NOOP
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.bodies import SUBNET_ID
from tests.api.client import LBAAS, Client, Sink
from tests.api.operators.conftest import BASE, Join
from tests.api.stores import FILE_NAME
from tests.key_managers.authority import LEAF

ALICE = {"X-User-Id": "u-1", "X-User-Name": "alice", "X-Roles": "admin", "X-Project-Id": "operations"}
NETWORK = {"id": "net-1", "name": "blue", "network_type": "vlan", "physical_network": "p", "segmentation_id": 7}
SUBNET = {"id": "sub-1", "name": "pool", "cidr": "192.0.2.0/24", "network_id": "net-9"}
PEM = LEAF.pem.decode()


class Act(NamedTuple):
    """One request of an operator, and the event that it leaves. ``{lb}`` and ``{shard}`` in paths are replaced."""

    method: str
    path: str
    kind: str
    text: str
    """The event's text up to the user."""
    status: int = 200
    body: Any = None


AGENT = "agent host-of-a-1 (a-1)"
FLAVOR_PROFILE = {"name": "fp", "provider_name": "dev", "flavor_data": "{}"}
ZONE_PROFILE = {"name": "zp", "provider_name": "dev", "availability_zone_data": "{}"}

IMPORTED = "0000000a-0000-4000-8000-000000000000"

ACTS = (
    Act("PUT", f"{BASE}/agents/a-1/drain", "agent_drained", f"{AGENT} was drained"),
    Act("PUT", f"{BASE}/agents/a-1/undrain", "agent_undrained", f"{AGENT} was undrained"),
    Act(
        "PUT",
        f"{BASE}/agents/a-1",
        "agent_drained",
        f"{AGENT} was drained",
        body={"agent": {"admin_state_up": False}},
    ),
    Act(
        "PUT",
        f"{BASE}/agents/a-1/force-down",
        "agent_forced_down",
        f"{AGENT} was marked down",
        body={"down": True},
    ),
    Act(
        "PUT",
        f"{BASE}/agents/a-1/failback",
        "agent_failback",
        f"{AGENT} was asked to take its shards back",
    ),
    Act(
        "PUT",
        f"{BASE}/agents/a-1/rebind",
        "agent_rebound",
        f"2 shards of {AGENT} were rebound to agent host-of-a-2 (a-2)",
        body={"to": "a-2"},
    ),
    Act(
        "PUT",
        f"{BASE}/shards/{{shard}}/rebind",
        "shard_rebound",
        f"the shard of project p1 on device group dev/1 was rebound to {AGENT}",
        body={"to": "a-1"},
    ),
    Act(
        "PUT",
        f"{BASE}/listeners/{{listener}}/irules",
        "irules_changed",
        "the iRules of listener",
        body={"irules": ["/Common/says"]},
    ),
    Act("POST", f"{BASE}/shards/{{shard}}/adoption", "adoption_requested", "", 409, {"adoption": {"apply": True}}),
    Act("PUT", f"{LBAAS}/loadbalancers/{{lb}}/failover", "load_balancer_failover", "a failover of load balancer", 202),
    Act(
        "POST",
        f"{BASE}/environments",
        "environment_added",
        "environment lab was added",
        201,
        {"environment": {"name": "lab", "device_driver": "noop"}},
    ),
    Act(
        "PUT",
        f"{BASE}/environments/lab",
        "environment_changed",
        "environment lab was changed",
        body={"environment": {"breaker_agents": 9}},
    ),
    Act("PUT", f"{BASE}/environments/lab/resume", "environment_resumed", "environment lab was resumed"),
    Act("DELETE", f"{BASE}/environments/lab", "environment_deleted", "environment lab was deleted", 204),
    Act("POST", f"{BASE}/database/new-history", "history_begun", "the database lost commits"),
    Act(
        "POST",
        f"{BASE}/database/histories/other/accept",
        "history_accepted",
        "history other, which this database never had, was accepted",
    ),
    Act("DELETE", f"{BASE}/orphans/lost", "orphan_removed", "the removal of a load balancer", 204),
    Act("POST", f"{BASE}/networks", "network_added", "network blue (net-1) was added", 201, {"network": NETWORK}),
    Act(
        "PUT",
        f"{BASE}/networks/net-1",
        "network_updated",
        "network blue (net-1) was changed",
        body={"network": {"mtu": 1400}},
    ),
    Act("DELETE", f"{BASE}/networks/net-1", "network_deleted", "network net-1 was deleted", 204),
    Act("POST", f"{BASE}/subnets", "subnet_added", "subnet pool (sub-1) was added", 201, {"subnet": SUBNET}),
    Act(
        "PUT",
        f"{BASE}/subnets/sub-1",
        "subnet_changed",
        "the addresses for devices of subnet pool (sub-1) were set",
        body={"subnet": {"device_addresses": ["192.0.2.200"]}},
    ),
    Act("DELETE", f"{BASE}/subnets/sub-1", "subnet_deleted", "subnet sub-1 was deleted", 204),
    Act(
        "POST",
        f"{BASE}/certificates",
        "certificate_added",
        "certificate www of project p1 was added",
        201,
        {"certificate": {"project_id": "p1", "name": "www", "pem": PEM, "private_key": LEAF.key_pem().decode()}},
    ),
    Act(
        "DELETE",
        f"{BASE}/certificates/p1/www",
        "certificate_deleted",
        "certificate www of project p1 was deleted",
        204,
    ),
    Act(
        "PUT",
        f"{LBAAS}/quotas/p1",
        "quota_changed",
        "quotas of project p1 were set",
        202,
        {"quota": {"loadbalancer": 5}},
    ),
    Act("DELETE", f"{LBAAS}/quotas/p1", "quota_changed", "quotas of project p1 were set", 202),
    Act(
        "POST",
        f"{LBAAS}/flavorprofiles",
        "flavor_profile_added",
        "flavor profile fp",
        201,
        {"flavorprofile": FLAVOR_PROFILE},
    ),
    Act(
        "POST",
        f"{LBAAS}/availabilityzoneprofiles",
        "availability_zone_profile_added",
        "availability zone profile zp",
        201,
        {"availability_zone_profile": ZONE_PROFILE},
    ),
    Act(
        "POST",
        f"{BASE}/references/refresh",
        "references_refreshed",
        "a new read from the key manager was requested",
        202,
        {"refresh": {"reference": "secret"}},
    ),
    Act(
        "POST",
        f"{BASE}/moves",
        "move_preparing",
        "the move of load balancer",
        body={"move": {"project_id": "p1", "environment": "dev", "to_group": 2, "apply": True}},
    ),
    Act("PUT", f"{BASE}/moves/{{lb}}/back", "move_back_requested", "the move of load balancer"),
    Act("PUT", f"{BASE}/moves/{{lb}}/finish", "move_finish_requested", "the move of load balancer"),
    Act(
        "PUT",
        f"{BASE}/imports/loadbalancers/{IMPORTED}",
        "loadbalancer_imported",
        f"load balancer {IMPORTED} of project p1 was imported",
        200,
        {
            "apply": True,
            "held": True,
            "loadbalancer": {
                "project_id": "p1",
                "provider": "dev",
                "vip_subnet_id": SUBNET_ID,
                "vip_address": "10.10.200.1",
            },
        },
    ),
    Act(
        "PUT",
        f"{BASE}/imports/loadbalancers/{IMPORTED}/held",
        "loadbalancer_released",
        f"load balancer {IMPORTED} was released",
        200,
        {"held": False},
    ),
    Act(
        "PUT",
        f"{BASE}/imports/loadbalancers/{IMPORTED}/held",
        "loadbalancer_held",
        f"load balancer {IMPORTED} is held",
        200,
        {"held": True},
    ),
    Act(
        "DELETE",
        f"{BASE}/imports/loadbalancers/{IMPORTED}",
        "loadbalancer_discarded",
        f"load balancer {IMPORTED} was held, and is deleted",
        204,
    ),
    Act("DELETE", f"{BASE}/agents/a-2", "agent_deleted", "agent host-of-a-2 (a-2) was deleted", 204),
)
NO_ACTS = {
    ("POST", f"{BASE}/loadbalancers/{{id}}/plan"): "reads",
    ("POST", f"{BASE}/shards/{{id}}/orphans"): "reads",
    ("POST", f"{BASE}/mirror/check"): "reads",
    ("POST", f"{BASE}/mirror/check-flavor"): "reads",
    ("POST", f"{BASE}/mirror/check-availability-zone"): "reads",
    ("POST", f"{BASE}/mirror/statuses"): "reads",
    ("POST", f"{BASE}/mirror/statistics"): "reads",
    ("PUT", f"{BASE}/mirror/loadbalancers/{{id}}"): "a tenant's change, of which an Octavia has the user",
    ("DELETE", f"{BASE}/mirror/loadbalancers/{{id}}"): "a tenant's deletion, of which an Octavia has the user",
    ("POST", f"{BASE}/mirror/vip-ports"): "part of a tenant's creation, of which an Octavia has the user",
    ("PUT", f"{BASE}/mirror/lease"): "a program renews it every second or two",
    (
        "PUT",
        f"{BASE}/certificates/{{project_id}}/{{name}}/revoke",
    ): "test_tenants_certificates has its event",
}


@pytest.fixture
def app(store: Store, sink: Sink, tmp_path: Path) -> Application:
    """The application behind a gateway that names users, with a directory of certificates."""
    return create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        identity=TrustedHeaders(),
        certificates=DirectoryKeyManager(tmp_path / "certificates", Encryption([bytes(32)])),
        capabilities={"noop": NOOP},
    )


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """The store's file, to make states that no request makes."""
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as connection:
        yield connection


async def prepare(api: Client, store: Store, join: Join, database: sqlite3.Connection) -> dict[str, str]:
    """Agents a-1 and a-2, a load balancer whose shard a-2 serves for a-1, an unknown history and an orphan; the ids."""
    api.http.headers.update(ALICE)
    await join("a-1")
    await join("a-2")
    await join("m-1", group_number=2, endpoints=("10.0.0.2",))
    lb = (await api.load_balancer(project_id="p1"))["id"]
    assert await store.scheduling.place_load_balancer(lb, "dev", "p1", 1, "a-1") is not None
    (shard,) = [one.id for one in await store.operators.shards() if one.project_id]
    database.execute("UPDATE shard SET acting_agent_id = 'a-2'")
    database.execute("INSERT INTO other_history VALUES ('other', 'unknown', 0, 'a-1')")
    database.execute(
        "INSERT INTO orphaned_load_balancer (shard_id, load_balancer_id, found_at, seen_at, removal)"
        " VALUES (?, 'lost', 0, 9e9, 0)",
        (shard,),
    )
    database.execute(
        "INSERT INTO certificate (id, project_id, reference, kind, sha256, announced_sha256, problem, checked_at,"
        " next_check_at) VALUES ('c', 'p1', 'secret', 'certificate', 'a', 'a', '', 0, 9e9)"
    )
    database.execute(
        "INSERT INTO certificate_use (owner_id, certificate_id, load_balancer_id) VALUES ('o', 'c', ?)", (lb,)
    )
    listener = (await api.listener(lb))["id"]
    return {"lb": lb, "shard": shard, "listener": listener}


async def act(api: Client, one: Act, ids: dict[str, str], database: sqlite3.Connection) -> tuple[str, dict[str, Any]]:
    """The request's id, and the newest event after it."""
    if one.kind == "environment_resumed":
        database.execute("UPDATE environment SET halted_at = 1, halted_reason = 'test' WHERE name = 'lab'")
    if one.kind == "adoption_requested":
        database.execute("UPDATE agent SET session_expires_at = 0 WHERE id = 'a-2'")
    answer = await api.http.request(one.method, one.path.format(**ids), json=one.body)
    assert answer.status_code == one.status, f"{one.path}: {answer.text}"
    (event,) = (await api.get(f"{BASE}/events?newest=true&limit=1"))["events"]
    return answer.headers["x-openstack-request-id"], event


async def test_each_act_is_an_event_with_user_request_and_address(
    api: Client, store: Store, join: Join, database: sqlite3.Connection
) -> None:
    ids = await prepare(api, store, join, database)
    for one in ACTS:
        request_id, event = await act(api, one, ids, database)
        assert event["kind"] == one.kind
        who = {name: event[name] for name in ("user_name", "user_id", "request_id", "client_address")}
        assert who == {
            "user_name": "alice",
            "user_id": "u-1",
            "request_id": request_id,
            "client_address": "127.0.0.1",
        }, one
        assert event["text"].startswith(one.text), event["text"]
        assert "by alice" in event["text"] or ": alice states" in event["text"], event["text"]


def test_each_route_of_operators_that_writes_is_an_act_or_states_why_not() -> None:
    writes = {
        (operation.method, f"{prefix}{operation.path}")
        for routes in ROUTES
        for prefix in routes.prefixes
        for operation in routes.operations
        if operation.method != "GET" and prefix == BASE
    }
    acts = {(one.method, one.path) for one in ACTS}
    tested = {route for route in writes if any(_matches(route, one) for one in acts)}
    assert writes - tested == NO_ACTS.keys()


def _matches(route: tuple[str, str], one: tuple[str, str]) -> bool:
    wanted, given = route[1].split("/"), one[1].split("/")
    return (
        route[0] == one[0]
        and len(wanted) == len(given)
        and all(left == right or left.startswith("{") for left, right in zip(wanted, given, strict=True))
    )


@pytest.mark.parametrize("by", ["alice", "u-1"])
async def test_events_are_listed_by_user_and_by_user_and_object(
    api: Client, store: Store, join: Join, database: sqlite3.Connection, by: str
) -> None:
    await prepare(api, store, join, database)
    for path in ("a-1/drain", "a-2/drain", "a-1/undrain"):
        await api.put(f"{BASE}/agents/{path}", None)
    bob = ALICE | {"X-User-Id": "u-2", "X-User-Name": "bob"}
    await api.put(f"{BASE}/agents/a-2/undrain", None, headers=bob)

    async def kinds(query: str) -> list[tuple[str, str]]:
        found = (await api.get(f"{BASE}/events?{query}"))["events"]
        return [(event["kind"], event["agent_id"]) for event in found]

    every = [("agent_drained", "a-1"), ("agent_drained", "a-2"), ("agent_undrained", "a-1")]
    assert await kinds(f"by={by}") == every
    assert await kinds(f"by={by}&newest=true&limit=2") == every[1:]
    assert await kinds(f"by={by}&object_id=a-1") == [every[0], every[2]]
    assert await kinds(f"by={by}&object_id=a-1&newest=true&limit=1") == [every[2]]
    assert await kinds("by=bob") == [("agent_undrained", "a-2")]
    assert await kinds("by=nobody") == []
    await api.get(f"{BASE}/events?by=", status=400)


async def test_an_act_without_a_user_names_none(api: Client, store: Store, join: Join) -> None:
    headers = {"X-User-Id": "u-1", "X-Roles": "admin"}
    await join("a-1")
    await api.put(f"{BASE}/agents/a-1/drain", None, headers=headers)
    (event,) = (await api.get(f"{BASE}/events?newest=true&limit=1", headers=headers))["events"]
    assert (event["user_name"], event["text"]) == ("u-1", f"{AGENT} was drained by u-1")
