"""Load balancers."""

from typing import Any

from tests.compat.octavia.stories.lines import WORLD, call, changes, delete, get, load_balancer, member, post, put
from tests.compat.table import Line

_LONG = "x" * 256


def _created() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"name": "web", "description": "of the shop"},
        {"admin_state_up": False},
        {"vip_address": "198.51.100.77"},
        {"vip_network_id": "{network}"},
        {"project_id": "proj-a"},
        {"tenant_id": "proj-a"},
        {"project_id": None},
        {"provider": "noop"},
        {"provider": "other"},
        {"provider": None},
        {"tags": ["a", "b"]},
        {"tags": []},
        {"tags": ["b", "a", "b"]},
        {"name": None, "description": None},
        {"tags": None},
        {"flavor_id": None, "availability_zone": None, "vip_qos_policy_id": None},
        {"listeners": [], "pools": []},
        {"name": "1" * 255, "description": "ü" * 255},
        {"name": 5},
        {"admin_state_up": 0},
        {"admin_state_up": 1},
        {"admin_state_up": "false"},
        {"admin_state_up": "True"},
        {"admin_state_up": "no"},
        {"tags": ["x" * 255]},
        {"tags": [f"tag-{number}" for number in range(60)]},
        {"vip_qos_policy_id": "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"},
        {"vip_sg_ids": ["5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a78"]},
        {"additional_vips": [{"subnet_id": "{subnet2}"}]},
        {"additional_vips": [{"subnet_id": "{subnet2}", "ip_address": "203.0.113.20"}]},
    ]
    return [load_balancer(save="", **attributes) for attributes in wanted]


def _refused() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {"name": _LONG},
        {"description": _LONG},
        {"admin_state_up": "perhaps"},
        {"admin_state_up": 2},
        {"admin_state_up": 1.0},
        {"vip_address": "nonsense"},
        {"vip_address": "300.1.1.1"},
        {"vip_address": 5},
        {"vip_subnet_id": "nonsense"},
        {"vip_subnet_id": 5},
        {"vip_network_id": "nonsense"},
        {"vip_port_id": "nonsense"},
        {"project_id": "proj-b"},
        {"project_id": "x" * 37},
        {"provider": "nobody"},
        {"provider": 5},
        {"tags": ["x" * 256]},
        {"tags": "a"},
        {"tags": [1]},
        {"tags": [None]},
        {"tags": [""]},
        {"flavor_id": "nonsense"},
        {"flavor_id": "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"},
        {"availability_zone": "nowhere"},
        {"vip_qos_policy_id": "nonsense"},
        {"vip_sg_ids": "nonsense"},
        {"vip_sg_ids": ["nonsense"]},
        {"additional_vips": [{}]},
        {"additional_vips": [{"subnet_id": "nonsense"}]},
        {"additional_vips": [{"subnet_id": "{subnet}", "ip_address": "nonsense"}]},
        {"additional_vips": [{"subnet_id": "{subnet}"}]},
        {"additional_vips": "nonsense"},
        {"colour": "blue"},
        {"id": "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"},
        {"provisioning_status": "ACTIVE"},
        {"listeners": "nonsense"},
        {"pools": {}},
    ]
    lines = [load_balancer(save="", **attributes) for attributes in wanted]
    lines.append(post("/loadbalancers", {"loadbalancer": {}}))
    lines.append(post("/loadbalancers", {"loadbalancer": {"vip_address": "198.51.100.90"}}))
    lines.append(post("/loadbalancers", {"loadbalancer": None}))
    lines.append(post("/loadbalancers", {"loadbalancer": []}))
    lines.append(post("/loadbalancers", {"loadbalancer": "text"}))
    lines.append(post("/loadbalancers", {"other": {}}))
    lines.append(post("/loadbalancers", {}))
    lines.append(post("/loadbalancers", []))
    lines.append(post("/loadbalancers", "no json"))
    lines.append(post("/loadbalancers", ""))
    lines.append(call("POST", "/loadbalancers"))
    return lines


