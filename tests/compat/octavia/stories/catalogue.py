"""Providers, flavors, availability zones and their profiles, for administrators."""

from typing import Any

from tests.compat.octavia.stories.lines import changes, delete, get, load_balancer, post, put
from tests.compat.table import Line

_NOBODY = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"


def _profile(save: str = "", **attributes: Any) -> Line:
    body = {"name": "p", "provider_name": "noop", "flavor_data": "{}", **attributes}
    return post("/flavorprofiles", {"flavorprofile": body}, save=save, who="admin")


def _flavor(save: str = "", **attributes: Any) -> Line:
    body = {"name": "f", "flavor_profile_id": "{profile}", **attributes}
    return post("/flavors", {"flavor": body}, save=save, who="admin")


def _zone_profile(save: str = "", **attributes: Any) -> Line:
    body = {"name": "p", "provider_name": "noop", "availability_zone_data": "{}", **attributes}
    return post("/availabilityzoneprofiles", {"availability_zone_profile": body}, save=save, who="admin")


def _zone(**attributes: Any) -> Line:
    body = {"name": "z", "availability_zone_profile_id": "{zones}", **attributes}
    return post("/availabilityzones", {"availability_zone": body}, who="admin")


def _as_admin(path: str, key: str, *bodies: dict[str, Any]) -> list[Line]:
    return [put(line.path, line.body, who="admin") for line in changes(path, key, bodies)]


def _flavors() -> list[Line]:
    return [
        get("/providers"),
        get("/providers?fields=name"),
        get("/providers?name=noop"),
        get("/providers/noop/flavor_capabilities"),
        get("/providers/noop/flavor_capabilities", who="admin"),
        get("/providers/noop/availability_zone_capabilities", who="admin"),
        get("/providers/nobody/flavor_capabilities", who="admin"),
        get("/providers/nobody/availability_zone_capabilities", who="admin"),
        get("/providers/noop", who="admin"),
        _profile("profile"),
        _profile(name="another"),
        _profile(name="data", flavor_data='{"loadbalancer_topology": "SINGLE"}'),
        _profile(name="x" * 256),
        _profile(provider_name="nobody"),
        _profile(provider_name=None),
        _profile(flavor_data="nonsense"),
        _profile(flavor_data={}),
        _profile(name="colour", flavor_data='{"colour": "blue"}'),
        _profile(flavor_data=None),
        _profile(colour="blue"),
        post("/flavorprofiles", {"flavorprofile": {"name": "p"}}, who="admin"),
        post("/flavorprofiles", {"flavorprofile": {"name": "p", "provider_name": "noop", "flavor_data": "{}"}}),
        post("/flavorprofiles", {}, who="admin"),
        get("/flavorprofiles?sort=name", who="admin"),
        get("/flavorprofiles"),
        get("/flavorprofiles/{profile}", who="admin"),
        get("/flavorprofiles/{profile}"),
        get("/flavorprofiles/nobody", who="admin"),
        get("/flavorprofiles/{profile}?fields=name", who="admin"),
        *_as_admin(
            "/flavorprofiles/{profile}",
            "flavorprofile",
            {},
            {"name": "new"},
            {"provider_name": "other"},
            {"flavor_data": "nonsense"},
            {"flavor_data": '{"loadbalancer_topology": "SINGLE"}'},
            {"colour": "blue"},
        ),
        put("/flavorprofiles/nobody", {"flavorprofile": {"name": "x"}}, who="admin"),
        _flavor("flavor"),
        _flavor(),
        _flavor(name="other", description="text", enabled=False),
        _flavor(name="third", enabled="no"),
        _flavor(name="x" * 256),
        _flavor(name="fourth", flavor_profile_id="nonsense"),
        _flavor(name="fourth", flavor_profile_id=_NOBODY),
        _flavor(name="fourth", flavor_profile_id=None),
        _flavor(name="fourth", colour="blue"),
        post("/flavors", {"flavor": {"name": "f"}}, who="admin"),
        post("/flavors", {"flavor": {"name": "f", "flavor_profile_id": "{profile}"}}),
        post("/flavors", {"flavor": {}}, who="admin"),
        get("/flavors?sort=name"),
        get("/flavors?sort=name", who="admin"),
        get("/flavors?name=other"),
        get("/flavors/{flavor}"),
        get("/flavors/{flavor}", who="admin"),
        get("/flavors/nobody"),
        get("/flavors/{flavor}?fields=name"),
        *_as_admin(
            "/flavors/{flavor}",
            "flavor",
            {},
            {"name": "new"},
            {"name": "other"},
            {"description": None},
            {"enabled": None},
            {"enabled": "no"},
            {"flavor_profile_id": "{profile}"},
        ),
        load_balancer("", flavor_id="{flavor}"),
        put("/flavors/{flavor}", {"flavor": {"enabled": True}}, who="admin"),
        put("/flavors/{flavor}", {"flavor": {"enabled": True}}),
        put("/flavors/nobody", {"flavor": {"name": "x"}}, who="admin"),
        load_balancer(flavor_id="{flavor}"),
        load_balancer("", flavor_id="{flavor}", provider="other"),
        put("/flavorprofiles/{profile}", {"flavorprofile": {"flavor_data": "{}"}}, who="admin"),
        delete("/flavorprofiles/{profile}", who="admin"),
        delete("/flavors/{flavor}", who="admin"),
        delete("/loadbalancers/{lb}"),
        delete("/flavors/{flavor}"),
        delete("/flavors/{flavor}", who="admin"),
        get("/flavors/{flavor}", who="admin"),
        delete("/flavors/nobody", who="admin"),
        delete("/flavorprofiles/nobody", who="admin"),
    ]


