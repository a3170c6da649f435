"""Flavors, availability zones and their profiles as Octavia's API has them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.core.control.environments import Environment
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.ports import Store
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink

STRICT = Capabilities(flavor_metadata={"size": "How large"}, availability_zone_metadata={})


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Client]:
    """An API with a provider that takes any data, ``dev``, and one that takes little, ``strict``."""
    await store.operators.add_environment(Environment(name="strict", device_driver="strict"))
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=Sink(),
        default_provider="dev",
        capabilities={"strict": STRICT},
    )
    async with Client.of(app) as client:
        yield client


async def flavor(api: Client, *, provider: str = "dev", data: str = "{}", **values: Any) -> dict[str, Any]:
    profile = {"name": "fp", "provider_name": provider, "flavor_data": data}
    made = (await api.post("/flavorprofiles", {"flavorprofile": profile}))["flavorprofile"]
    body = {"name": f"flavor-{made['id'][:8]}", "flavor_profile_id": made["id"], **values}
    shown: dict[str, Any] = (await api.post("/flavors", {"flavor": body}))["flavor"]
    return shown


async def zone(
    api: Client, name: str = "az", *, provider: str = "dev", data: str = "{}", **values: Any
) -> dict[str, Any]:
    profile = {"name": "zp", "provider_name": provider, "availability_zone_data": data}
    wrapped = {"availability_zone_profile": profile}
    made = (await api.post("/availabilityzoneprofiles", wrapped))["availability_zone_profile"]
    body = {"name": name, "availability_zone_profile_id": made["id"], **values}
    shown: dict[str, Any] = (await api.post("/availabilityzones", {"availability_zone": body}))["availability_zone"]
    return shown


async def test_flavors_live_a_whole_life(api: Client) -> None:
    made = await flavor(api, data='{"any": "thing"}')
    assert made == {**made, "description": "", "enabled": True}
    assert set(made) == {"id", "name", "description", "enabled", "flavor_profile_id"}
    path, profile = f"/flavors/{made['id']}", f"/flavorprofiles/{made['flavor_profile_id']}"
    assert (await api.get(path))["flavor"] == made
    assert await api.get("/flavors") == {"flavors": [made], "flavors_links": []}
    shown = {"id": made["flavor_profile_id"], "name": "fp", "provider_name": "dev", "flavor_data": '{"any": "thing"}'}
    assert await api.get("/flavorprofiles") == {"flavorprofiles": [shown], "flavorprofile_links": []}
    changed = await api.put(path, {"flavor": {"name": "gold", "description": "best", "enabled": False}})
    assert changed["flavor"] == made | {"name": "gold", "description": "best", "enabled": False}
    assert (await api.put(path, {"flavor": {"description": None, "enabled": None}}))["flavor"]["enabled"] is True
    assert "flavor_profile_id" in (await api.put(path, {"flavor": {"flavor_profile_id": "x"}}, 400))["faultstring"]
    assert (await api.put(profile, {"flavorprofile": {"name": "new"}}))["flavorprofile"]["name"] == "new"
    for refused in (
        await api.put(profile, {"flavorprofile": {"flavor_data": "{}"}}, 409),
        await api.delete(profile, 409),
    ):
        assert "is in use and cannot be modified" in refused["faultstring"]
    await api.post("/flavors", {"flavor": {"name": "gold", "flavor_profile_id": made["flavor_profile_id"]}}, 409)
    await api.delete(path)
    assert (await api.get(path, 404))["faultstring"] == f"Flavor {made['id']} not found."
    changed = await api.put(profile, {"flavorprofile": {"flavor_data": "{}", "provider_name": "strict"}})
    assert changed["flavorprofile"]["provider_name"] == "strict"
    await api.delete(profile)
    await api.delete(profile, 404)


async def test_zones_live_a_whole_life_by_name(api: Client) -> None:
    made = await zone(api, "Rack 1 ü", description="d")
    assert set(made) == {"name", "description", "enabled", "availability_zone_profile_id"}
    profile = f"/availabilityzoneprofiles/{made['availability_zone_profile_id']}"
    assert (await api.get("/availabilityzones/Rack 1 ü"))["availability_zone"] == made
    assert await api.get("/availabilityzones") == {"availability_zones": [made], "availability_zones_links": []}
    listed = await api.get("/availabilityzoneprofiles")
    assert [row["id"] for row in listed["availability_zone_profiles"]] == [made["availability_zone_profile_id"]]
    assert listed["availability_zone_profile_links"] == []
    body = {"availability_zone": {"description": "e", "enabled": False}}
    assert (await api.put("/availabilityzones/Rack 1 ü", body))["availability_zone"]["enabled"] is False
    await api.put("/availabilityzones/Rack 1 ü", {"availability_zone": {"name": "x"}}, 400)
    await api.delete(profile, 409)
    await api.delete("/availabilityzones/Rack 1 ü")
    await api.get("/availabilityzones/Rack 1 ü", 404)
    await api.delete(profile)


async def test_flavors_are_filtered_ordered_and_paged(api: Client) -> None:
    names = [(await flavor(api, name=name, enabled=name != "b"))["name"] for name in ("c", "b", "a")]

    async def listed(query: str) -> list[str]:
        return [row["name"] for row in (await api.get(f"/flavors?{query}"))["flavors"]]

    assert sorted(await listed("")) == sorted(names)
    assert await listed("enabled=false") == ["b"]
    assert await listed("sort=name:asc&limit=2") == ["a", "b"]
    page = await api.get("/flavors?limit=2&fields=name&sort=name:desc")
    assert (await api.http.get(page["flavors_links"][0]["href"])).json()["flavors"] == [{"name": "a"}]
    for query in ("color=x", "tags=a", "sort=tags", "marker=nobody"):
        await api.get(f"/flavors?{query}", 400)


@pytest.mark.parametrize(
    ("path", "name", "body", "status", "word"),
    [
        ("flavorprofiles", "flavorprofile", {"flavor_data": "no"}, 400, "no is not a valid option for flavor_data"),
        ("flavorprofiles", "flavorprofile", {"flavor_data": "[1]"}, 400, "flavor_data"),
        ("flavorprofiles", "flavorprofile", {"flavor_data": "{}", "provider_name": "nobody"}, 400, "nobody"),
        (
            "flavorprofiles",
            "flavorprofile",
            {"flavor_data": '{"color": 1}', "provider_name": "strict"},
            501,
            "flavor_data color. Allowed: size.",
        ),
        (
            "availabilityzoneprofiles",
            "availability_zone_profile",
            {"availability_zone_data": '{"environment_group_number": "x"}'},
            400,
            "environment_group_number should be the number",
        ),
        (
            "availabilityzoneprofiles",
            "availability_zone_profile",
            {"availability_zone_data": '{"color": 1}', "provider_name": "strict"},
            501,
            "availability_zone_data color",
        ),
        ("flavors", "flavor", {"flavor_profile_id": "nope"}, 400, "flavor_profile_id"),
    ],
)
async def test_invalid_profile_data_is_refused_by_name(
    api: Client, path: str, name: str, body: dict[str, Any], status: int, word: str
) -> None:
    whole = {"name": "x", **({} if path == "flavors" else {"provider_name": "dev"}), **body}
    assert word in (await api.post(f"/{path}", {name: whole}, status))["faultstring"]


async def test_providers_tell_what_profiles_may_say(api: Client) -> None:
    answer = await api.get("/providers/strict/flavor_capabilities")
    assert answer == {"flavor_capabilities": [{"name": "size", "description": "How large"}]}
    assert await api.get("/providers/dev/flavor_capabilities") == {"flavor_capabilities": []}
    for provider in ("dev", "strict"):
        answer = await api.get(f"/providers/{provider}/availability_zone_capabilities?fields=name")
        assert answer == {"availability_zone_capabilities": [{"name": "environment_group_number"}]}
    for kind in ("flavor", "availability_zone"):
        assert "nobody" in (await api.get(f"/providers/nobody/{kind}_capabilities", 400))["faultstring"]


# -- load balancers


async def test_a_load_balancer_has_its_flavor_and_zone(api: Client, store: Store) -> None:
    chosen = await flavor(api, provider="strict", data='{"size": 2}')
    await zone(api, provider="strict", data='{"environment_group_number": 7}')
    root = await api.load_balancer(flavor_id=chosen["id"], availability_zone="az")
    await api.load_balancer()
    assert (root["flavor_id"], root["availability_zone"], root["provider"]) == (chosen["id"], "az", "strict")
    shown = (await api.get(f"/loadbalancers/{root['id']}"))["loadbalancer"]
    assert (shown["flavor_id"], shown["availability_zone"]) == (chosen["id"], "az")
    for query in (f"flavor_id={chosen['id']}", "availability_zone=az"):
        assert [row["id"] for row in (await api.get(f"/loadbalancers?{query}"))["loadbalancers"]] == [root["id"]]
    assert len((await api.get("/loadbalancers?flavor_id="))["loadbalancers"]) == 1
    assert (await store.tenants.tree(root["id"], project_id=None)).load_balancer.zone_group_number == 7
    for path in (f"/flavors/{chosen['id']}", "/availabilityzones/az"):
        assert "is in use and cannot be modified" in (await api.delete(path, 409))["faultstring"]
    put = await api.put(f"/loadbalancers/{root['id']}", {"loadbalancer": {"flavor_id": chosen["id"]}}, 400)
    assert "flavor_id" in put["faultstring"]


async def test_disabled_or_foreign_flavor_or_zone_is_refused(api: Client) -> None:
    off = await flavor(api, enabled=False)
    strict = await flavor(api, provider="strict")
    await zone(api, "off", enabled=False)
    await zone(api, "strict", provider="strict")
    for body, word in (
        ({"flavor_id": "nope"}, "Validation failure: Invalid flavor_id."),
        ({"availability_zone": "nope"}, "Validation failure: Invalid availability zone."),
        ({"flavor_id": off["id"]}, f"The selected flavor is not allowed in this deployment: {off['id']}"),
        ({"availability_zone": "off"}, "The selected availability_zone is not allowed in this deployment: off"),
        ({"flavor_id": strict["id"], "provider": "dev"}, f"Flavor '{strict['id']}' is not compatible with provider"),
        ({"availability_zone": "strict"}, "Availability zone 'strict' is not compatible with provider 'dev'"),
    ):
        answer = await api.post("/loadbalancers", bodies.load_balancer(**body), 400)
        assert word in answer["faultstring"]
    assert (await api.get("/loadbalancers"))["loadbalancers"] == []


async def test_resize_gives_a_load_balancer_another_flavor(api: Client) -> None:
    small, large = await flavor(api), await flavor(api)
    root = await api.load_balancer(flavor_id=small["id"])
    path = f"/loadbalancers/{root['id']}"
    for wanted in (large, large, small):
        assert await api.put(f"{path}/resize", {"new_flavor_id": wanted["id"]}, 202) is None
        shown = (await api.get(path))["loadbalancer"]
        assert shown["flavor_id"] == wanted["id"]
    await api.delete(f"/flavors/{large['id']}")
    await api.delete(f"/flavors/{small['id']}", 409)


async def test_load_balancer_without_a_flavor_gets_one_by_resize(api: Client) -> None:
    made, root = await flavor(api), await api.load_balancer()
    await api.put(f"/loadbalancers/{root['id']}/resize", {"new_flavor_id": made["id"]}, 202)
    assert (await api.get(f"/loadbalancers/{root['id']}"))["loadbalancer"]["flavor_id"] == made["id"]


async def test_resize_to_a_flavor_that_cannot_be_is_refused_and_changes_nothing(api: Client) -> None:
    root = await api.load_balancer()
    path = f"/loadbalancers/{root['id']}/resize"
    other = await flavor(api, provider="strict")
    port = await flavor(api, data='{"sriov_vip": true}')
    off = await flavor(api, enabled=False)
    for wanted, word in (
        (other["id"], "is not compatible with provider 'dev'"),
        (port["id"], "needs a VIP port of vnic_type 'direct'"),
        (off["id"], "not allowed in this deployment"),
        (bodies.SUBNET_ID, "Invalid flavor_id"),
        ("nonsense", "new_flavor_id"),
        (None, "new_flavor_id"),
    ):
        assert word in (await api.put(path, {"new_flavor_id": wanted}, 400))["faultstring"]
    await api.put(path, {}, 400)
    await api.put(f"/loadbalancers/{bodies.SUBNET_ID}/resize", {"new_flavor_id": other["id"]}, 404)
    shown = (await api.get(f"/loadbalancers/{root['id']}"))["loadbalancer"]
    assert (shown["flavor_id"], shown["updated_at"]) == (None, root["updated_at"])