def _changed() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"name": "new"},
        {"name": ""},
        {"name": None},
        {"description": "new"},
        {"description": None},
        {"admin_state_up": False},
        {"admin_state_up": True},
        {"admin_state_up": None},
        {"admin_state_up": True},
        {"admin_state_up": "0"},
        {"admin_state_up": 1},
        {"admin_state_up": "perhaps"},
        {"tags": ["a"]},
        {"tags": None},
        {"tags": []},
        {"tags": [""]},
        {"tags": [None]},
        {"tags": "a"},
        {"vip_qos_policy_id": "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"},
        {"vip_qos_policy_id": None},
        {"vip_sg_ids": ["5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a78"]},
        {"vip_sg_ids": []},
        {"vip_sg_ids": None},
        {"name": _LONG},
        {"name": 5},
        {"vip_address": "198.51.100.78"},
        {"vip_subnet_id": "{subnet}"},
        {"project_id": "proj-a"},
        {"tenant_id": "proj-a"},
        {"provider": "noop"},
        {"flavor_id": None},
        {"availability_zone": None},
        {"listeners": []},
        {"colour": "blue"},
    ]
    lines = [load_balancer(), get("/loadbalancers/{lb}")]
    lines += changes("/loadbalancers/{lb}", "loadbalancer", wanted)
    lines.append(get("/loadbalancers/{lb}"))
    lines.append(put("/loadbalancers/{lb}", {}))
    lines.append(put("/loadbalancers/{lb}", ""))
    lines.append(put("/loadbalancers/{lb}", "no json"))
    lines.append(put("/loadbalancers/{lb}", {"loadbalancer": None}))
    lines.append(put("/loadbalancers/{lb}", {"other": {}}))
    lines.append(put("/loadbalancers/nobody", {"loadbalancer": {"name": "x"}}))
    lines.append(put("/loadbalancers/nobody", {"loadbalancer": {"name": 5}}))
    lines.append(put("/loadbalancers/nobody", {"loadbalancer": {}}))
    lines.append(put("/loadbalancers/nobody", {"loadbalancer": {"colour": "blue"}}))
    lines.append(put("/loadbalancers", {"loadbalancer": {"name": "x"}}))
    lines.append(delete("/loadbalancers"))
    return lines


def _read() -> list[Line]:
    return [
        *WORLD,
        get("/loadbalancers/{lb}"),
        get("/loadbalancers"),
        get("/loadbalancers/{lb}/status"),
        get("/loadbalancers/{lb}/statuses"),
        get("/loadbalancers/{lb}/stats"),
        get("/loadbalancers/{lb}?fields=name"),
        get("/loadbalancers/{lb}?fields=name&fields=id"),
        get("/loadbalancers/{lb}?fields=colour"),
        get("/loadbalancers/{lb}/nonsense"),
        get("/loadbalancers/nobody"),
        get("/loadbalancers/5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0aff"),
        get("/loadbalancers/nobody/status"),
        get("/loadbalancers/nobody/stats"),
        put("/loadbalancers/nobody/failover", {}, who="admin"),
        put("/loadbalancers/{lb}/failover", {}),
        call("PUT", "/loadbalancers/{lb}/failover", who="admin"),
        get("/loadbalancers/{lb}"),
        call("POST", "/loadbalancers/{lb}", {"loadbalancer": {}}),
        call("PATCH", "/loadbalancers/{lb}", {"loadbalancer": {}}),
        delete("/loadbalancers/nobody"),
        delete("/loadbalancers/{lb}"),
        delete("/loadbalancers/{lb}?cascade=false"),
        delete("/loadbalancers/{lb}?cascade=perhaps"),
        delete("/loadbalancers/{lb}?cascade=true"),
        get("/loadbalancers/{lb}"),
        delete("/loadbalancers/{lb}"),
        get("/loadbalancers"),
        get("/listeners"),
        get("/pools"),
    ]


