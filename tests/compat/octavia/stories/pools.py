"""Pools and their members."""

from typing import Any

from tests.compat.octavia.stories.lines import (
    call,
    changes,
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

_LONG = "x" * 256
_NOBODY = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"


def _persistence(**attributes: Any) -> dict[str, Any]:
    return {"session_persistence": attributes}


def _pools_made() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"protocol": "HTTPS"},
        {"protocol": "TCP"},
        {"protocol": "UDP"},
        {"protocol": "SCTP"},
        {"protocol": "PROXY"},
        {"protocol": "PROXYV2"},
        {"lb_algorithm": "LEAST_CONNECTIONS"},
        {"lb_algorithm": "SOURCE_IP"},
        {"lb_algorithm": "SOURCE_IP_PORT"},
        {"name": "p", "description": "text", "tags": ["a"], "admin_state_up": False},
        {"name": None, "description": None, "tags": None},
        {"session_persistence": None},
        _persistence(type="SOURCE_IP"),
        _persistence(type="HTTP_COOKIE"),
        _persistence(type="APP_COOKIE", cookie_name="sess"),
        _persistence(type="SOURCE_IP", cookie_name=None),
        {"protocol": "UDP", **_persistence(type="SOURCE_IP", persistence_timeout=5)},
        {
            "protocol": "UDP",
            **_persistence(type="SOURCE_IP", persistence_timeout=5, persistence_granularity="255.255.255.0"),
        },
        {"tls_enabled": True},
        {"tls_enabled": "yes"},
        {"tls_enabled": True, "tls_versions": ["TLSv1.3"]},
        {"tls_enabled": True, "tls_ciphers": "ECDHE-RSA-AES128-GCM-SHA256"},
        {"tls_enabled": True, "alpn_protocols": ["h2"]},
        {"tls_versions": [], "alpn_protocols": []},
        {"project_id": "proj-a"},
        {"tenant_id": "proj-a"},
        {"healthmonitor": None},
        {"members": []},
        {"listener_id": "{listener}", "loadbalancer_id": None},
        {"listener_id": "{other}"},
    ]
    return [load_balancer(), listener(), listener("other", protocol_port=81), *(pool(save="", **one) for one in wanted)]


def _pools_refused() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {"protocol": "NONSENSE"},
        {"protocol": "TERMINATED_HTTPS"},
        {"protocol": None},
        {"lb_algorithm": "NONSENSE"},
        {"lb_algorithm": None},
        _persistence(),
        _persistence(type="NONSENSE"),
        _persistence(type="APP_COOKIE"),
        _persistence(type="SOURCE_IP", cookie_name="sess"),
        _persistence(type="HTTP_COOKIE", cookie_name="sess"),
        _persistence(type="APP_COOKIE", cookie_name="a b"),
        _persistence(type="APP_COOKIE", cookie_name=""),
        _persistence(type="SOURCE_IP", persistence_timeout=5),
        {"protocol": "UDP", **_persistence(type="HTTP_COOKIE")},
        {"protocol": "UDP", **_persistence(type="SOURCE_IP", persistence_granularity="nonsense")},
        {"protocol": "SCTP", **_persistence(type="APP_COOKIE", cookie_name="sess")},
        {"session_persistence": "nonsense"},
        {"session_persistence": {"type": "SOURCE_IP", "colour": "blue"}},
        {"tls_enabled": "perhaps"},
        {"tls_versions": ["TLSv9"]},
        {"alpn_protocols": ["smoke"]},
        {"name": _LONG},
        {"description": _LONG},
        {"colour": "blue"},
        {"loadbalancer_id": "nonsense"},
        {"loadbalancer_id": _NOBODY},
        {"loadbalancer_id": None},
        {"listener_id": "nonsense", "loadbalancer_id": None},
        {"listener_id": _NOBODY},
        {"listener_id": "{listener}", "protocol": "UDP"},
        {"listener_id": "{taken}"},
        {"project_id": "proj-b"},
        {"healthmonitor_id": _NOBODY},
        {"members": "nonsense"},
        {"healthmonitor": {"type": "HTTP"}},
    ]
    return [
        load_balancer(),
        listener(),
        listener("taken", protocol_port=81),
        pool(listener_id="{taken}"),
        *(pool(save="", **one) for one in wanted),
        post("/pools", {"pool": {"loadbalancer_id": "{lb}", "protocol": "HTTP"}}),
        post("/pools", {"pool": {"loadbalancer_id": "{lb}", "lb_algorithm": "ROUND_ROBIN"}}),
        post("/pools", {"pool": {}}),
        post("/pools", {}),
        post("/pools", {"pool": None}),
        post("/pools", "no json"),
    ]