def _zones() -> list[Line]:
    return [
        _zone_profile("zones"),
        _zone_profile(name="data", availability_zone_data='{"compute_zone": "nova"}'),
        _zone_profile(provider_name="nobody"),
        _zone_profile(availability_zone_data="nonsense"),
        _zone_profile(name="colour", availability_zone_data='{"colour": "blue"}'),
        _zone_profile(colour="blue"),
        post("/availabilityzoneprofiles", {"availability_zone_profile": {"name": "p"}}, who="admin"),
        get("/availabilityzoneprofiles?sort=name", who="admin"),
        get("/availabilityzoneprofiles"),
        get("/availabilityzoneprofiles/{zones}", who="admin"),
        get("/availabilityzoneprofiles/nobody", who="admin"),
        *_as_admin(
            "/availabilityzoneprofiles/{zones}",
            "availability_zone_profile",
            {},
            {"name": "new"},
            {"availability_zone_data": "nonsense"},
            {"availability_zone_data": '{"compute_zone": "nova"}'},
        ),
        put("/availabilityzoneprofiles/nobody", {"availability_zone_profile": {"name": "x"}}, who="admin"),
        _zone(),
        _zone(),
        _zone(name="off", enabled=False, description="text"),
        _zone(name=None),
        _zone(name="x" * 256),
        _zone(name="y", availability_zone_profile_id="nonsense"),
        _zone(name="y", availability_zone_profile_id=_NOBODY),
        _zone(name="y", colour="blue"),
        post("/availabilityzones", {"availability_zone": {"name": "y"}}, who="admin"),
        post("/availabilityzones", {"availability_zone": {"name": "y", "availability_zone_profile_id": "{zones}"}}),
        get("/availabilityzones?sort=name"),
        get("/availabilityzones?sort=name", who="admin"),
        get("/availabilityzones/z"),
        get("/availabilityzones/z", who="admin"),
        get("/availabilityzones/nobody"),
        *_as_admin(
            "/availabilityzones/z",
            "availability_zone",
            {},
            {"description": "new"},
            {"description": None},
            {"enabled": "no"},
            {"enabled": None},
            {"enabled": True},
            {"name": "new"},
        ),
        put("/availabilityzones/nobody", {"availability_zone": {"description": "x"}}, who="admin"),
        load_balancer(availability_zone="z"),
        load_balancer("", availability_zone="off"),
        put("/availabilityzoneprofiles/{zones}", {"availability_zone_profile": {"name": "used"}}, who="admin"),
        delete("/availabilityzoneprofiles/{zones}", who="admin"),
        delete("/availabilityzones/z", who="admin"),
        delete("/loadbalancers/{lb}"),
        delete("/availabilityzones/z", who="admin"),
        get("/availabilityzones/z", who="admin"),
        delete("/availabilityzones/nobody", who="admin"),
    ]


def _lists() -> list[Line]:
    kinds = ("flavors", "flavorprofiles", "availabilityzones", "availabilityzoneprofiles")
    asked = ("project_id=proj-a", "project_id=proj-a&project_id=proj-b", "tenant_id=proj-a", "tags=red", "tags-any=red")
    keys = ("name", "created_at", "updated_at", "project_id", "id")
    return [
        _profile("profile"),
        _flavor("flavor"),
        _zone_profile("zones"),
        _zone(),
        *(get(f"/{kind}?{question}", who="admin") for kind in kinds for question in asked),
        *(get(f"/{kind}?sort={key}", who="admin") for kind in kinds for key in keys),
        put("/quotas/proj-a", {"quota": {"pool": 5}}, who="admin"),
        *(get(f"/quotas?sort={key}", who="admin") for key in ("created_at", "updated_at")),
        get("/quotas?colour=blue", who="admin"),
    ]


STORIES = {
    "providers and flavors": _flavors(),
    "availability zones": _zones(),
    "lists of the catalogue": _lists(),
}