_HEALTHY = {"type": "HTTP", "delay": 3, "max_retries": 2, "timeout": 1}
_POOL = {"name": "p", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
_LISTENER = {"protocol": "HTTP", "protocol_port": 80}
_RULE = {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}
_FULL = {
    "name": "full",
    "listeners": [
        {
            **_LISTENER,
            "name": "first",
            "default_pool": {
                **_POOL,
                "healthmonitor": _HEALTHY,
                "members": [{"address": "192.0.2.1", "protocol_port": 80, "subnet_id": "{subnet}"}],
                "session_persistence": {"type": "SOURCE_IP"},
            },
            "l7policies": [
                {"action": "REJECT", "rules": [_RULE]},
                {"action": "REDIRECT_TO_POOL", "redirect_pool": {"name": "q"}},
            ],
        },
        {"protocol": "TCP", "protocol_port": 81},
    ],
    "pools": [{**_POOL, "name": "q"}],
}


def _populated() -> list[Line]:
    def listeners(**attributes: Any) -> dict[str, Any]:
        return {"listeners": [{**_LISTENER, **attributes}]}

    def pools(**attributes: Any) -> dict[str, Any]:
        return {"pools": [{**_POOL, **attributes}]}

    wanted: list[dict[str, Any]] = [
        listeners(),
        listeners(name=None, tags=["a"]),
        {"listeners": [_LISTENER, _LISTENER]},
        {"listeners": [_LISTENER, {"protocol": "UDP", "protocol_port": 80}]},
        {"listeners": [{"protocol": "HTTP"}]},
        {"listeners": [{**_LISTENER, "protocol_port": 0}]},
        {"listeners": [{**_LISTENER, "loadbalancer_id": "{subnet}"}]},
        {"listeners": [{**_LISTENER, "colour": "blue"}]},
        pools(),
        pools(session_persistence={"type": "HTTP_COOKIE"}),
        {"pools": [{"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}]},
        {"pools": [_POOL, _POOL]},
        {"pools": [{**_POOL, "lb_algorithm": "NONSENSE"}]},
        pools(members=[{"address": "192.0.2.1", "protocol_port": 80}]),
        pools(members=[{"address": "192.0.2.1", "protocol_port": 80}, {"address": "192.0.2.1", "protocol_port": 80}]),
        pools(members=[{"address": "nonsense", "protocol_port": 80}]),
        pools(healthmonitor=_HEALTHY),
        pools(healthmonitor={"type": "HTTP", "delay": 3}),
        pools(healthmonitor={**_HEALTHY, "type": "UDP-CONNECT"}),
        listeners(default_pool={"name": "p"}),
        listeners(default_pool=_POOL),
        {**pools(), **listeners(default_pool={"name": "p"})},
        {**pools(), **listeners(default_pool={"name": "q"})},
        listeners(default_pool={**_POOL, "protocol": "UDP"}),
        listeners(l7policies=[{"action": "REJECT"}]),
        listeners(l7policies=[{"action": "REDIRECT_TO_POOL", "redirect_pool": _POOL}]),
        listeners(l7policies=[{"action": "REDIRECT_TO_POOL", "redirect_pool": {"name": "q"}}]),
        listeners(l7policies=[{"action": "REDIRECT_TO_POOL", "redirect_pool": _POOL, "rules": [_RULE]}]),
        listeners(l7policies=[{"action": "REDIRECT_TO_URL", "redirect_url": "http://example.com/"}]),
        listeners(l7policies=[{"action": "REDIRECT_TO_URL"}]),
        listeners(l7policies=[{"action": "REJECT", "rules": [{"type": "PATH"}]}]),
        {"listeners": [{"protocol": "PROMETHEUS", "protocol_port": 8088}]},
        {"listeners": [{"protocol": "PROMETHEUS", "protocol_port": 8088, "default_pool": _POOL}]},
    ]
    return [load_balancer(save="", **attributes) for attributes in [_FULL, *wanted]]


def _times() -> list[Line]:
    """Who is touched by a change of whom."""

    def everything() -> list[Line]:
        own = ("loadbalancers/{lb}", "listeners/{listener}", "pools/{pool}", "pools/{pool}/members/{member}")
        more = ("healthmonitors/{monitor}", "l7policies/{policy}", "l7policies/{policy}/rules/{rule}")
        return [get(f"/{path}?fields=updated_at") for path in (*own, *more, "pools/{pool}/members/{sibling}")]

    return [
        load_balancer(),
        get("/loadbalancers/{lb}"),
        *WORLD[1:],
        member("sibling", address="192.0.2.11"),
        *everything(),
        put("/pools/{pool}/members/{member}", {"member": {"weight": 3}}),
        *everything(),
        put("/loadbalancers/{lb}", {"loadbalancer": {"name": "x"}}),
        *everything(),
    ]


STORIES = {
    "load balancers made": _created(),
    "load balancers refused": _refused(),
    "load balancers changed": _changed(),
    "load balancers read and deleted": _read(),
    "load balancers with everything": _populated(),
    "times of changes": _times(),
}
