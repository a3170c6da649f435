"""What gophercloud's acceptance tests send (``internal/acceptance/openstack/loadbalancer/v2``), with fixed names and
ports: the library of Terraform's provider, of Kubernetes' controllers, and of others written in Go."""

from typing import Any

from tests.compat.octavia.stories.lines import (
    delete,
    get,
    listener,
    load_balancer,
    member,
    monitor,
    policy,
    pool,
    post,
    put,
    rule,
)
from tests.compat.table import Line

NAME, DESCRIPTION = "TESTACCT-abcdefgh", "TESTACCT-DESC-abcdefgh"
NAMED = {"name": NAME, "description": DESCRIPTION}
PING = {"name": NAME, "type": "PING", "delay": 10, "timeout": 5, "max_retries": 5, "max_retries_down": 4}


def _root(**attributes: Any) -> Line:
    return load_balancer(**NAMED, admin_state_up=True, **attributes)


def _http() -> list[Line]:
    headers = {"X-Forwarded-For": "true"}
    redirect: dict[str, Any] = {"action": "REDIRECT_TO_URL", "redirect_url": "http://www.example.com"}
    to_pool = {"action": "REDIRECT_TO_POOL", "redirect_pool_id": "{pool}", "redirect_url": None}
    changed = {"type": "PATH", "compare_type": "REGEX", "value": "/images/special*", "tags": ["test", "test1"]}
    return [
        _root(),
        listener(**NAMED, insert_headers=headers, tls_versions=["TLSv1.2", "TLSv1.3"]),
        policy(**NAMED, **redirect, tags=["test"]),
        put("/l7policies/{policy}", {"l7policy": {"description": "", "tags": ["test", "test1"]}}),
        get("/l7policies/{policy}"),
        rule(value="/api", tags=["test"]),
        get("/l7policies/{policy}/rules"),
        put("/l7policies/{policy}/rules/{rule}", {"rule": changed}),
        get("/l7policies/{policy}/rules/{rule}"),
        pool(**NAMED, lb_algorithm="LEAST_CONNECTIONS"),
        put("/pools/{pool}", {"pool": {"name": "", "description": ""}}),
        get("/pools/{pool}"),
        put("/l7policies/{policy}", {"l7policy": to_pool}),
        get("/l7policies/{policy}"),
        member(name=NAME, weight=3, subnet_id="{subnet}"),
        monitor(**PING),
        delete("/healthmonitors/{monitor}"),
        delete("/pools/{pool}/members/{member}"),
        delete("/l7policies/{policy}/rules/{rule}"),
        delete("/l7policies/{policy}"),
        delete("/pools/{pool}"),
        delete("/listeners/{listener}"),
        delete("/loadbalancers/{lb}"),
        get("/loadbalancers/{lb}"),
    ]


def _tcp() -> list[Line]:
    batch = {"members": [{"address": "192.0.2.10", "protocol_port": 8080, "weight": 50}]}
    return [
        _root(tags=["test"]),
        put("/loadbalancers/{lb}", {"loadbalancer": {"description": ""}}),
        get("/loadbalancers/{lb}"),
        get("/loadbalancers/{lb}/stats"),
        listener(**NAMED, protocol="TCP"),
        put("/listeners/{listener}", {"listener": {"name": "", "description": ""}}),
        get("/listeners/{listener}"),
        get("/listeners/{listener}/stats"),
        pool(**NAMED, protocol="TCP", lb_algorithm="LEAST_CONNECTIONS"),
        put("/listeners/{listener}", {"listener": {"default_pool_id": "{pool}"}}),
        get("/listeners/{listener}"),
        put("/listeners/{listener}", {"listener": {"default_pool_id": None}}),
        get("/listeners/{listener}"),
        member(name=NAME, weight=3, subnet_id="{subnet}"),
        put("/pools/{pool}/members/{member}", {"member": {"name": "", "weight": 20}}),
        get("/pools/{pool}/members/{member}"),
        put("/pools/{pool}/members", batch),
        get("/pools/{pool}/members/{member}"),
        get("/pools/{pool}"),
        monitor(**PING),
        put("/healthmonitors/{monitor}", {"healthmonitor": {"name": "", "delay": 25, "max_retries_down": 5}}),
        get("/healthmonitors/{monitor}"),
        get("/loadbalancers/{lb}/status"),
    ]


