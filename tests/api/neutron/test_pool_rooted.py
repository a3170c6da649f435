"""LBaaS v1: pools, the vips in front of them, members, and health monitors that pools share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from evenkeel.api.app import create_app
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.ports import Store
from evenkeel.devices.bigip.capabilities import CAPABILITIES as BIGIP
from evenkeel.devices.haproxy.capabilities import CAPABILITIES as HAPROXY
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink

LB = "/neutron/v2.0/lb"
POOL = {"subnet_id": bodies.SUBNET_ID, "protocol": "HTTP", "lb_method": "ROUND_ROBIN"}
MONITOR = {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}


class V1:
    """Calls paths below ``/neutron/v2.0/lb``."""

    def __init__(self, api: Client) -> None:
        self.api = api

    async def new(self, kind: str, answered: int = 201, /, **attributes: Any) -> Any:
        answer = await self.api.post(f"{LB}/{kind}s", {kind: attributes}, answered)
        return answer[kind] if answered == 201 else answer["NeutronError"]

    async def change(self, kind: str, object_id: str, status: int = 200, **attributes: Any) -> Any:
        answer = await self.api.put(f"{LB}/{kind}s/{object_id}", {kind: attributes}, status)
        return answer[kind] if status == 200 else answer["NeutronError"]

    async def show(self, kind: str, object_id: str, status: int = 200) -> Any:
        answer = await self.api.get(f"{LB}/{kind}s/{object_id}", status)
        return answer[kind] if status == 200 else answer["NeutronError"]

    async def drop(self, kind: str, object_id: str, status: int = 204) -> Any:
        answer = await self.api.delete(f"{LB}/{kind}s/{object_id}", status)
        return None if answer is None else answer["NeutronError"]

    async def listed(self, kind: str, **query: Any) -> list[Any]:
        found: list[Any] = (await self.api.get(f"{LB}/{kind}s", params=query))[f"{kind}s"]
        return found

    async def pool(self, **attributes: Any) -> Any:
        return await self.new("pool", **{**POOL, **attributes})

    async def vip(self, pool: str, answered: int = 201, /, **attributes: Any) -> Any:
        wanted = {"subnet_id": bodies.SUBNET_ID, "protocol": "HTTP", "protocol_port": 80, "pool_id": pool}
        return await self.new("vip", answered, **{**wanted, **attributes})

    async def associate(self, pool_id: str, monitor_id: str, status: int = 201) -> Any:
        body = {"health_monitor": {"id": monitor_id}}
        return await self.api.post(f"{LB}/pools/{pool_id}/health_monitors", body, status)


@pytest.fixture
def v1(api: Client) -> V1:
    return V1(api)


# -- pools


async def test_a_pool_is_shown_as_it_was_requested(v1: V1) -> None:
    made = await v1.pool(name="p", description="d", tenant_id="t")

    assert made == {
        "id": made["id"],
        "tenant_id": "t",
        "name": "p",
        "description": "d",
        "subnet_id": bodies.SUBNET_ID,
        "protocol": "HTTP",
        "lb_method": "ROUND_ROBIN",
        "provider": "dev",
        "vip_id": None,
        "members": [],
        "health_monitors": [],
        "health_monitors_status": [],
        "admin_state_up": True,
        "status": "PENDING_CREATE",
        "status_description": None,
    }
    assert await v1.show("pool", made["id"]) == made
    assert await v1.listed("pool", tenant_id="t") == [made]
    assert await v1.listed("pool", tenant_id="other") == []


async def test_a_pool_is_a_load_balancer_without_vip_to_the_others(v1: V1, api: Client) -> None:
    made = await v1.pool(name="p")

    (root,) = (await api.get("/loadbalancers"))["loadbalancers"]
    assert (root["name"], root["vip_address"], root["vip_port_id"], root["vip_subnet_id"]) == ("p", None, None, None)
    assert [pool["id"] for pool in root["pools"]] == [made["id"]]
    (old,) = (await api.get("/neutron/v2.0/lbaas/loadbalancers"))["loadbalancers"]
    assert old["vip_address"] is None
    refused = await api.post(
        "/listeners", {"listener": {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 80}}, 409
    )
    assert "has no VIP" in refused["faultstring"]


async def test_a_pool_is_changed(v1: V1) -> None:
    made = await v1.pool()

    changed = await v1.change("pool", made["id"], name="new", lb_method="SOURCE_IP", admin_state_up="False")

    assert (changed["name"], changed["lb_method"], changed["admin_state_up"]) == ("new", "SOURCE_IP", False)
    refused = await v1.change("pool", made["id"], 400, protocol="TCP")
    assert refused["message"] == "Cannot update read-only attribute protocol"


@pytest.mark.parametrize(
    ("attributes", "status", "kind"),
    [
        ({"subnet_id": "11111111-2222-4333-8444-555555555555"}, 404, "SubnetNotFound"),
        ({"provider": "nobody"}, 400, "ServiceProviderNotFound"),
        ({"lb_method": "FASTEST"}, 400, "HTTPBadRequest"),
        ({"protocol": "UDP"}, 400, "HTTPBadRequest"),
        ({"vip_id": "x"}, 400, "HTTPBadRequest"),
        ({"colour": "blue"}, 400, "HTTPBadRequest"),
        ({"health_monitors": ["11111111-2222-4333-8444-555555555555"]}, 404, "HealthMonitorNotFound"),
        ({"health_monitors": ["a", "b"]}, 400, "HTTPBadRequest"),
    ],
)
async def test_a_wrong_pool_is_refused(v1: V1, attributes: dict[str, Any], status: int, kind: str) -> None:
    refused = await v1.new("pool", status, **{**POOL, **attributes})

    assert refused["type"] == kind
    assert await v1.listed("pool") == []


async def test_a_pool_goes_with_its_load_balancer(v1: V1, api: Client) -> None:
    made = await v1.pool()

    await v1.drop("pool", made["id"])

    assert (await api.get("/loadbalancers"))["loadbalancers"] == []
    assert (await v1.show("pool", made["id"], 404))["type"] == "PoolNotFound"
    assert (await v1.drop("pool", made["id"], 404))["type"] == "PoolNotFound"


# -- vips


async def test_a_vip_is_shown_as_it_was_requested(v1: V1) -> None:
    pool = await v1.pool()
    persistence = {"type": "APP_COOKIE", "cookie_name": "sid"}

    made = await v1.vip(
        pool["id"],
        protocol_port="8080",
        address="10.10.0.50",
        session_persistence=persistence,
        connection_limit="7",
        name="v",
        description="d",
        admin_state_up="False",
    )

    assert made == {
        "id": made["id"],
        "tenant_id": pool["tenant_id"],
        "name": "v",
        "description": "d",
        "subnet_id": bodies.SUBNET_ID,
        "address": "10.10.0.50",
        "port_id": made["port_id"],
        "protocol": "HTTP",
        "protocol_port": 8080,
        "pool_id": pool["id"],
        "session_persistence": persistence,
        "connection_limit": 7,
        "admin_state_up": False,
        "status": "PENDING_CREATE",
        "status_description": None,
    }
    assert made["port_id"]
    assert (await v1.show("pool", pool["id"]))["vip_id"] == made["id"]
    for found in ({"address": "10.10.0.50"}, {"pool_id": pool["id"]}, {"port_id": made["port_id"]}, {"name": "v"}):
        assert await v1.listed("vip", **found) == [made]
    assert await v1.listed("vip", address="10.10.0.51") == []


async def test_a_vip_is_a_listener_to_the_others(v1: V1, api: Client) -> None:
    pool = await v1.pool()
    made = await v1.vip(pool["id"], session_persistence={"type": "SOURCE_IP"})

    listener = (await api.get(f"/listeners/{made['id']}"))["listener"]
    assert listener["default_pool_id"] == pool["id"]
    root = (await api.get(f"/loadbalancers/{listener['loadbalancers'][0]['id']}"))["loadbalancer"]
    assert (root["vip_address"], root["vip_port_id"]) == (made["address"], made["port_id"])
    assert (await api.get(f"/pools/{pool['id']}"))["pool"]["session_persistence"]["type"] == "SOURCE_IP"


@pytest.mark.parametrize(
    ("attributes", "status", "kind"),
    [
        ({"pool_id": "11111111-2222-4333-8444-555555555555"}, 404, "PoolNotFound"),
        ({"subnet_id": "11111111-2222-4333-8444-555555555555"}, 404, "SubnetNotFound"),
        ({"protocol": "TCP"}, 400, "ProtocolMismatch"),
        ({"tenant_id": "somebody"}, 403, "NotAuthorized"),
        ({"address": "10.10.0.1"}, 409, "IpAddressInUse"),
        ({"address": "192.0.2.1"}, 400, "InvalidIpForSubnet"),
        ({"address": "x"}, 400, "HTTPBadRequest"),
        ({"protocol_port": 65536}, 400, "HTTPBadRequest"),
        ({"session_persistence": {"type": "APP_COOKIE"}}, 400, "SessionPersistenceConfigurationInvalid"),
        ({"session_persistence": {"cookie_name": "x"}}, 400, "SessionPersistenceConfigurationInvalid"),
        (
            {"session_persistence": {"type": "SOURCE_IP", "cookie_name": "x"}},
            400,
            "SessionPersistenceConfigurationInvalid",
        ),
        ({"connection_limit": -2}, 400, "HTTPBadRequest"),
        ({"status": "ACTIVE"}, 400, "HTTPBadRequest"),
    ],
)
async def test_a_wrong_vip_is_refused(v1: V1, attributes: dict[str, Any], status: int, kind: str) -> None:
    pool = await v1.pool()

    refused = await v1.vip(pool["id"], status, **attributes)

    assert refused["type"] == kind
    assert await v1.listed("vip") == []
    assert (await v1.show("pool", pool["id"]))["vip_id"] is None


async def test_a_pool_has_one_vip(v1: V1) -> None:
    pool = await v1.pool()
    await v1.vip(pool["id"])

    assert (await v1.vip(pool["id"], 409, protocol_port=81))["type"] == "VipExists"


async def test_one_of_many_gets_an_address(v1: V1) -> None:
    pools = [await v1.pool() for _ in range(5)]

    answers = await asyncio.gather(
        *(
            v1.api.http.post(
                f"{LB}/vips",
                json={
                    "vip": {
                        "subnet_id": bodies.SUBNET_ID,
                        "protocol": "HTTP",
                        "protocol_port": 80,
                        "pool_id": pool["id"],
                        "address": "10.10.0.77",
                    }
                },
            )
            for pool in pools
        )
    )

    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409]
    assert {_kind(answer) for answer in answers if answer.status_code == 409} == {"IpAddressInUse"}


def _kind(answer: httpx.Response) -> str:
    kind: str = answer.json()["NeutronError"]["type"]
    return kind


async def test_a_change_without_persistence_ends_it(v1: V1) -> None:
    pool = await v1.pool()
    made = await v1.vip(pool["id"], session_persistence={"type": "SOURCE_IP"})

    kept = await v1.change("vip", made["id"], name="new", session_persistence={"type": "HTTP_COOKIE"})
    assert (kept["name"], kept["session_persistence"]) == ("new", {"type": "HTTP_COOKIE"})

    ended = await v1.change("vip", made["id"], connection_limit=5, pool_id=pool["id"])
    assert "session_persistence" not in ended
    assert (ended["name"], ended["connection_limit"]) == ("new", 5)


async def test_a_vip_does_not_move(v1: V1) -> None:
    made = await v1.vip((await v1.pool())["id"])
    other = await v1.pool()

    refused = await v1.change("vip", made["id"], 409, pool_id=other["id"])

    assert refused["type"] == "VipPoolChangeNotSupported"
    assert (await v1.change("vip", made["id"], 404, pool_id="11111111-2222-4333-8444-555555555555"))[
        "type"
    ] == "PoolNotFound"


async def test_a_vip_moves_among_the_pools_of_its_load_balancer(v1: V1, api: Client) -> None:
    root = await api.load_balancer()
    first, second = await api.pool(root["id"]), await api.pool(root["id"])
    listener = await api.listener(root["id"], default_pool_id=first["id"])

    moved = await v1.change("vip", listener["id"], pool_id=second["id"])

    assert moved["pool_id"] == second["id"]


async def test_a_pool_with_a_vip_is_not_deleted(v1: V1) -> None:
    pool = await v1.pool()
    made = await v1.vip(pool["id"])

    assert (await v1.drop("pool", pool["id"], 409))["type"] == "PoolInUse"
    await v1.drop("vip", made["id"])
    assert (await v1.show("vip", made["id"], 404))["type"] == "VipNotFound"
    await v1.drop("pool", pool["id"])


async def test_objects_of_other_apis_are_shown_in_lbaas_v1(v1: V1, api: Client) -> None:
    root = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    (listener,), (pool,) = root["listeners"], root["pools"]

    vip = await v1.show("vip", listener["id"])
    assert (vip["address"], vip["pool_id"]) == (root["vip_address"], pool["id"])
    shown = await v1.show("pool", pool["id"])
    assert (shown["vip_id"], shown["subnet_id"]) == (listener["id"], root["vip_subnet_id"])
    assert shown["health_monitors"] == [pool["healthmonitor"]["id"]]
    assert len(shown["members"]) == 3
    refused = await v1.vip(pool["id"], 409, protocol_port=99)
    assert refused["type"] == "VipExists"


async def test_a_listener_without_pool_is_no_vip(v1: V1, api: Client) -> None:
    listener = await api.listener((await api.load_balancer())["id"])

    assert await v1.listed("vip") == []
    for refused in (
        v1.show("vip", listener["id"], 404),
        v1.change("vip", listener["id"], 404, name="n"),
        v1.drop("vip", listener["id"], 404),
    ):
        assert (await refused)["type"] == "VipNotFound"


# -- members


async def test_a_member_lives_a_whole_life(v1: V1) -> None:
    pool = await v1.pool()

    made = await v1.new("member", pool_id=pool["id"], address="10.20.0.5", protocol_port="80", weight="3")

    assert made == {
        "id": made["id"],
        "tenant_id": pool["tenant_id"],
        "pool_id": pool["id"],
        "address": "10.20.0.5",
        "protocol_port": 80,
        "weight": 3,
        "admin_state_up": True,
        "status": "PENDING_CREATE",
        "status_description": None,
    }
    assert (await v1.change("member", made["id"], weight=9, pool_id=pool["id"]))["weight"] == 9
    assert await v1.listed("member", pool_id=pool["id"], address="10.20.0.5") == [{**made, "weight": 9}]
    assert (await v1.show("pool", pool["id"]))["members"] == [made["id"]]
    again = await v1.new("member", 409, pool_id=pool["id"], address="10.20.0.5", protocol_port=80)
    assert again["type"] == "MemberExists"
    await v1.drop("member", made["id"])
    assert (await v1.show("member", made["id"], 404))["type"] == "MemberNotFound"


async def test_a_member_does_not_move(v1: V1) -> None:
    first, second = await v1.pool(), await v1.pool()
    made = await v1.new("member", pool_id=first["id"], address="10.20.0.5", protocol_port=80)

    refused = await v1.change("member", made["id"], 409, pool_id=second["id"])

    assert refused["type"] == "MemberPoolChangeNotSupported"
    assert (await v1.change("member", made["id"], 404, pool_id="11111111-2222-4333-8444-555555555555"))[
        "type"
    ] == "PoolNotFound"
    assert (await v1.change("member", made["id"], 400, weight=257))["type"] == "HTTPBadRequest"


# -- health monitors


async def test_a_monitor_stands_alone(v1: V1, api: Client) -> None:
    made = await v1.new("health_monitor", **MONITOR)

    assert made == {
        "id": made["id"],
        "tenant_id": made["tenant_id"],
        **MONITOR,
        "http_method": "GET",
        "url_path": "/",
        "expected_codes": "200",
        "admin_state_up": True,
        "pools": [],
    }
    assert await v1.show("health_monitor", made["id"]) == made
    assert (await api.get("/healthmonitors"))["healthmonitors"] == []
    plain = await v1.new("health_monitor", **{**MONITOR, "type": "PING"})
    assert "url_path" not in plain
    assert await v1.listed("health_monitor", type="PING") == [plain]


async def test_pools_share_a_monitor(v1: V1, api: Client) -> None:
    made = await v1.new("health_monitor", **MONITOR)
    pools = [await v1.pool() for _ in range(2)]
    for pool in pools:
        assert await v1.associate(pool["id"], made["id"]) == {"health_monitor": {}}

    shown = await v1.show("health_monitor", made["id"])
    assert {each["pool_id"] for each in shown["pools"]} == {pool["id"] for pool in pools}
    pool = await v1.show("pool", pools[0]["id"])
    assert pool["health_monitors"] == [made["id"]]
    assert pool["health_monitors_status"][0]["monitor_id"] == made["id"]
    path = f"{LB}/pools/{pool['id']}/health_monitors/{made['id']}"
    assert (await api.get(path))["health_monitor"] == shown

    await v1.change("health_monitor", made["id"], delay=30, url_path="/up")
    for row in (await api.get("/healthmonitors"))["healthmonitors"]:
        assert (row["delay"], row["url_path"]) == (30, "/up")

    assert (await v1.drop("health_monitor", made["id"], 409))["type"] == "HealthMonitorInUse"
    for each in pools:
        await api.delete(f"{LB}/pools/{each['id']}/health_monitors/{made['id']}")
    gone = await api.delete(path, 404)
    assert gone["NeutronError"]["type"] == "PoolMonitorAssociationNotFound"
    await v1.drop("health_monitor", made["id"])
    assert await v1.listed("health_monitor") == []


async def test_a_pool_has_one_monitor(v1: V1) -> None:
    first, second = [await v1.new("health_monitor", **MONITOR) for _ in range(2)]
    pool = await v1.pool(health_monitors=[first["id"]])
    assert pool["health_monitors"] == [first["id"]]

    again = await v1.associate(pool["id"], first["id"], 409)
    other = await v1.associate(pool["id"], second["id"], 409)

    assert again["NeutronError"]["type"] == "PoolMonitorAssociationExists"
    assert other["NeutronError"]["type"] == "OneHealthMonitorPerPool"
    changed = await v1.change("pool", pool["id"], health_monitors=[second["id"]])
    assert changed["health_monitors"] == [second["id"]]
    assert (await v1.change("pool", pool["id"], name="n"))["health_monitors"] == [second["id"]]
    assert (await v1.change("pool", pool["id"], health_monitors=[]))["health_monitors"] == []


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"timeout": 6}, "DelayOrTimeoutInvalid"),
        ({"type": "TLS-HELLO"}, "HTTPBadRequest"),
        ({"max_retries": 11}, "HTTPBadRequest"),
        ({"delay": "x"}, "InvalidInput"),
        ({"pools": []}, "HTTPBadRequest"),
        ({"expected_codes": "299-200"}, "HTTPBadRequest"),
        ({"type": "PING", "url_path": "/"}, "HTTPBadRequest"),
    ],
)
async def test_a_wrong_monitor_is_refused(v1: V1, attributes: dict[str, Any], kind: str) -> None:
    assert (await v1.new("health_monitor", 400, **{**MONITOR, **attributes}))["type"] == kind
    assert await v1.listed("health_monitor") == []


async def test_a_wrong_change_changes_nothing(v1: V1) -> None:
    made = await v1.new("health_monitor", **MONITOR)

    assert (await v1.change("health_monitor", made["id"], 400, delay=1))["type"] == "DelayOrTimeoutInvalid"
    assert (await v1.change("health_monitor", made["id"], 400, type="TCP"))["type"] == "HTTPBadRequest"
    refused = await v1.change("health_monitor", made["id"], 400, expected_codes="299-200")
    assert refused["type"] == "HTTPBadRequest"
    assert await v1.change("health_monitor", made["id"]) == made


async def test_http_attributes_of_a_ping_monitor_are_refused(v1: V1) -> None:
    made = await v1.new("health_monitor", **{**MONITOR, "type": "PING", "url_path": None})

    assert (await v1.change("health_monitor", made["id"], 400, url_path="/up"))["type"] == "HTTPBadRequest"
    assert await v1.change("health_monitor", made["id"], url_path=None) == made


async def test_a_monitor_whose_checks_overlap_is_changed_but_for_its_times(v1: V1, api: Client) -> None:
    root = await api.load_balancer()
    pool = await api.pool(root["id"])
    body = {"pool_id": pool["id"], "type": "TCP", "delay": 5, "timeout": 9, "max_retries": 2}
    made = (await api.post("/neutron/v2.0/lbaas/healthmonitors", {"healthmonitor": body}))["healthmonitor"]

    assert (await v1.change("health_monitor", made["id"], admin_state_up="False"))["admin_state_up"] is False
    assert (await v1.change("health_monitor", made["id"], 400, delay=6))["type"] == "DelayOrTimeoutInvalid"


async def test_monitor_of_another_project_is_not_found(v1: V1) -> None:
    foreign = await v1.new("health_monitor", **MONITOR, tenant_id="other")
    pool = await v1.pool(tenant_id="own")

    refused = await v1.associate(pool["id"], foreign["id"], 404)
    assert refused["NeutronError"]["type"] == "HealthMonitorNotFound"
    assert (await v1.change("pool", pool["id"], 404, health_monitors=[foreign["id"]]))[
        "type"
    ] == "HealthMonitorNotFound"
    new = {**POOL, "tenant_id": "own", "health_monitors": [foreign["id"]]}
    assert (await v1.new("pool", 404, **new))["type"] == "HealthMonitorNotFound"
    assert [each["id"] for each in await v1.listed("pool")] == [pool["id"]]


async def test_a_pool_is_changed_whole_or_not_at_all(v1: V1) -> None:
    first = await v1.new("health_monitor", **MONITOR)
    pool = await v1.pool(name="old")

    await v1.change("pool", pool["id"], 404, name="new", health_monitors=["11111111-2222-4333-8444-555555555555"])
    await v1.change("pool", pool["id"], 400, lb_method="FASTEST", health_monitors=[first["id"]])
    assert await v1.show("pool", pool["id"]) == pool

    changed = await v1.change("pool", pool["id"], name="new", health_monitors=[first["id"]])
    assert (changed["name"], changed["health_monitors"]) == ("new", [first["id"]])
    changed = await v1.change("pool", pool["id"], lb_method="SOURCE_IP", health_monitors=None)
    assert (changed["lb_method"], changed["health_monitors"]) == ("SOURCE_IP", [])


async def test_a_monitor_made_in_a_pool_is_of_that_pool(v1: V1, api: Client) -> None:
    root = await api.load_balancer()
    pool = await api.pool(root["id"])
    made = await api.monitor(pool["id"])
    other = await v1.pool()

    shown = await v1.show("health_monitor", made["id"])
    assert [each["pool_id"] for each in shown["pools"]] == [pool["id"]]
    assert (await v1.change("health_monitor", made["id"], delay=50))["delay"] == 50
    assert (await v1.drop("health_monitor", made["id"], 409))["type"] == "HealthMonitorInUse"
    refused = await v1.associate(other["id"], made["id"], 409)
    assert refused["NeutronError"]["type"] == "HealthMonitorInUse"
    await api.delete(f"{LB}/pools/{pool['id']}/health_monitors/{made['id']}")
    assert await v1.listed("health_monitor") == []


@asynccontextmanager
async def with_table(store: Store, table: Capabilities) -> AsyncIterator[V1]:
    """The API in front of devices that can do this."""
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=Sink(),
        default_provider="dev",
        capabilities={"noop": table},
    )
    async with Client.of(app) as api:
        yield V1(api)


async def test_unsupported_setting_is_refused_by_name_in_lbaas_v1(store: Store) -> None:
    table = Capabilities(
        protocol_pairs={"HTTP": ("HTTP",)},
        lb_algorithms=("ROUND_ROBIN",),
        health_monitor_types=("HTTP",),
        health_monitor_ranges={"delay": (1, 60)},
        session_persistence={},
    )
    async with with_table(store, table) as v1:
        refused = await v1.new("pool", 501, **{**POOL, "lb_method": "SOURCE_IP"})
        assert "SOURCE_IP" in refused["message"]
        pool = await v1.pool()
        persistent = await v1.vip(pool["id"], 501, session_persistence={"type": "SOURCE_IP"})
        assert "SOURCE_IP" in persistent["message"]
        ping = await v1.new("health_monitor", **{**MONITOR, "type": "PING"})
        assert "PING" in (await v1.associate(pool["id"], ping["id"], 501))["NeutronError"]["message"]
        assert (await v1.new("pool", 501, **POOL, health_monitors=[ping["id"]]))["type"] == "UnsupportedFeature"
        fit = await v1.new("health_monitor", **MONITOR)
        await v1.associate(pool["id"], fit["id"])
        await v1.change("pool", pool["id"], 501, lb_method="SOURCE_IP", health_monitors=[])
        assert (await v1.show("pool", pool["id"]))["health_monitors"] == [fit["id"]]
        assert "delay 61" in (await v1.change("health_monitor", fit["id"], 501, delay=61))["message"]


# -- the rest


async def test_nothing_was_counted_yet(v1: V1, api: Client) -> None:
    pool = await v1.pool()

    answer = await api.get(f"{LB}/pools/{pool['id']}/stats")

    zeros = {"bytes_in": 0, "bytes_out": 0, "active_connections": 0, "total_connections": 0}
    assert answer == {"stats": zeros}
    await api.get(f"{LB}/pools/nothing/stats", 404)


async def test_a_pool_that_waits_for_a_place_has_no_agent(v1: V1, api: Client) -> None:
    pool = await v1.pool()

    assert await api.get(f"{LB}/pools/{pool['id']}/loadbalancer-agent") is None
    assert await api.get("/neutron/v2.0/agents/nobody/loadbalancer-pools") == {"pools": []}


async def test_pages_and_fields_are_neutrons(v1: V1, api: Client) -> None:
    names = [(await v1.pool(name=f"p{number}"))["name"] for number in range(3)]

    page = await api.get(f"{LB}/pools", params={"limit": 2, "fields": "name"})
    assert page["pools"] == [{"name": name} for name in names[:2]]
    (link,) = page["pools_links"]
    rest = await api.get(link["href"].removeprefix("http://api.test"))
    assert [pool["name"] for pool in rest["pools"]] == names[2:]
    listed = await v1.listed("pool", sort_key="name", sort_dir="desc", colour="blue")
    assert [pool["name"] for pool in listed] == names[::-1]


async def test_errors_are_neutrons(api: Client) -> None:
    answer = await api.post(f"{LB}/pools", {"load_balancer": {}}, 400)
    assert answer["NeutronError"]["message"] == "Unable to find 'pool' in request body"
    answer = await api.post(f"{LB}/vips", {"vip": {}}, 400)
    assert answer["NeutronError"]["message"] == "Failed to parse request. Required attribute 'subnet_id' not specified"
    assert (await api.get(f"{LB}/nothing", 404))["NeutronError"]["type"] == "HTTPNotFound"
    assert (await api.call("PATCH", f"{LB}/vips", 405))["NeutronError"]


class RecordingNetwork(BuiltinNetwork):
    """Remembers what it was told to give back."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.abandoned: list[str] = []

    async def abandon_vip(self, plan: VipPlan) -> None:
        self.abandoned.append(plan.port_id)


