"""Neutron's agent extension, and what else Neutron is asked for."""

from typing import Any

from tests.api.client import Client
from tests.api.live import InstantAgent
from tests.api.neutron.maker import LBAAS, NOBODY, Maker


async def test_agent_is_shown_drained_and_kept(api: Client, store: Any) -> None:
    await InstantAgent(store).register()
    (agent,) = (await api.get("/neutron/v2.0/agents?alive=True&host=host"))["agents"]
    assert (agent["id"], agent["agent_type"], agent["topic"]) == ("instant", "Loadbalancerv2 agent", "dev_1")
    assert agent["configurations"]["environment_prefix"] == "dev"
    assert (await api.get("/neutron/v2.0/agents?alive=False"))["agents"] == []
    assert (await api.get("/neutron/v2.0/agents?agent_type=L3%20agent"))["agents"] == []
    (old,) = (await api.get("/neutron/v2.0/agents?agent_type=Loadbalancer%20agent"))["agents"]
    assert old["agent_type"] == "Loadbalancer agent"
    path = "/neutron/v2.0/agents/instant"
    assert (await api.put(path, {"agent": {"admin_state_up": "False"}}))["agent"]["admin_state_up"] is False
    assert (await api.put(path, {"agent": {}}))["agent"]["admin_state_up"] is False
    assert (await api.delete(path, 409))["NeutronError"]["message"].startswith("Agent instant is alive")


async def test_agent_and_load_balancer_are_informed_of_each_other(
    api: Client, sink: Any, store: Any, v2: Maker
) -> None:
    agent = InstantAgent(store)
    await agent.register()
    root = await v2.root()
    path = f"{LBAAS}/loadbalancers/{root['id']}/loadbalancer-hosting-agent"
    assert await api.get(path) is None
    await agent.change_accepted(sink.changes[-1])
    assert (await api.get(path))["agent"]["id"] == "instant"
    listed = (await api.get("/neutron/v2.0/agents/instant/agent-loadbalancers"))["loadbalancers"]
    assert [row["id"] for row in listed] == [root["id"]]
    assert await api.get("/neutron/v2.0/agents/nobody/agent-loadbalancers") == {"loadbalancers": []}
    assert await api.get(f"{LBAAS}/loadbalancers/{NOBODY}/loadbalancer-hosting-agent") is None


async def test_versions_extensions_and_quotas_are_reported(api: Client) -> None:
    (version,) = (await api.get("/neutron"))["versions"]
    assert version["links"] == [{"href": "http://api.test/neutron/v2.0/", "rel": "self"}]
    known = {row["alias"] for row in (await api.get("/neutron/v2.0/extensions?fields=alias"))["extensions"]}
    assert {"lbaasv2", "lbaas", "lbaas_agent_scheduler", "lbaas_agent_schedulerv2", "lb-graph"} <= known
    assert (await api.get("/neutron/v2.0/extensions/lbaasv2"))["extension"]["name"] == "LBaaS v2"
    (provider,) = (await api.get("/neutron/v2.0/service-providers"))["service_providers"]
    assert provider == {"service_type": "LOADBALANCERV2", "name": "dev", "default": True}
    quota = (await api.put("/neutron/v2.0/quotas/p", {"quota": {"vip": "3", "health_monitor": 4}}))["quota"]
    assert (quota["vip"], quota["listener"], quota["healthmonitor"]) == (3, 3, 4)
    await api.put("/neutron/v2.0/quotas/p", {"quota": {"vip": 3, "listener": 4}}, 400)
    assert [row["tenant_id"] for row in (await api.get("/neutron/v2.0/quotas"))["quotas"]] == ["p"]
    await api.delete("/neutron/v2.0/quotas/p")
    assert (await api.get("/neutron/v2.0/quotas/p/default"))["quota"]["pool"] == -1
    assert (await api.get("/neutron/v2.0/quotas/tenant"))["tenant"] == {"tenant_id": "default"}
