"""HTTP: paths, methods, media types, lists; quotas; who may do what; load balancers that take no changes."""

from tests.compat.octavia.stories.lines import (
    WORLD,
    call,
    delete,
    get,
    listener,
    load_balancer,
    member,
    policy,
    pool,
    post,
    put,
)
from tests.compat.table import Line

_COLLECTIONS = ("loadbalancers", "listeners", "pools", "healthmonitors", "l7policies", "flavors", "availabilityzones")
_LB = {"loadbalancer": {"vip_subnet_id": "{subnet}"}}


def _http() -> list[Line]:
    lines = [get("/"), get("/v2"), get("/v2.0"), get("/v2/"), get("/v3"), get("/v2/nonsense"), get("/v2/lbaas")]
    lines += [get(f"/v2/{name}") for name in (*_COLLECTIONS, "quotas", "providers")]
    lines += [get(f"/v2.0/{name}") for name in _COLLECTIONS]
    lines += [get(f"/v2.0/lbaas/{name}") for name in _COLLECTIONS]
    lines += [get(f"/{name}/") for name in _COLLECTIONS]
    for name in ("loadbalancers", "listeners", "pools", "healthmonitors", "l7policies"):
        lines += [call(method, f"/{name}", {}) for method in ("PUT", "PATCH")]
        lines += [call(method, f"/{name}") for method in ("DELETE",)]
    return [
        *lines,
        call("PATCH", "/loadbalancers/nobody", {}),
        get("/loadbalancers", headers={"Accept": "text/html"}),
        get("/loadbalancers", headers={"Accept": "text/html, */*;q=0.1"}),
        get("/loadbalancers", headers={"Accept": "application/json"}),
        post("/loadbalancers", _LB, headers={"Content-Type": "text/plain"}),
        post("/loadbalancers", _LB, headers={"Content-Type": "application/json; charset=utf-8"}),
        post("/loadbalancers", _LB, headers={"Content-Type": "application/x-www-form-urlencoded"}),
        get("/v2/octavia/amphorae", who="admin"),
        get("/v2/octavia/amphorae"),
        get("/v2/octavia/amphorae/nobody", who="admin"),
    ]


def _lists() -> list[Line]:
    questions = (
        "",
        "?limit=2",
        "?limit=2&marker={second}",
        "?limit=2&sort=name:desc",
        "?limit=2&sort=name:desc&marker={third}",
        "?sort=name",
        "?sort=name:asc",
        "?sort=name:desc",
        "?sort=-name",
        "?sort_key=name&sort_dir=desc",
        "?sort_key=name",
        "?sort=name:sideways",
        "?sort=colour",
        "?sort=",
        "?limit=nonsense",
        "?limit=1000000",
        "?marker=nobody",
        "?page_reverse=nonsense",
        "?fields=id&fields=name",
        "?fields=colour",
        "?name=b",
        "?name=nobody",
        "?name=",
        "?colour=blue",
        "?admin_state_up=true",
        "?admin_state_up=False",
        "?admin_state_up=1",
        "?provisioning_status=ACTIVE",
        "?provisioning_status=NONSENSE",
        "?operating_status=OFFLINE",
        "?id={second}",
        "?id=nonsense",
        "?project_id=proj-a",
        "?tenant_id=proj-a",
        "?project_id=proj-b",
        "?tags=red",
        "?tags=red,blue",
        "?tags-any=red,green",
        "?not-tags=red",
        "?not-tags-any=red,blue",
        "?tags=",
        "?vip_subnet_id={subnet}",
        "?vip_address=198.51.100.50",
        "?provider=noop",
        "?name=a&admin_state_up=true",
        "?description=",
    )
    return [
        load_balancer("first", name="a", tags=["red"], vip_address="198.51.100.50"),
        load_balancer("second", name="b", tags=["red", "blue"], admin_state_up=False),
        load_balancer("third", name="c", tags=["green"]),
        *(get(f"/loadbalancers{question}") for question in questions),
        get("/loadbalancers?project_id=proj-a", who="admin"),
        get("/loadbalancers?fields=name", who="admin"),
        get("/loadbalancers", who="stranger"),
        get("/loadbalancers", who="nobody"),
    ]


