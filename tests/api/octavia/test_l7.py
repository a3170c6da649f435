"""L7 policies and rules through the API, over a real store."""

from typing import Any

import msgspec
import pytest

from evenkeel.api.app import create_app
from evenkeel.core.ports import Store
from evenkeel.devices.bigip.capabilities import CAPABILITIES as BIGIP
from evenkeel.devices.haproxy.capabilities import CAPABILITIES as HAPROXY
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink

UNKNOWN = "00000000-0000-4000-8000-000000000000"
RULE = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/private"}


@pytest.fixture
async def root(api: Client) -> dict[str, Any]:
    """A load balancer of project p1."""
    return await api.load_balancer(project_id="p1")


@pytest.fixture
async def listener(api: Client, root: dict[str, Any]) -> dict[str, Any]:
    """An HTTP listener of it."""
    return await api.listener(root["id"])


async def make(api: Client, listener_id: str, status: int = 201, **attributes: Any) -> Any:
    body = {"listener_id": listener_id, "action": "REJECT", **attributes}
    answer = await api.post("/l7policies", {"l7policy": body}, status)
    return answer["l7policy"] if status == 201 else answer["faultstring"]


async def names(api: Client, listener_id: str) -> list[str]:
    found = await api.get(f"/l7policies?listener_id={listener_id}&sort=position")
    assert [row["position"] for row in found["l7policies"]] == list(range(1, len(found["l7policies"]) + 1))
    return [row["name"] for row in found["l7policies"]]


async def test_policy_lives_a_whole_life(api: Client, root: dict[str, Any], listener: dict[str, Any]) -> None:
    made = await make(api, listener["id"], name="no", description="d", tags=["t"], rules=[RULE, RULE])
    assert (made["project_id"], made["position"], made["action"]) == ("p1", 1, "REJECT")
    assert (made["provisioning_status"], made["operating_status"]) == ("PENDING_CREATE", "OFFLINE")
    assert made["redirect_http_code"] is made["redirect_url"] is made["redirect_pool_id"] is None
    assert len(made["rules"]) == 2
    assert (await api.get(f"/l7policies/{made['id']}"))["l7policy"] == made
    shown = (await api.get(f"/listeners/{listener['id']}"))["listener"]
    assert shown["l7policies"] == [{"id": made["id"]}]
    body = {"name": "x", "redirect_url": "https://new.test", "tags": None}
    changed = (await api.put(f"/l7policies/{made['id']}", {"l7policy": body}))["l7policy"]
    assert (changed["action"], changed["redirect_url"], changed["redirect_http_code"]) == (
        "REDIRECT_TO_URL",
        "https://new.test",
        302,
    )
    assert (changed["name"], changed["tags"]) == ("x", [])
    await api.delete(f"/l7policies/{made['id']}")
    await api.get(f"/l7policies/{made['id']}", 404)
    assert (await api.get("/l7policies"))["l7policies"] == []


async def test_policies_take_the_place_they_request(api: Client, listener: dict[str, Any]) -> None:
    made = [await make(api, listener["id"], name=name) for name in "ab"]
    await make(api, listener["id"], name="c", position=1)
    assert await names(api, listener["id"]) == ["c", "a", "b"]
    await api.put(f"/l7policies/{made[0]['id']}", {"l7policy": {"position": 9}})
    assert await names(api, listener["id"]) == ["c", "b", "a"]
    await api.delete(f"/l7policies/{made[1]['id']}")
    assert await names(api, listener["id"]) == ["c", "a"]
    shown = (await api.get(f"/listeners/{listener['id']}"))["listener"]["l7policies"]
    assert len(shown) == 2 and shown[1] == {"id": made[0]["id"]}