def _populated() -> list[Line]:
    pool_: dict[str, Any] = {
        **NAMED,
        "protocol": "HTTP",
        "lb_algorithm": "LEAST_CONNECTIONS",
        "members": [
            {"name": NAME, "address": "1.2.3.4", "protocol_port": 200, "weight": 3, "subnet_id": "{subnet}"},
        ],
        "healthmonitor": {"type": "HTTP", "delay": 10, "timeout": 5, "max_retries": 5, "max_retries_down": 4},
    }
    policy_ = {
        **NAMED,
        "action": "REDIRECT_TO_URL",
        "redirect_url": "http://www.example.com",
        "rules": [{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/api"}],
    }
    listener_ = {**NAMED, "protocol": "HTTP", "protocol_port": 80, "default_pool": pool_, "l7policies": [policy_]}
    return [
        _root(tags=["test"], listeners=[listener_]),
        get("/loadbalancers/{lb}/status"),
        delete("/loadbalancers/{lb}?cascade=true"),
    ]


def _tags() -> list[Line]:
    """Each filter, with a match and without, of each kind that has tags."""
    tags = {"tags": ["one", "two"]}
    queries = (
        *("tags=one,two", "tags=one,missing", "tags-any=one,missing", "tags-any=missing"),
        *("not-tags=one,two", "not-tags=one,missing", "not-tags-any=one,missing", "not-tags-any=missing"),
    )
    below = {
        "/loadbalancers?": "",
        "/listeners?": "loadbalancer_id={lb}&",
        "/pools?": "loadbalancer_id={lb}&",
        "/pools/{pool}/members?": "",
        "/healthmonitors?": "pool_id={pool}&",
    }
    return [
        _root(**tags),
        pool(**tags),
        listener(**tags, default_pool_id="{pool}"),
        member(**tags),
        monitor(**tags),
        *(get(f"{path}{parent}{query}") for path, parent in below.items() for query in queries),
    ]


def _quotas() -> list[Line]:
    quotas = {
        "loadbalancer": 25,
        "listener": 45,
        "member": 205,
        "pool": 25,
        "healthmonitor": 5,
        "l7policy": 55,
        "l7rule": 105,
    }
    unlimited = dict.fromkeys(quotas, -1)
    path = "/quotas/proj-a"
    return [
        get(path, who="admin"),
        put(path, {"quota": quotas}, who="admin"),
        put(path, {"quota": unlimited}, who="admin"),
        delete(path, who="admin"),
    ]


def _flavors() -> list[Line]:
    profile = {"name": NAME, "provider_name": "noop", "flavor_data": "{}"}
    flavor = {"name": NAME, "description": DESCRIPTION, "flavor_profile_id": "{profile}", "enabled": True}
    return [
        get("/flavors", who="admin"),
        get("/flavorprofiles", who="admin"),
        post("/flavorprofiles", {"flavorprofile": profile}, who="admin", save="profile"),
        get("/flavorprofiles/{profile}", who="admin"),
        put("/flavorprofiles/{profile}", {"flavorprofile": {"name": "TESTACCTUP-a"}}, who="admin"),
        post("/flavors", {"flavor": flavor}, who="admin", save="flavor"),
        put("/flavors/{flavor}", {"flavor": {"name": "TESTACCTUP-a"}}, who="admin"),
        delete("/flavors/{flavor}", who="admin"),
        delete("/flavorprofiles/{profile}", who="admin"),
    ]


STORIES = {
    "gophercloud, HTTP": _http(),
    "gophercloud, TCP": _tcp(),
    "gophercloud, in one request": _populated(),
    "gophercloud, tags": _tags(),
    "gophercloud, quotas": _quotas(),
    "gophercloud, flavors": _flavors(),
}