def _child_lists() -> list[Line]:
    asked = {
        "listeners": ("protocol=HTTP", "protocol_port=80", "loadbalancer_id={lb}", "default_pool_id={pool}"),
        "pools": ("protocol=HTTP", "lb_algorithm=ROUND_ROBIN", "loadbalancer_id={lb}", "listener_id={listener}"),
        "pools/{pool}/members": ("address=192.0.2.10", "protocol_port=8080", "weight=1", "backup=false"),
        "healthmonitors": ("type=HTTP", "pool_id={pool}", "delay=10", "http_method=GET"),
        "l7policies": ("action=REJECT", "listener_id={listener}", "position=1"),
        "l7policies/{policy}/rules": ("type=PATH", "value=/private", "invert=false"),
    }
    lines = list(WORLD)
    for path, questions in asked.items():
        more = ("fields=id", "limit=1", "sort=id:desc", "colour=blue", "id=nonsense", "sort=colour")
        lines += [get(f"/{path}"), *(get(f"/{path}?{question}") for question in (*questions, *more))]
    return lines


def _quotas() -> list[Line]:
    def change(**quota: object) -> Line:
        return put("/quotas/proj-a", {"quota": quota}, who="admin")

    return [
        get("/quotas/defaults"),
        get("/quotas/proj-a/default"),
        get("/quotas/proj-a"),
        get("/quotas/proj-b"),
        get("/quotas"),
        get("/quotas", who="admin"),
        change(),
        change(load_balancer=1),
        change(loadbalancer=2),
        change(load_balancer=3, loadbalancer=4),
        change(health_monitor=5, listener=6, pool=7, member=8, l7policy=9, l7rule=10),
        change(load_balancer="1"),
        change(load_balancer=None),
        change(load_balancer=-1),
        change(load_balancer=-2),
        change(load_balancer=2000000001),
        change(load_balancer="many"),
        change(colour=5),
        put("/quotas/proj-a", {"quota": {"load_balancer": 5}}),
        put("/quotas/proj-a", {}, who="admin"),
        put("/quotas/proj-a", {"quota": None}, who="admin"),
        get("/quotas/proj-a"),
        get("/quotas", who="admin"),
        get("/quotas"),
        get("/quotas?sort=project_id", who="admin"),
        get("/quotas?sort=project_id:desc", who="admin"),
        get("/quotas?project_id=proj-a", who="admin"),
        get("/quotas?limit=1", who="admin"),
        get("/quotas?fields=pool", who="admin"),
        change(load_balancer=1, listener=1, pool=1, member=1, health_monitor=1, l7policy=1, l7rule=1),
        *WORLD,
        load_balancer(""),
        listener("", protocol_port=81),
        pool(""),
        member("", protocol_port=81),
        policy(""),
        post(
            "/l7policies/{policy}/rules",
            {"rule": {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}},
        ),
        delete("/quotas/proj-a"),
        delete("/quotas/proj-a", who="admin"),
        delete("/quotas/proj-a", who="admin"),
        delete("/quotas/nobody", who="admin"),
        get("/quotas/proj-a"),
        call("POST", "/quotas", {}, who="admin"),
        delete("/quotas", who="admin"),
        get("/quotas/proj-a/nonsense", who="admin"),
    ]


def _strangers() -> list[Line]:
    paths = {
        "/loadbalancers/{lb}": "loadbalancer",
        "/listeners/{listener}": "listener",
        "/pools/{pool}": "pool",
        "/pools/{pool}/members/{member}": "member",
        "/healthmonitors/{monitor}": "healthmonitor",
        "/l7policies/{policy}": "l7policy",
        "/l7policies/{policy}/rules/{rule}": "rule",
    }
    rule = {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}
    attributes = {"address": "192.0.2.9", "protocol_port": 80}
    monitor = {"pool_id": "{pool}", "type": "HTTP", "delay": 10, "timeout": 5, "max_retries": 3}
    web = {"loadbalancer_id": "{lb}", "protocol": "HTTP", "protocol_port": 90}
    lists = ("loadbalancers", "listeners", "pools", "healthmonitors", "l7policies")
    new_pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    lines = list(WORLD)
    for who in ("stranger", "reader", "nobody"):
        for path, key in paths.items():
            lines += [
                get(path, who=who),
                put(path, {key: {"admin_state_up": True}}, who=who),
                put(path, {key: {"colour": "blue"}}, who=who),
                put(path, {}, who=who),
                delete(path, who=who),
            ]
        lines += [
            get("/loadbalancers/{lb}/status", who=who),
            get("/loadbalancers/{lb}/stats", who=who),
            put("/loadbalancers/{lb}/failover", {}, who=who),
            delete("/loadbalancers/{lb}?cascade=true", who=who),
            get("/listeners/{listener}/stats", who=who),
            get("/pools/{pool}/members", who=who),
            get("/l7policies/{policy}/rules", who=who),
            post("/loadbalancers", _LB, who=who, save=""),
            post(
                "/listeners",
                {"listener": web},
                who=who,
            ),
            post("/pools", {"pool": {"loadbalancer_id": "{lb}", **new_pool}}, who=who),
            post("/pools", {"pool": {"listener_id": "{listener}", **new_pool}}, who=who),
            post("/pools/{pool}/members", {"member": attributes}, who=who),
            put("/pools/{pool}/members", {"members": [attributes]}, who=who),
            post("/healthmonitors", {"healthmonitor": monitor}, who=who),
            post("/l7policies", {"l7policy": {"listener_id": "{listener}", "action": "REJECT"}}, who=who),
            post("/l7policies/{policy}/rules", {"rule": rule}, who=who),
            *(get(f"/{name}", who=who) for name in lists),
        ]
    return lines