@pytest.mark.parametrize(
    ("attributes", "status", "words"),
    [
        ({"action": "JUMP"}, 400, ["action", "JUMP", "REJECT"]),
        ({"action": None}, 400, ["action"]),
        ({"listener_id": UNKNOWN}, 404, ["Listener", UNKNOWN]),
        ({"action": "REDIRECT_TO_POOL"}, 400, ["redirect_pool_id or redirect_pool must not be None"]),
        ({"action": "REDIRECT_TO_URL"}, 400, ["redirect_url must not be None"]),
        ({"action": "REDIRECT_PREFIX", "redirect_url": "http://x"}, 400, ["redirect_prefix must not be None"]),
        ({"action": "REDIRECT_TO_URL", "redirect_url": "ftp://x"}, 400, ["redirect_url", "ftp://x"]),
        ({"action": "REDIRECT_TO_URL", "redirect_url": "https://x y"}, 400, ["redirect_url", "https://x y"]),
        ({"action": "REDIRECT_TO_URL", "redirect_url": "https://:80/"}, 400, ["redirect_url", "https://:80/"]),
        ({"action": "REDIRECT_TO_URL", "redirect_url": "https://x:99999/"}, 400, ["redirect_url", "99999"]),
        ({"action": "REDIRECT_PREFIX", "redirect_prefix": "/x"}, 400, ["redirect_prefix", "/x"]),
        ({"redirect_http_code": 304}, 400, ["redirect_http_code", "304", "308"]),
        ({"position": 0}, 400, ["position", "0"]),
        ({"position": 2_147_483_648}, 400, ["position"]),
        ({"action": "REDIRECT_TO_POOL", "redirect_pool_id": UNKNOWN}, 404, ["Pool", UNKNOWN]),
        ({"redirect_pool": {"name": "p"}}, 400, ["protocol", "Mandatory"]),
        ({"project_id": "p2"}, 400, ["project_id", "p2"]),
        ({"rules": [{**RULE, "type": "PLANET"}]}, 400, ["type", "PLANET", "HOST_NAME"]),
        ({"rules": [RULE] * 51}, 400, ["rules", "50"]),
        ({"name": "n" * 256}, 400, ["name", "255"]),
    ],
)
async def test_bad_policy_is_refused_naming_it(
    api: Client, listener: dict[str, Any], attributes: dict[str, Any], status: int, words: list[str]
) -> None:
    text = await make(api, attributes.pop("listener_id", listener["id"]), status, **attributes)
    for word in words:
        assert word in text


async def test_policies_need_a_listener_that_sees_requests(api: Client, root: dict[str, Any]) -> None:
    tcp = await api.listener(root["id"], protocol="TCP", protocol_port=81)
    assert "protocol HTTP, TERMINATED_HTTPS, not TCP" in await make(api, tcp["id"], 400)
    body = {
        "loadbalancer_id": root["id"],
        "protocol": "HTTPS",
        "protocol_port": 443,
        "l7policies": [{"action": "REJECT"}],
    }
    assert "HTTPS" in (await api.post("/listeners", {"listener": body}, 400))["faultstring"]


async def test_policy_sends_only_to_fitting_pools_of_its_load_balancer(
    api: Client, root: dict[str, Any], listener: dict[str, Any]
) -> None:
    pool = await api.pool(root["id"])
    tcp = await api.pool(root["id"], protocol="TCP")
    stranger = await api.pool((await api.load_balancer())["id"])
    to_pool = {"action": "REDIRECT_TO_POOL"}
    assert "'TCP'" in await make(api, listener["id"], 400, **to_pool, redirect_pool_id=tcp["id"])
    assert stranger["id"] in await make(api, listener["id"], 404, **to_pool, redirect_pool_id=stranger["id"])
    made = await make(api, listener["id"], **to_pool, redirect_pool_id=pool["id"], redirect_url="https://dropped.test")
    assert (made["redirect_pool_id"], made["redirect_url"]) == (pool["id"], None)
    answer = await api.delete(f"/pools/{pool['id']}", 409)
    assert answer["faultstring"] == f"Pool {pool['id']} is in use by L7 policy {made['id']}"
    body = {"l7policy": {"redirect_pool_id": tcp["id"]}}
    assert "'TCP'" in (await api.put(f"/l7policies/{made['id']}", body, 400))["faultstring"]
    await api.put(f"/l7policies/{made['id']}", {"l7policy": {"action": "REJECT"}})
    await api.delete(f"/pools/{pool['id']}")