@pytest.mark.parametrize(("table", "status"), [(BIGIP, 201), (HAPROXY, 501)])
async def test_a_big_ip_reads_cookies_of_tcp_vips(store: Store, table: Capabilities, status: int) -> None:
    async with with_table(store, table) as v1:
        pool = await v1.pool(protocol="TCP")
        for kind in ({"type": "HTTP_COOKIE"}, {"type": "APP_COOKIE", "cookie_name": "sid"}):
            made = await v1.vip(pool["id"], status, protocol="TCP", session_persistence=kind)
            if status == 201:
                assert made["session_persistence"]["type"] == kind["type"]
                await v1.drop("vip", made["id"])
                pool = await v1.pool(protocol="TCP")
            else:
                assert f"{kind['type']} in a pool of protocol TCP" in made["message"]


async def test_address_of_a_refused_vip_is_released(store: Store) -> None:
    network = RecordingNetwork(store.operators)
    app = create_app(store=store, network=network, driver=Sink(), default_provider="dev")
    async with Client.of(app) as api:
        v1 = V1(api)
        pool = await v1.pool()
        await v1.vip(pool["id"])
        assert not network.abandoned

        await v1.vip(pool["id"], 409)

    assert len(network.abandoned) == 1


async def test_every_pool_of_a_shared_monitor_is_informed(v1: V1, sink: Sink) -> None:
    made = await v1.new("health_monitor", **MONITOR)
    for _ in range(3):
        await v1.associate((await v1.pool())["id"], made["id"])
    told = len(sink.changes)

    await v1.change("health_monitor", made["id"], max_retries=9)

    assert len({change.load_balancer_id for change in sink.changes[told:]}) == 3