def _pools_changed() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"name": "new", "description": "text", "tags": ["b"]},
        {"name": None, "description": None, "tags": None},
        {"tags": []},
        {"lb_algorithm": "SOURCE_IP"},
        {"lb_algorithm": "NONSENSE"},
        {"lb_algorithm": None},
        _persistence(cookie_name="x"),
        _persistence(type="SOURCE_IP"),
        _persistence(persistence_timeout=5),
        _persistence(type="APP_COOKIE"),
        _persistence(type="APP_COOKIE", cookie_name="sess"),
        _persistence(cookie_name="other"),
        _persistence(type="HTTP_COOKIE"),
        _persistence(type="HTTP_COOKIE", cookie_name=None),
        _persistence(),
        {"session_persistence": None},
        _persistence(type="NONSENSE"),
        {"tls_enabled": None},
        {"tls_enabled": True},
        {"tls_versions": ["TLSv1.2"]},
        {"tls_versions": None},
        {"tls_ciphers": "ECDHE-RSA-AES128-GCM-SHA256"},
        {"tls_ciphers": None},
        {"alpn_protocols": ["h2"]},
        {"alpn_protocols": None},
        {"protocol": "TCP"},
        {"loadbalancer_id": "{lb}"},
        {"listener_id": "{listener}"},
        {"members": []},
        {"healthmonitor_id": None},
        {"project_id": "proj-a"},
        {"colour": "blue"},
        {"name": _LONG},
    ]
    return [
        load_balancer(),
        listener(),
        pool(listener_id="{listener}"),
        *changes("/pools/{pool}", "pool", wanted),
        get("/pools/{pool}"),
        put("/pools/{pool}", {}),
        put("/pools/{pool}", {"pool": None}),
        put("/pools/nobody", {"pool": {"name": "x"}}),
        put("/pools/nobody", {"pool": {"lb_algorithm": "NONSENSE"}}),
        put("/pools", {"pool": {}}),
        delete("/pools"),
        delete("/pools/nobody"),
        get("/pools/nobody"),
        get("/pools/{pool}/nonsense"),
        pool("second"),
        policy(action="REDIRECT_TO_POOL", redirect_pool_id="{second}"),
        get("/pools/{second}"),
        rule(),
        get("/pools/{second}"),
        get("/pools"),
        get("/loadbalancers/{lb}/status"),
        put("/l7policies/{policy}", {"l7policy": {"admin_state_up": False}}),
        get("/pools/{second}"),
        get("/loadbalancers/{lb}/status"),
        put("/l7policies/{policy}", {"l7policy": {"admin_state_up": True}}),
        put("/listeners/{listener}", {"listener": {"default_pool_id": "{second}"}}),
        get("/pools/{second}"),
        put("/listeners/{listener}", {"listener": {"default_pool_id": "{pool}"}}),
        delete("/pools/{second}"),
        monitor(),
        get("/pools/{pool}"),
        get("/pools?healthmonitor_id={monitor}"),
        get(f"/pools?healthmonitor_id={_NOBODY}"),
        delete("/pools/{pool}"),
        get("/pools/{pool}"),
        get("/listeners/{listener}"),
        get("/healthmonitors/{monitor}"),
    ]


def _members_made() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"address": "192.0.2.20", "protocol_port": "80"},
        {"address": "192.0.2.20", "protocol_port": 81.0},
        {"address": "2001:db8:0:0:0:0:0:1"},
        {"address": "2001:DB8::2"},
        {"weight": 0},
        {"weight": 256},
        {"weight": "5"},
        {"weight": None},
        {"backup": True},
        {"backup": "yes"},
        {"backup": None},
        {"subnet_id": "{subnet}"},
        {"subnet_id": None},
        {"monitor_address": "192.0.2.99"},
        {"monitor_address": None, "monitor_port": None},
        {"monitor_port": 9000},
        {"monitor_port": "9001"},
        {"name": "m", "tags": ["a"]},
        {"name": None, "tags": None},
        {"admin_state_up": False},
        {"admin_state_up": 1},
        {"request_sriov": False},
        {"request_sriov": None},
        {"project_id": "proj-a"},
        {"tenant_id": "proj-a"},
    ]
    lines = [load_balancer(), pool()]
    for number, attributes in enumerate(wanted):
        lines.append(member(save="", **{"protocol_port": 7000 + number, **attributes}))
    return [*lines, get("/pools/{pool}/members?sort=protocol_port")]