async def test_pool_shows_the_listeners_whose_policies_with_rules_send_to_it(
    api: Client, root: dict[str, Any], listener: dict[str, Any]
) -> None:
    pool = await api.pool(root["id"])
    made = await make(api, listener["id"], action="REDIRECT_TO_POOL", redirect_pool_id=pool["id"])

    async def shown() -> tuple[list[dict[str, str]], list[str]]:
        tree = (await api.get(f"/loadbalancers/{root['id']}/status"))["statuses"]["loadbalancer"]
        (listed,) = (await api.get("/pools"))["pools"]
        assert listed["listeners"] == (await api.get(f"/pools/{pool['id']}"))["pool"]["listeners"]
        return listed["listeners"], [each["id"] for each in tree["listeners"][0]["pools"]]

    assert await shown() == ([], [])
    await api.post(f"/l7policies/{made['id']}/rules", {"rule": RULE})
    assert await shown() == ([{"id": listener["id"]}], [pool["id"]])
    await api.put(f"/l7policies/{made['id']}", {"l7policy": {"admin_state_up": False}})
    assert await shown() == ([], [])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"redirect_url": None}, ["redirect_url must not be None"]),
        ({"action": "REDIRECT_TO_POOL"}, ["redirect_pool_id or redirect_pool must not be None"]),
        ({"redirect_url": "https://a.test", "redirect_prefix": "https://b.test"}, ["redirect_url", "redirect_prefix"]),
        ({"listener_id": UNKNOWN}, ["listener_id"]),
        ({"action": None}, ["action"]),
    ],
)
async def test_bad_change_of_a_policy_is_refused(
    api: Client, listener: dict[str, Any], body: dict[str, Any], words: list[str]
) -> None:
    made = await make(api, listener["id"], action="REDIRECT_TO_URL", redirect_url="https://x.test")
    text = (await api.put(f"/l7policies/{made['id']}", {"l7policy": body}, 400))["faultstring"]
    for word in words:
        assert word in text


# -- rules


async def test_rule_lives_a_whole_life(api: Client, listener: dict[str, Any], sink: Sink) -> None:
    policy = await make(api, listener["id"])
    path = f"/l7policies/{policy['id']}/rules"
    made = (await api.post(path, {"rule": {**RULE, "invert": True, "tags": ["t"]}}))["rule"]
    assert (made["project_id"], made["invert"], made["key"], made["admin_state_up"]) == ("p1", True, None, True)
    assert "name" not in made
    assert (await api.get(f"{path}/{made['id']}"))["rule"] == made
    assert (await api.get(path))["rules"] == [made]
    assert (await api.get(f"{path}?invert=false"))["rules"] == []
    assert (await api.get(f"/l7policies/{policy['id']}"))["l7policy"]["rules"] == [{"id": made["id"]}]
    body = {"type": "HEADER", "key": "X-Kind", "compare_type": "REGEX", "value": "^a+$", "invert": None}
    changed = (await api.put(f"{path}/{made['id']}", {"rule": body}))["rule"]
    assert (changed["type"], changed["key"], changed["invert"]) == ("HEADER", "X-Kind", False)
    back = (await api.put(f"{path}/{made['id']}", {"rule": {"type": "PATH"}}))["rule"]
    assert (back["type"], back["key"], back["value"]) == ("PATH", None, "^a+$")
    await api.delete(f"{path}/{made['id']}")
    await api.get(f"{path}/{made['id']}", 404)
    await api.get(f"/l7policies/{UNKNOWN}/rules", 404)
    assert {change.load_balancer_id for change in sink.changes} == {listener["loadbalancers"][0]["id"]}


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"type": "HEADER"}, ["requires a key", "HEADER"]),
        ({"type": "COOKIE"}, ["requires a key"]),
        ({"key": "X"}, ["PATH", "key", "'X'"]),
        ({"type": "HEADER", "key": "a b"}, ["key", "a b"]),
        ({"type": "FILE_TYPE"}, ["FILE_TYPE", "STARTS_WITH", "EQUAL_TO"]),
        ({"compare_type": "REGEX", "value": "("}, ["regular expression", "'('"]),
        ({"compare_type": "REGEX", "value": "a{99999999999}"}, ["regular expression"]),
        ({"value": "a b"}, ["value", "a b", "double quotes"]),
        ({"value": "a\nb"}, ["value"]),
        ({"value": ""}, ["value"]),
        ({"value": "v" * 256}, ["value", "255"]),
        ({"type": "COOKIE", "key": "k", "value": "a;b"}, ["a;b", "semicolon"]),
        ({"type": "SSL_CONN_HAS_CERT", "compare_type": "EQUAL_TO", "value": "false"}, ["false", "true"]),
        ({"type": "SSL_VERIFY_RESULT", "compare_type": "EQUAL_TO", "value": "-1"}, ["-1", "whole number"]),
        ({"type": "SSL_DN_FIELD", "key": "1", "value": "x"}, ["key", "distinguished name"]),
        ({"compare_type": "LIKE"}, ["compare_type", "LIKE", "REGEX"]),
        ({"name": "x"}, ["name"]),
    ],
)
async def test_bad_rule_is_refused_naming_it(
    api: Client, listener: dict[str, Any], attributes: dict[str, Any], words: list[str]
) -> None:
    policy = await make(api, listener["id"])
    answer = await api.post(f"/l7policies/{policy['id']}/rules", {"rule": {**RULE, **attributes}}, 400)
    for word in words:
        assert word in answer["faultstring"]


