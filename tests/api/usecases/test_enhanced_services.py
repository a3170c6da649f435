"""Enhanced services in requests: by tags, L7 policies and flavors, and what the agent's definition names then."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import structlog

from evenkeel.api.app import create_app
from evenkeel.core.control.environments import Environment
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.devices.service import ServiceListener, service_definition_of_tree
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import Store
from evenkeel.core.protocol.messages import Register, ReportState
from evenkeel.core.resources.enhanced_services import (
    FLAVOR_KEY,
    EnhancedService,
    ServiceParameter,
    select_services,
)
from evenkeel.core.resources.statuses import HaType
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.devices.haproxy.test_hostile_strings import HOSTILE

REQUESTS = ServiceParameter(sets="rate_limit.requests", minimum=10, maximum=500, default=100)
OFFERED = (
    EnhancedService(name="web", file="a.json", parts={"haproxy_lines": '["option dontlognull"]', "drain": "60"}),
    EnhancedService(name="other", file="a.json"),
    EnhancedService(name="rate", file="a.json", parameters={"requests": REQUESTS, "interval": REQUESTS}),
    EnhancedService(name="broken", file="a.json", problem="a.json: no such tag"),
    EnhancedService(name="", file="b.json", problem="b.json: not JSON"),
)
BARE = "tag without effect: an enhanced service has this name"
Listeners = Callable[[dict[str, Any]], Awaitable[tuple[ServiceListener, ...]]]


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Client]:
    """A provider ``f5`` whose agent offers web and other; ``dev`` has no enhanced services."""
    await store.operators.add_environment(Environment(name="f5", device_driver="f5"))
    register: Any = {"agent_id": "a", "session_id": "s", "environment": "f5", "group_number": 1, "host": "h"}
    joined = Register(**register, device_driver="f5", ha_type=HaType.STANDALONE, endpoints=("10.0.0.1",))
    await store.ownership.register(joined, ttl_seconds=3600.0)
    said: Any = {"agent_id": "a", "session_id": "s"}
    await store.ownership.record_state(ReportState(**said, enhanced_services=OFFERED))
    await store.ownership.record_state(ReportState(**said))  # says nothing new
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=Sink(),
        default_provider="f5",
        capabilities={"f5": Capabilities(service_tags=True), "noop": Capabilities()},
    )
    async with Client.of(app) as client:
        yield client


@pytest.fixture
def listeners(store: Store) -> Listeners:
    async def read(root: dict[str, Any]) -> tuple[ServiceListener, ...]:
        return service_definition_of_tree(
            await store.tenants.tree(LoadBalancerId(root["id"]), project_id=None)
        ).listeners

    return read


async def made(api: Client, **attributes: Any) -> dict[str, Any]:
    shown: dict[str, Any] = (await api.post("/loadbalancers", bodies.populated(**attributes)))["loadbalancer"]
    return shown


async def names(listeners: Listeners, root: dict[str, Any]) -> tuple[str, ...]:
    (listener,) = await listeners(root)
    return listener.enhanced_services


async def test_a_tag_of_the_load_balancer_is_for_all_its_listeners(api: Client, listeners: Listeners) -> None:
    root = await made(api, tags=["esd:web", "blue"])
    assert await names(listeners, root) == ("web",)
    await api.put(f"/loadbalancers/{root['id']}", {"loadbalancer": {"tags": ["blue"]}})
    assert await names(listeners, root) == ()
    changed = await api.put(f"/loadbalancers/{root['id']}", {"loadbalancer": {"tags": ["esd:other"]}})
    assert changed["loadbalancer"]["provisioning_status"].startswith("PENDING")
    assert await names(listeners, root) == ("other",)


async def test_a_tag_of_the_listener_comes_first(api: Client, listeners: Listeners) -> None:
    root = await made(api, tags=["esd:web"])
    path = f"/listeners/{root['listeners'][0]['id']}"
    await api.put(path, {"listener": {"tags": ["esd:other"]}})
    assert await names(listeners, root) == ("other", "web")
    body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 81, "tags": ["esd:web"]}
    await api.post("/listeners", {"listener": body})
    assert [one.enhanced_services for one in await listeners(root)] == [("other", "web"), ("web",)]


async def test_operators_see_the_enhanced_services_of_each_listener_whatever_chose_them(
    api: Client, listeners: Listeners
) -> None:
    root = await made(api, tags=["esd:web"])
    id_ = root["listeners"][0]["id"]
    await api.put(f"/listeners/{id_}", {"listener": {"tags": ["esd:rate"]}})
    await api.post("/l7policies", {"l7policy": {"listener_id": id_, "action": "REJECT", "name": "other"}})
    (shown,) = (await api.get(f"/evenkeel/v1/loadbalancers/{root['id']}/tree"))["tree"]["listeners"]
    assert shown["enhanced_services"] == list(await names(listeners, root)) == ["other", "rate", "web"]


@pytest.mark.parametrize("name", ["unknown", "broken", "", "Web"])
async def test_unknown_enhanced_service_is_refused_with_the_offered_names(api: Client, name: str) -> None:
    root = await made(api)
    tags = [f"esd:{name}"]
    listener = {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 81, "tags": tags}
    for refused in (
        await api.post("/loadbalancers", bodies.populated(tags=tags), 400),
        await api.put(f"/loadbalancers/{root['id']}", {"loadbalancer": {"tags": tags}}, 400),
        await api.put(f"/listeners/{root['listeners'][0]['id']}", {"listener": {"tags": tags}}, 400),
        await api.post("/listeners", {"listener": listener}, 400),
    ):
        assert f"tags 'esd:{name}': provider 'f5' has no enhanced service of that name" in refused["faultstring"]
        assert "Allowed: esd:other, esd:rate, esd:web." in refused["faultstring"]


async def test_enhanced_service_that_is_no_longer_offered_may_stay(
    api: Client, store: Store, listeners: Listeners
) -> None:
    root = await made(api, tags=["esd:web"])
    said: Any = {"agent_id": "a", "session_id": "s"}
    await store.ownership.record_state(ReportState(**said, enhanced_services=()))
    await api.put(f"/loadbalancers/{root['id']}", {"loadbalancer": {"tags": ["esd:web", "blue"]}})
    assert await names(listeners, root) == ("web",)


async def test_a_provider_without_enhanced_services_refuses_them(api: Client) -> None:
    refused = await api.post("/loadbalancers", bodies.populated(provider="dev", tags=["esd:web"]), 501)
    assert "Provider 'dev' does not support a requested option: tags 'esd:web'" in refused["faultstring"]
    await api.post("/loadbalancers", bodies.populated(provider="dev", tags=["web", "esd"]))


async def test_an_l7_policy_of_the_name_stands_for_it(api: Client, listeners: Listeners) -> None:
    root = await made(api, tags=["esd:web"])
    listener_id = root["listeners"][0]["id"]
    body = {"listener_id": listener_id, "name": "other", "action": "REJECT"}
    policy = (await api.post("/l7policies", {"l7policy": body}))["l7policy"]
    (listener,) = await listeners(root)
    assert listener.enhanced_services == ("other", "web")
    assert listener.l7policies == ()
    rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/x"}
    refused = await api.post(f"/l7policies/{policy['id']}/rules", {"rule": rule}, 400)
    assert "rules: an L7 policy named other stands for the enhanced service" in refused["faultstring"]
    await api.put(f"/l7policies/{policy['id']}", {"l7policy": {"admin_state_up": False}})
    assert await names(listeners, root) == ("web",)
    await api.delete(f"/l7policies/{policy['id']}")


async def test_several_policies_count_by_position(api: Client, listeners: Listeners) -> None:
    root = await made(api)
    listener_id = root["listeners"][0]["id"]
    for name in ("web", "other"):
        body = {"listener_id": listener_id, "name": name, "action": "REJECT", "position": 1}
        await api.post("/l7policies", {"l7policy": body})
    assert await names(listeners, root) == ("other", "web")


async def test_such_a_policy_has_no_rules_from_the_start(api: Client) -> None:
    rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/x"}
    root = await made(api)
    body = {"listener_id": root["listeners"][0]["id"], "name": "web", "action": "REJECT", "rules": [rule]}
    refused = await api.post("/l7policies", {"l7policy": body}, 400)
    assert "Allowed: none." in refused["faultstring"]


async def test_a_policy_stays_what_it_was_made(api: Client, listeners: Listeners) -> None:
    root = await made(api)
    listener_id = root["listeners"][0]["id"]
    made_ = [
        (await api.post("/l7policies", {"l7policy": {"listener_id": listener_id, "name": name, "action": "REJECT"}}))
        for name in ("web", "mine")
    ]
    enhanced, ordinary = (f"/l7policies/{one['l7policy']['id']}" for one in made_)
    await api.put(enhanced, {"l7policy": {"name": "other"}})
    assert await names(listeners, root) == ("other",)
    refused = await api.put(enhanced, {"l7policy": {"name": "mine"}}, 400)
    assert "stands for the enhanced service other" in refused["faultstring"]
    await api.put(ordinary, {"l7policy": {"name": "yours"}})
    refused = await api.put(ordinary, {"l7policy": {"name": "web"}}, 400)
    assert "an enhanced service has this name" in refused["faultstring"]


async def test_a_policy_on_a_listener_without_http_may_stand_for_one(api: Client, listeners: Listeners) -> None:
    listener = {"protocol": "TCP", "protocol_port": 22, "l7policies": [{"name": "web", "action": "REJECT"}]}
    root = (await api.post("/loadbalancers", bodies.load_balancer(listeners=[listener])))["loadbalancer"]
    assert await names(listeners, root) == ("web",)


async def flavor(api: Client, data: Any, status: int = 201) -> Any:
    profile = {"name": "gold", "provider_name": "f5", "flavor_data": json.dumps(data)}
    answer = await api.post("/flavorprofiles", {"flavorprofile": profile}, status)
    if status != 201:
        return answer["faultstring"]
    body = {"name": "gold", "flavor_profile_id": answer["flavorprofile"]["id"]}
    return (await api.post("/flavors", {"flavor": body}))["flavor"]["id"]


async def test_a_flavor_gives_them_last(api: Client, listeners: Listeners) -> None:
    flavor_id = await flavor(api, {FLAVOR_KEY: ["web", "other"]})
    assert await names(listeners, await made(api, flavor_id=flavor_id)) == ("web", "other")
    assert await names(listeners, await made(api, flavor_id=flavor_id, tags=["esd:other"])) == ("other", "web")


@pytest.mark.parametrize("given", ["web", 5, [5], ["web", "web"], [f"e{number}" for number in range(17)], {"a": "b"}])
async def test_a_flavor_names_them_in_a_list(api: Client, given: Any) -> None:
    assert f"{FLAVOR_KEY} should be a list" in await flavor(api, {FLAVOR_KEY: given}, 400)


async def test_a_flavor_names_what_is_offered(api: Client) -> None:
    refused = await flavor(api, {FLAVOR_KEY: ["unknown"]}, 400)
    assert f"{FLAVOR_KEY} 'unknown': provider 'f5' has no enhanced service of that name" in refused


async def test_bare_tags_that_name_an_enhanced_service_are_logged(api: Client, listeners: Listeners) -> None:
    with structlog.testing.capture_logs() as logs:
        root = await made(api)
        path = f"/listeners/{root['listeners'][0]['id']}"
        await api.put(path, {"listener": {"tags": ["blue", "web", "broken", "esd:other"]}})
        body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 81, "tags": ["other", "blue"]}
        await api.post("/listeners", {"listener": body})
    assert [one["tag"] for one in logs if one["event"] == BARE] == ["web", "other"]
    assert [one.enhanced_services for one in await listeners(root)] == [("other",), ()]


def test_bare_tags_are_optional_names_where_controllers_honour_them() -> None:
    tags = ["blue", "esd:web", "a b", "web", "x" * 65]
    names = select_services(policies=["p"], listener_tags=tags, load_balancer_tags=["other"], flavor=["f"], bare=True)
    assert names == ("p", "web", "?blue", "f")


async def test_tenants_see_what_a_service_does_but_no_lines_of_operators(api: Client) -> None:
    shown = (await api.get("/providers/f5/capabilities"))["capabilities"]["offered_enhanced_services"]
    assert next(one for one in shown if one["name"] == "web")["parts"] == {"haproxy_lines": 1, "drain": 60}


async def test_parameters_in_tags_reach_the_listener(api: Client, listeners: Listeners) -> None:
    root = await made(api, tags=["esd:rate:requests=50", "esd:rate:interval=20"])
    (found,) = await listeners(root)
    assert found.enhanced_services == ("rate",)
    assert found.service_parameters == {"rate": {"requests": 50, "interval": 20}}
    path = f"/listeners/{root['listeners'][0]['id']}"
    await api.put(path, {"listener": {"tags": ["esd:rate:requests=60"]}})
    (found,) = await listeners(root)
    assert found.service_parameters == {"rate": {"requests": 60, "interval": 20}}
    shown = (await api.get("/providers/f5/capabilities"))["capabilities"]["offered_enhanced_services"]
    rate = next(one for one in shown if one["name"] == "rate")
    assert rate["parameters"]["requests"] == {
        "sets": "rate_limit.requests",
        "minimum": 10,
        "maximum": 500,
        "default": 100,
    }


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        (["esd:rate:requests=9"], "'esd:rate:requests=9': requests 9. Allowed: 10 to 500."),
        (["esd:rate:requests=501"], "requests 501. Allowed: 10 to 500."),
        (["esd:rate:requests=5e1"], "no whole number. Allowed: 10 to 500."),
        (["esd:rate:requests"], "no whole number"),
        (["esd:rate:"], "another form. Allowed: esd:NAME:PARAMETER=NUMBER."),
        (["esd:rate:size=5"], "has no parameter 'size'. Allowed: interval, requests."),
        (["esd:web:size=5"], "has no parameter 'size'. Allowed: none."),
        (["esd:absent:size=5"], "'esd:absent': provider 'f5' has no enhanced service of that name"),
        (["esd:rate:requests=50", "esd:rate:requests=60"], "both set requests. Allowed: one of them."),
    ],
)
async def test_wrong_parameters_are_refused_with_what_is_allowed(api: Client, tags: list[str], words: str) -> None:
    answer = await api.post("/loadbalancers", bodies.populated(tags=tags), 400)
    assert words in answer["faultstring"]


@pytest.mark.parametrize("place", ["esd:rate:requests={}", "esd:rate:{}=50", "esd:rate:requests=50{}"])
async def test_hostile_parameters_are_refused(api: Client, place: str) -> None:
    root = await made(api)
    path = f"/loadbalancers/{root['id']}"
    for text in HOSTILE:
        if place.format(text) != "esd:rate:requests=50":
            await api.put(path, {"loadbalancer": {"tags": [place.format(text)]}}, 400)
    assert (await api.get(path))["loadbalancer"]["tags"] == []
