"""Listeners."""

from typing import Any

from tests.compat.octavia.stories.lines import (
    call,
    changes,
    delete,
    get,
    listener,
    load_balancer,
    policy,
    pool,
    post,
    put,
)
from tests.compat.table import Line

_LONG = "x" * 256
_START = [load_balancer(vip_address="198.51.100.60"), pool(), pool("tcp", protocol="TCP"), pool("udp", protocol="UDP")]


def _created() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"protocol": "HTTPS"},
        {"protocol": "TCP"},
        {"protocol": "UDP"},
        {"protocol": "SCTP"},
        {"protocol": "PROMETHEUS"},
        {"protocol_port": "8100"},
        {"protocol_port": 8101.0},
        {"protocol_port": 65535},
        {"name": "web", "description": "of the shop", "tags": ["a"]},
        {"admin_state_up": "no"},
        {"connection_limit": -1},
        {"connection_limit": 0},
        {"connection_limit": "500"},
        {"connection_limit": None},
        {"default_pool_id": "{pool}"},
        {"default_pool_id": None},
        {"protocol": "TCP", "default_pool_id": "{tcp}"},
        {"protocol": "UDP", "default_pool_id": "{udp}"},
        {"protocol": "HTTPS", "default_pool_id": "{tcp}"},
        {"protocol": "TCP", "default_pool_id": "{pool}"},
        {"insert_headers": {}},
        {"insert_headers": None},
        {"insert_headers": {"X-Forwarded-For": "true"}},
        {"insert_headers": {"X-Forwarded-For": "false", "X-Forwarded-Port": "True", "X-Forwarded-Proto": "FALSE"}},
        {"timeout_client_data": 0, "timeout_member_connect": 1, "timeout_member_data": 2073600000},
        {"timeout_tcp_inspect": "10"},
        {"timeout_client_data": None},
        {"allowed_cidrs": []},
        {"allowed_cidrs": None},
        {"allowed_cidrs": ["10.0.0.0/8", "10.0.0.5/24"]},
        {"allowed_cidrs": ["10.0.0.1"]},
        {"sni_container_refs": []},
        {"client_authentication": "NONE"},
        {"client_authentication": None},
        {"tls_versions": None, "tls_ciphers": None, "alpn_protocols": None},
        {"tls_versions": ["TLSv1.2", "TLSv1.3"]},
        {"protocol": "TCP", "tls_versions": ["TLSv1.3"]},
        {"tls_ciphers": "ECDHE-RSA-AES128-GCM-SHA256"},
        {"alpn_protocols": ["http/1.1"]},
        {"hsts_max_age": None},
        {"project_id": "proj-a"},
        {"tenant_id": "proj-a"},
        {"l7policies": []},
        {"default_pool": {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}},
        {"l7policies": [{"action": "REJECT"}]},
    ]
    return _START + [
        listener(save="", **{"protocol_port": 7000 + number, **attributes}) for number, attributes in enumerate(wanted)
    ]


def _refused() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {"protocol": "NONSENSE"},
        {"protocol": "http"},
        {"protocol": None},
        {"protocol": 5},
        {"protocol_port": 0},
        {"protocol_port": 65536},
        {"protocol_port": -1},
        {"protocol_port": "http"},
        {"protocol_port": "80.5"},
        {"protocol_port": 90.5},
        {"protocol_port": True},
        {"protocol_port": None},
        {"protocol_port": []},
        {"connection_limit": -2},
        {"connection_limit": "many"},
        {"default_pool_id": "nonsense"},
        {"default_pool_id": "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"},
        {"default_pool_id": "{tcp}"},
        {"default_pool_id": "{udp}"},
        {"protocol": "TCP", "default_pool_id": "{udp}"},
        {"protocol": "PROMETHEUS", "default_pool_id": "{pool}"},
        {"insert_headers": {"X-Forwarded-For": "perhaps"}},
        {"insert_headers": {"X-Forwarded-For": True}},
        {"insert_headers": {"X-Colour": "true"}},
        {"insert_headers": "nonsense"},
        {"insert_headers": {"X-SSL-Client-DN": "true"}},
        {"protocol": "TCP", "insert_headers": {"X-Forwarded-For": "true"}},
        {"timeout_client_data": -1},
        {"timeout_member_connect": 2073600001},
        {"timeout_member_data": "long"},
        {"timeout_tcp_inspect": -1},
        {"allowed_cidrs": ["nonsense"]},
        {"allowed_cidrs": "10.0.0.0/8"},
        {"allowed_cidrs": ["2001:db8::/32"]},
        {"allowed_cidrs": ["10.0.0.0/33"]},
        {"client_authentication": "PERHAPS"},
        {"protocol": "TERMINATED_HTTPS"},
        {"hsts_max_age": 100},
        {"name": _LONG},
        {"description": _LONG},
        {"tags": ["x" * 256]},
        {"admin_state_up": "perhaps"},
        {"colour": "blue"},
        {"loadbalancer_id": "nonsense"},
        {"loadbalancer_id": "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"},
        {"loadbalancer_id": None},
        {"project_id": "proj-b"},
        {"id": "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"},
        {"loadbalancers": [{"id": "{lb}"}]},
        {"default_pool": {"protocol": "HTTP"}},
        {"default_pool": {"name": "x"}},
    ]
    lines = _START + [
        listener(save="", **{"protocol_port": 7000 + number, **attributes}) for number, attributes in enumerate(wanted)
    ]
    lines += [
        listener(),
        listener(save=""),
        listener(save="", protocol="TCP"),
        listener(save="", protocol="UDP"),
        listener(save="", protocol="UDP", protocol_port="80"),
        post("/listeners", {"listener": {"loadbalancer_id": "{lb}", "protocol": "HTTP"}}),
        post("/listeners", {"listener": {"loadbalancer_id": "{lb}", "protocol_port": 9000}}),
        post("/listeners", {"listener": {"protocol": "HTTP", "protocol_port": 9000}}),
        post("/listeners", {"listener": {}}),
        post("/listeners", {}),
        post("/listeners", {"listener": None}),
        post("/listeners", "no json"),
        post("/listeners", {"pool": {}}),
    ]
    return lines