def _members_refused() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {"address": "nonsense"},
        {"address": None},
        {"address": 5},
        {"address": "192.0.2.10/24"},
        {"address": ""},
        {"address": "169.254.169.254"},
        {"address": "2001:db8::1%eth0"},
        {"protocol_port": 0},
        {"protocol_port": 65536},
        {"protocol_port": None},
        {"protocol_port": "http"},
        {"weight": -1},
        {"weight": 257},
        {"weight": "heavy"},
        {"weight": 1.5},
        {"weight": True},
        {"backup": "perhaps"},
        {"subnet_id": "nonsense"},
        {"subnet_id": 5},
        {"monitor_address": "nonsense"},
        {"monitor_address": "169.254.169.254"},
        {"monitor_port": 0},
        {"monitor_port": "http"},
        {"name": _LONG},
        {"tags": ["x" * 256]},
        {"request_sriov": True},
        {"request_sriov": "perhaps"},
        {"colour": "blue"},
        {"pool_id": "{pool}"},
        {"project_id": "proj-b"},
    ]
    lines = [load_balancer(), pool(), member()]
    for number, attributes in enumerate(wanted):
        lines.append(member(save="", **{"protocol_port": 7000 + number, **attributes}))
    return [
        *lines,
        member(save=""),
        member(save="", protocol_port="8080"),
        member("six", address="2001:db8::1"),
        member(save="", address="2001:db8:0:0:0:0:0:1"),
        post("/pools/{pool}/members", {"member": {"address": "192.0.2.1"}}),
        post("/pools/{pool}/members", {"member": {"protocol_port": 80}}),
        post("/pools/{pool}/members", {"member": {}}),
        post("/pools/{pool}/members", {}),
        post("/pools/{pool}/members", {"member": None}),
        post("/pools/{pool}/members", "no json"),
        post("/pools/nobody/members", {"member": {"address": "192.0.2.1", "protocol_port": 80}}),
        post("/pools/nobody/members", {"member": {"address": "192.0.2.1"}}),
        post(f"/pools/{_NOBODY}/members", {"member": {"address": "192.0.2.1", "protocol_port": 80}}),
    ]


def _members_changed() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"name": "new", "tags": ["b"]},
        {"name": None, "tags": None},
        {"tags": []},
        {"weight": "7"},
        {"weight": None},
        {"weight": 300},
        {"backup": True},
        {"backup": None},
        {"backup": 0},
        {"monitor_address": "192.0.2.99"},
        {"monitor_address": "2001:db8:0:0:0:0:0:9"},
        {"monitor_address": None},
        {"monitor_address": "nonsense"},
        {"monitor_address": "169.254.169.254"},
        {"monitor_address": None},
        {"monitor_port": 90},
        {"monitor_port": None},
        {"monitor_port": 0},
        {"admin_state_up": None},
        {"admin_state_up": False},
        {"address": "192.0.2.11"},
        {"protocol_port": 81},
        {"subnet_id": "{subnet}"},
        {"project_id": "proj-a"},
        {"request_sriov": True},
        {"colour": "blue"},
        {"name": _LONG},
    ]
    path = "/pools/{pool}/members/{member}"
    return [
        load_balancer(),
        pool(),
        member(),
        *changes(path, "member", wanted),
        get(path),
        put(path, {}),
        put(path, {"member": None}),
        put("/pools/{pool}/members/nobody", {"member": {"name": "x"}}),
        put("/pools/nobody/members/{member}", {"member": {"name": "x"}}),
        put("/pools/{pool}/members/nobody", {"member": {"weight": 300}}),
        get("/pools/{pool}/members/nobody"),
        get("/pools/nobody/members/{member}"),
        get("/pools/nobody/members"),
        get("/pools/{pool}/members"),
        delete("/pools/{pool}/members/nobody"),
        delete("/pools/nobody/members/{member}"),
        delete("/pools/{pool}/members"),
        call("POST", path, {"member": {}}),
        pool("second"),
        get("/pools/{second}/members/{member}"),
        delete(path),
        get(path),
        delete(path),
    ]


