"""The requests of Terraform's OpenStack provider, in its order and with its bodies, on a cloud without Neutron.

The provider is in Go: these are the requests that it is documented to make through gophercloud, with the statuses that
gophercloud takes for success.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api import bodies
from tests.api.live import LiveServer
from tests.api.subnet import SUBNET
from tests.waiting import eventually

LBAAS = "/v2.0/lbaas"
SUCCESS = {"POST": (201, 202), "PUT": (200, 202), "DELETE": (202, 204), "GET": (200,)}
Document = dict[str, Any]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveServer]:
    with LiveServer.started(tmp_path) as server:
        yield server


class Provider:
    """What the resources of the provider do."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.root = ""

    async def ask(self, method: str, path: str, json: Document | None = None) -> Any:
        answer = await self._http.request(method, path, json=json, headers={"Accept": "application/json"})
        assert answer.status_code in SUCCESS[method], (method, path, answer.text)
        return answer.json() if answer.content else None

    async def active(self) -> Document:
        """Between any two changes."""

        async def status() -> bool:
            shown: Document = (await self.ask("GET", f"{LBAAS}/loadbalancers/{self.root}"))["loadbalancer"]
            return bool(shown["provisioning_status"] == "ACTIVE")

        await eventually(status)
        shown: Document = (await self.ask("GET", f"{LBAAS}/loadbalancers/{self.root}"))["loadbalancer"]
        return shown

    async def create(self, plural: str, name: str, /, **attributes: Any) -> Document:
        made = (await self.ask("POST", f"{LBAAS}/{plural}", {name: attributes}))[name]
        self.root = made["id"] if name == "loadbalancer" else self.root
        await self.active()
        return await self.read(plural, name, made["id"])

    async def read(self, plural: str, name: str, object_id: str) -> Document:
        shown: Document = (await self.ask("GET", f"{LBAAS}/{plural}/{object_id}"))[name]
        return shown

    async def update(self, plural: str, name: str, object_id: str, /, **attributes: Any) -> Document:
        await self.ask("PUT", f"{LBAAS}/{plural}/{object_id}", {name: attributes})
        await self.active()
        return await self.read(plural, name, object_id)

    async def delete(self, path: str) -> None:
        await self.ask("DELETE", f"{LBAAS}/{path}")

        async def gone() -> bool:
            return (await self._http.get(f"{LBAAS}/{path.partition('?')[0]}")).status_code == 404

        await eventually(gone)


async def test_apply_change_and_destroy(live: LiveServer) -> None:
    async with httpx.AsyncClient(base_url=live.url, timeout=60.0) as http:
        it = Provider(http)
        root = await it.create(
            "loadbalancers", "loadbalancer", name="tf", vip_subnet_id=bodies.SUBNET_ID, admin_state_up=True
        )
        port = (await it.ask("GET", f"/v2.0/ports/{root['vip_port_id']}"))["port"]
        assert (port["security_groups"], port["fixed_ips"][0]["ip_address"]) == ([], root["vip_address"])
        (subnet,) = (await it.ask("GET", "/v2.0/subnets?name=blue"))["subnets"]
        assert subnet["id"] == root["vip_subnet_id"]

        listener = await it.create(
            "listeners",
            "listener",
            loadbalancer_id=it.root,
            protocol="HTTP",
            protocol_port=8080,
            admin_state_up=True,
            insert_headers={"X-Forwarded-For": "true"},
        )
        pool = await it.create(
            "pools",
            "pool",
            listener_id=listener["id"],
            protocol="HTTP",
            lb_algorithm="ROUND_ROBIN",
            session_persistence={"type": "HTTP_COOKIE"},
            admin_state_up=True,
        )
        await everything_below(it, listener, pool)
        await it.update("listeners", "listener", listener["id"], default_pool_id=None, connection_limit=-1)
        await it.update("loadbalancers", "loadbalancer", it.root, name="tf2", tags=["a"])
        await it.delete(f"pools/{pool['id']}")
        await it.delete(f"listeners/{listener['id']}")
        await it.delete(f"loadbalancers/{it.root}")


async def everything_below(it: Provider, listener: Document, pool: Document) -> None:
    members = f"pools/{pool['id']}/members"
    backends: list[Document] = [
        {"address": f"10.10.0.{number}", "protocol_port": 80, "name": "", "weight": 1, "admin_state_up": True}
        for number in (200, 201)
    ]
    await it.ask("PUT", f"{LBAAS}/{members}", {"members": backends})
    await it.active()
    assert len((await it.ask("GET", f"{LBAAS}/{members}"))["members"]) == 2
    member = await it.create(members, "member", address="10.10.0.202", protocol_port=80, subnet_id=bodies.SUBNET_ID)
    assert (await it.update(members, "member", member["id"], weight=0))["weight"] == 0

    monitor = await it.create(
        "healthmonitors",
        "healthmonitor",
        pool_id=pool["id"],
        type="HTTP",
        delay=20,
        timeout=10,
        max_retries=5,
        url_path="/",
        http_method="GET",
        expected_codes="200",
        admin_state_up=True,
    )
    assert (await it.update("healthmonitors", "healthmonitor", monitor["id"], delay=30))["delay"] == 30

    policy = await it.create(
        "l7policies", "l7policy", listener_id=listener["id"], action="REDIRECT_TO_POOL", redirect_pool_id=pool["id"]
    )
    rules = f"l7policies/{policy['id']}/rules"
    rule = await it.create(rules, "rule", type="PATH", compare_type="STARTS_WITH", value="/api", invert=False)
    assert (await it.update(rules, "rule", rule["id"], value="/v2"))["value"] == "/v2"
    url = "https://example.com"
    changed = await it.update("l7policies", "l7policy", policy["id"], action="REDIRECT_TO_URL", redirect_url=url)
    assert changed["redirect_url"] == url

    for path in (f"{rules}/{rule['id']}", f"l7policies/{policy['id']}", f"healthmonitors/{monitor['id']}"):
        await it.delete(path)
    await it.delete(f"{members}/{member['id']}")


async def test_quotas_flavors_and_a_cascade(live: LiveServer) -> None:
    async with httpx.AsyncClient(base_url=live.url, timeout=60.0) as http:
        it = Provider(http)
        quota = {
            "loadbalancer": 5,
            "listener": 6,
            "member": 7,
            "pool": 8,
            "healthmonitor": 9,
            "l7policy": 1,
            "l7rule": 2,
        }
        await it.ask("PUT", f"{LBAAS}/quotas/p", {"quota": quota})
        shown = (await it.ask("GET", f"{LBAAS}/quotas/p"))["quota"]
        assert {name: shown[name] for name in quota} == quota

        profile = {"name": "tf", "provider_name": "dev", "flavor_data": '{"loadbalancer_topology": "SINGLE"}'}
        made = (await it.ask("POST", f"{LBAAS}/flavorprofiles", {"flavorprofile": profile}))["flavorprofile"]
        flavor = {"name": "tf", "description": "", "flavor_profile_id": made["id"], "enabled": True}
        flavor = (await it.ask("POST", f"{LBAAS}/flavors", {"flavor": flavor}))["flavor"]
        await it.create("loadbalancers", "loadbalancer", vip_network_id=SUBNET.network_id, flavor_id=flavor["id"])
        await it.create("listeners", "listener", loadbalancer_id=it.root, protocol="TCP", protocol_port=1)
        await it.delete(f"loadbalancers/{it.root}?cascade=true")
        await it.delete(f"flavors/{flavor['id']}")
        await it.delete(f"flavorprofiles/{made['id']}")