async def test_an_empty_key_is_none(api: Client, listener: dict[str, Any]) -> None:
    """As Terraform sends it."""
    policy = (await make(api, listener["id"]))["id"]
    path = f"/l7policies/{policy}/rules"
    made = (await api.post(path, {"rule": RULE | {"key": ""}}))["rule"]
    assert made["key"] is None
    changed = (await api.put(f"{path}/{made['id']}", {"rule": {"key": "", "value": "/y"}}))["rule"]
    assert (changed["key"], changed["value"]) == (None, "/y")
    answer = await api.call("POST", path, 400, {"rule": RULE | {"type": "HEADER", "key": ""}})
    assert "requires a key" in answer["faultstring"]


async def test_no_device_takes_rules_by_the_hundred(api: Client, listener: dict[str, Any]) -> None:
    policy = await make(api, listener["id"], rules=[RULE] * 50)
    answer = await api.post(f"/l7policies/{policy['id']}/rules", {"rule": RULE}, 409)
    assert answer["faultstring"].startswith(f"Too many rules on L7 policy {policy['id']}")


# -- together with what is above them


async def test_a_whole_load_balancer_comes_with_its_policies(api: Client) -> None:
    policies = [
        {"action": "REDIRECT_TO_POOL", "name": "new", "rules": [RULE], "redirect_pool": {
            "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "name": "made", "members": bodies.MEMBERS[:1]}},
        {"action": "REDIRECT_TO_POOL", "name": "named", "redirect_pool": {"name": "shop"}, "position": 1},
        {"action": "REDIRECT_PREFIX", "redirect_prefix": "https://x.test", "redirect_http_code": 308, "name": "away"},
    ]  # fmt: skip
    pools = [{"name": "shop", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}]
    listener = {"protocol": "HTTP", "protocol_port": 80, "l7policies": policies}
    body = bodies.load_balancer(listeners=[listener], pools=pools)
    made = (await api.post("/loadbalancers", body))["loadbalancer"]
    shown = made["listeners"][0]["l7policies"]
    assert [(each["name"], each["position"]) for each in shown] == [("named", 1), ("new", 2), ("away", 3)]
    ids = {each["name"]: each["id"] for each in made["pools"]}
    assert [each["redirect_pool_id"] for each in shown] == [ids["shop"], ids["made"], None]
    assert shown[1]["rules"][0]["value"] == "/private" and shown[2]["redirect_http_code"] == 308
    for each in shown:
        stored = (await api.get(f"/l7policies/{each['id']}"))["l7policy"]
        assert stored == {**each, "rules": [{"id": rule["id"]} for rule in each["rules"]]}


@pytest.mark.parametrize(
    ("policy", "status", "words"),
    [
        ({"action": "REDIRECT_TO_POOL", "redirect_pool_id": UNKNOWN}, 400, ["redirect_pool_id", "no pools yet"]),
        ({"action": "REDIRECT_TO_POOL", "redirect_pool": {"name": "nope"}}, 400, ["nope"]),
        ({"action": "REJECT", "redirect_pool": {"name": "shop"}}, 400, ["redirect_pool", "REJECT"]),
        (
            {"action": "REDIRECT_TO_POOL", "redirect_pool": {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}},
            400,
            ["TCP"],
        ),
        ({"action": "REDIRECT_TO_URL"}, 400, ["redirect_url"]),
        ({"action": "REJECT", "rules": [{**RULE, "key": "x"}]}, 400, ["key"]),
    ],
)
async def test_nothing_is_stored_with_a_bad_policy(
    api: Client, policy: dict[str, Any], status: int, words: list[str]
) -> None:
    listener = {"protocol": "HTTP", "protocol_port": 80, "l7policies": [policy]}
    answer = await api.post("/loadbalancers", bodies.load_balancer(listeners=[listener]), status)
    for word in words:
        assert word in answer["faultstring"]
    assert (await api.get("/loadbalancers"))["loadbalancers"] == []


async def test_a_listener_comes_with_its_policies(api: Client, root: dict[str, Any]) -> None:
    pool = await api.pool(root["id"])
    policies = [
        {"action": "REJECT", "name": "b", "rules": [RULE]},
        {"action": "REDIRECT_TO_POOL", "name": "a", "redirect_pool_id": pool["id"], "position": 1},
    ]
    made = await api.listener(root["id"], l7policies=policies)
    assert len(made["l7policies"]) == 2
    assert await names(api, made["id"]) == ["a", "b"]


async def test_policies_go_with_their_listener(api: Client, root: dict[str, Any], listener: dict[str, Any]) -> None:
    made = await make(api, listener["id"], rules=[RULE])
    await api.delete(f"/listeners/{listener['id']}")
    await api.get(f"/l7policies/{made['id']}", 404)


# -- device types


@pytest.mark.parametrize(
    ("table", "rule", "words"),
    [
        (
            msgspec.structs.replace(HAPROXY, l7policy_actions=()),
            RULE,
            ["Provider 'dev'", "l7policy action REJECT", "Allowed: none"],
        ),
        (BIGIP, RULE | {"compare_type": "REGEX", "value": "^/a(?=b)"}, ["^/a(?=b)", "look-ahead"]),
        (BIGIP, RULE | {"compare_type": "REGEX", "value": "^/a{256}"}, ["^/a{256}", "at most 255"]),
        (
            BIGIP,
            {"type": "SSL_DN_FIELD", "key": "emailAddress", "compare_type": "EQUAL_TO", "value": "x"},
            ["key emailAddress", "CN"],
        ),
        (
            msgspec.structs.replace(HAPROXY, l7rule_types=("HOST_NAME",)),
            {"type": "SSL_CONN_HAS_CERT", "compare_type": "EQUAL_TO", "value": "true"},
            ["Provider 'dev'", "l7rule type SSL_CONN_HAS_CERT", "HOST_NAME"],
        ),
    ],
)
async def test_unsupported_l7_setting_is_refused_by_name(
    store: Store, sink: Sink, table: Any, rule: dict[str, Any], words: list[str]
) -> None:
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        capabilities={"noop": table},
    )
    async with Client.of(app) as api:
        listener = await api.listener((await api.load_balancer())["id"])
        nested = {"protocol": "HTTP", "protocol_port": 80, "l7policies": [{"action": "REJECT", "rules": [rule]}]}
        whole = (await api.post("/loadbalancers", bodies.load_balancer(listeners=[nested]), 501))["faultstring"]
        for text in (await make(api, listener["id"], 501, rules=[rule]), whole):
            for word in words:
                assert word in text