def _unnamed_attributes() -> list[Line]:
    """Batches with the address and port alone, of a member that has everything."""
    path = "/pools/{pool}/members"
    everything: dict[str, Any] = {
        "name": "named",
        "weight": 7,
        "backup": True,
        "admin_state_up": False,
        "monitor_address": "192.0.2.99",
        "monitor_port": 99,
        "subnet_id": "{subnet}",
        "tags": ["t"],
    }
    bare = {"address": "192.0.2.10", "protocol_port": 8080}
    lines = [load_balancer(), pool(), member(**everything)]
    for query in ("", "?additive_only=true"):
        lines += [
            put(path, {"members": [{**bare, **everything}]}),
            get(path),
            put(path + query, {"members": [bare]}),
            get(path),
        ]
    return lines


def _batches() -> list[Line]:
    def one(address: str = "192.0.2.30", port: Any = 80, **attributes: Any) -> dict[str, Any]:
        return {"address": address, "protocol_port": port, **attributes}

    path = "/pools/{pool}/members"
    wanted: list[Any] = [
        [one()],
        [one(), one(port=81)],
        [one(weight="5"), one(port="82")],
        [one(port=80.0, weight=7)],
        [one(name="named", tags=["t"], backup="yes")],
        [one("2001:db8:0:0:0:0:0:1")],
        [one("2001:db8::1", weight=9)],
        [one(), one()],
        [one(), one(port="80")],
        [one("2001:db8::1"), one("2001:db8:0:0:0:0:0:1")],
        [one("nonsense")],
        [one(port=0)],
        [one(weight=300)],
        [one("169.254.169.254")],
        [one(subnet_id="nonsense")],
        [one(subnet_id="{subnet}")],
        [one(request_sriov=True)],
        [one(colour="blue")],
        [one(project_id="proj-b")],
        [one(project_id="proj-a")],
        [{"address": "192.0.2.30"}],
        [None],
        ["nonsense"],
        [],
        {},
        None,
        "nonsense",
    ]
    lines = [load_balancer(), pool(), member()]
    for members in wanted:
        lines += [put(path, {"members": members}), get(f"{path}?sort=protocol_port")]
    return [
        *lines,
        put(f"{path}?additive_only=true", {"members": [one(port=90)]}),
        put(f"{path}?additive_only=True", {"members": [one(port=91)]}),
        put(f"{path}?additive_only=perhaps", {"members": [one(port=92)]}),
        put(f"{path}?additive_only=false", {"members": [one(port=93)]}),
        get(path),
        put(path, {}),
        put(path, []),
        put(path, "no json"),
        put(path, {"member": one()}),
        put("/pools/nobody/members", {"members": [one()]}),
        put("/pools/nobody/members", {"members": [one(port=0)]}),
    ]


def _empty_references() -> list[Line]:
    empty = {"tls_container_ref": "", "ca_tls_container_ref": "", "crl_container_ref": ""}
    return [
        load_balancer(),
        pool(**empty),
        pool(tls_enabled=True, **empty),
        *changes("/pools/{pool}", "pool", ({name: ""} for name in empty)),
    ]


def _addresses_as_given() -> list[Line]:
    where = "/pools/{pool}/members"
    given = {"address": "2001:DB8::0001", "monitor_address": "2001:DB8:0::9"}
    asked = ("2001:DB8::0001", "2001:db8::1", "nonsense", "")
    return [
        load_balancer(),
        pool(),
        member(**given),
        *(get(f"{where}?address={address}&fields=address") for address in asked),
        *(get(f"{where}?monitor_address={address}&fields=address") for address in ("2001:DB8:0::9", "nonsense", "")),
        get("/loadbalancers/{lb}/status"),
    ]


STORIES = {
    "pools made": _pools_made(),
    "pools refused": _pools_refused(),
    "pools changed, read and deleted": _pools_changed(),
    "members made": _members_made(),
    "members refused": _members_refused(),
    "members changed, read and deleted": _members_changed(),
    "members in batches": _batches(),
    "what a batch of members leaves out": _unnamed_attributes(),
    "empty references of pools": _empty_references(),
    "addresses as they were given": _addresses_as_given(),
}