_CHANGES = (
    put("/loadbalancers/{lb}", {"loadbalancer": {"name": "x"}}),
    listener("", protocol_port=90),
    put("/listeners/{listener}", {"listener": {"name": "x"}}),
    delete("/listeners/{listener}"),
    pool(""),
    put("/pools/{pool}", {"pool": {"name": "x"}}),
    delete("/pools/{pool}"),
    member("", address="192.0.2.77"),
    put("/pools/{pool}/members/{member}", {"member": {"weight": 2}}),
    delete("/pools/{pool}/members/{member}"),
    put("/pools/{pool}/members", {"members": []}),
    put("/healthmonitors/{monitor}", {"healthmonitor": {"delay": 9}}),
    delete("/healthmonitors/{monitor}"),
    policy(""),
    put("/l7policies/{policy}", {"l7policy": {"name": "x"}}),
    delete("/l7policies/{policy}"),
    post("/l7policies/{policy}/rules", {"rule": {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}}),
    put("/l7policies/{policy}/rules/{rule}", {"rule": {"value": "/x"}}),
    delete("/l7policies/{policy}/rules/{rule}"),
    delete("/loadbalancers/{lb}"),
)
_NAMES = ("loadbalancers/{lb}", "listeners/{listener}", "pools/{pool}", "pools/{pool}/members/{member}")
_MORE = ("healthmonitors/{monitor}", "l7policies/{policy}", "l7policies/{policy}/rules/{rule}")


def _everything() -> list[Line]:
    return [get(f"/{path}") for path in (*_NAMES, *_MORE)]


def _pending() -> list[Line]:
    def still(line: Line) -> Line:
        return Line(**{**vars(line), "outcome": "PENDING"})

    return [
        *WORLD,
        put("/listeners/{listener}", {"listener": {"name": "new"}}, outcome="PENDING"),
        *map(still, _everything()),
        *map(still, _CHANGES),
        get("/loadbalancers/{lb}"),
        *_everything(),
        put("/pools/{pool}/members/{member}", {"member": {"weight": 4}}, outcome="PENDING"),
        *map(still, _everything()),
        get("/loadbalancers/{lb}"),
        put("/l7policies/{policy}/rules/{rule}", {"rule": {"value": "/new"}}, outcome="PENDING"),
        *map(still, _everything()),
        get("/loadbalancers/{lb}"),
        put("/healthmonitors/{monitor}", {"healthmonitor": {"delay": 20}}, outcome="PENDING"),
        *map(still, _everything()),
        get("/loadbalancers/{lb}"),
        delete("/loadbalancers/{lb}?cascade=true", outcome="PENDING"),
        *map(still, _everything()),
        get("/loadbalancers/{lb}"),
    ]


def _failed() -> list[Line]:
    return [
        *WORLD,
        put("/listeners/{listener}", {"listener": {"name": "new"}}, outcome="ERROR"),
        *_everything(),
        *_CHANGES,
    ]


STORIES = {
    "HTTP": _http(),
    "lists": _lists(),
    "lists of children": _child_lists(),
    "quotas": _quotas(),
    "other projects": _strangers(),
    "pending": _pending(),
    "in error": _failed(),
}