def _changed() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"name": "new", "description": "text"},
        {"name": None},
        {"description": None},
        {"admin_state_up": False},
        {"admin_state_up": None},
        {"admin_state_up": True},
        {"connection_limit": 7},
        {"connection_limit": None},
        {"connection_limit": -2},
        {"default_pool_id": "{pool}"},
        {"default_pool_id": "{tcp}"},
        {"default_pool_id": "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"},
        {"default_pool_id": None},
        {"insert_headers": {"X-Forwarded-For": "true"}},
        {"insert_headers": {"X-Forwarded-Port": "true"}},
        {"insert_headers": {"X-Colour": "true"}},
        {"insert_headers": None},
        {"insert_headers": {}},
        {"timeout_client_data": 10},
        {"timeout_client_data": None},
        {"timeout_member_connect": -5},
        {"allowed_cidrs": ["10.0.0.0/8"]},
        {"allowed_cidrs": ["nonsense"]},
        {"allowed_cidrs": None},
        {"allowed_cidrs": []},
        {"tls_versions": ["TLSv1.2"]},
        {"tags": ["a"]},
        {"tags": None},
        {"tags": []},
        {"client_authentication": None},
        {"sni_container_refs": None},
        {"protocol": "TCP"},
        {"protocol_port": 81},
        {"loadbalancer_id": "{lb}"},
        {"project_id": "proj-a"},
        {"colour": "blue"},
        {"l7policies": []},
        {"default_pool": {}},
        {"name": _LONG},
    ]
    return [
        *_START,
        listener(),
        *changes("/listeners/{listener}", "listener", wanted),
        get("/listeners/{listener}"),
        put("/listeners/{listener}", {}),
        put("/listeners/{listener}", {"listener": None}),
        put("/listeners/nobody", {"listener": {"name": "x"}}),
        put("/listeners/nobody", {"listener": {"connection_limit": -5}}),
        put("/listeners", {"listener": {}}),
        delete("/listeners"),
        delete("/listeners/nobody"),
        get("/listeners/nobody"),
        get("/listeners/{listener}/stats"),
        get("/listeners/nobody/stats"),
        get("/listeners/{listener}/nonsense"),
        call("PUT", "/listeners/{listener}/stats", {}),
        call("POST", "/listeners/{listener}", {}),
        policy(),
        delete("/listeners/{listener}"),
        get("/listeners/{listener}"),
        delete("/listeners/{listener}"),
        get("/l7policies/{policy}"),
    ]


_CERTIFICATE = "http://key.test/v1/containers/5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a01"


def _tls() -> list[Line]:
    served = {"protocol": "TERMINATED_HTTPS", "default_tls_container_ref": _CERTIFICATE}
    wanted: list[dict[str, Any]] = [
        {},
        {"tls_versions": ["TLSv1.2"]},
        {"tls_versions": []},
        {"tls_versions": None},
        {"tls_versions": ["TLSv9"]},
        {"tls_ciphers": "ECDHE-RSA-AES128-GCM-SHA256"},
        {"tls_ciphers": ""},
        {"tls_ciphers": None},
        {"alpn_protocols": ["h2"]},
        {"alpn_protocols": []},
        {"alpn_protocols": None},
        {"alpn_protocols": ["smoke"]},
        {"client_authentication": "MANDATORY"},
        {"hsts_max_age": 100},
        {"hsts_max_age": 100, "hsts_include_subdomains": True, "hsts_preload": True},
        {"hsts_preload": True},
        {"hsts_max_age": -1},
        {"insert_headers": {"X-SSL-Client-DN": "true"}},
        {"sni_container_refs": [_CERTIFICATE]},
        {"default_tls_container_ref": None, "sni_container_refs": [_CERTIFICATE]},
        {"default_tls_container_ref": "x" * 256},
    ]
    lines = [load_balancer()]
    for number, attributes in enumerate(wanted):
        lines.append(listener(save="", **{"protocol_port": 7000 + number, **served, **attributes}))
    return lines


def _empty_references() -> list[Line]:
    served = {"protocol": "TERMINATED_HTTPS", "default_tls_container_ref": _CERTIFICATE}
    clients = {"client_ca_tls_container_ref": "", "client_authentication": "OPTIONAL"}
    cleared: list[dict[str, Any]] = [
        {"client_crl_container_ref": ""},
        {"client_authentication": "NONE", "client_ca_tls_container_ref": ""},
        {"default_tls_container_ref": ""},
    ]
    return [
        load_balancer(),
        listener(default_tls_container_ref="", client_ca_tls_container_ref="", client_crl_container_ref=""),
        listener(save="", protocol="TERMINATED_HTTPS", protocol_port=81, default_tls_container_ref=""),
        listener(save="", protocol_port=82, **served, **clients),
        listener(save="tls", protocol_port=443, sni_container_refs=[_CERTIFICATE], **served),
        *changes("/listeners/{tls}", "listener", cleared),
    ]


STORIES = {
    "listeners made": _created(),
    "listeners refused": _refused(),
    "listeners changed, read and deleted": _changed(),
    "listeners with TLS": _tls(),
    "listeners with empty references": _empty_references(),
}
