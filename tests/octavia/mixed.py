"""Mixed load balancers, as requests that make each of them in an Octavia at once."""

from collections.abc import Mapping
from typing import Any

from tests.api.bodies import SUBNET_ID
from tests.api.stack import GREEN
from tests.octavia.amphorae import PROVIDER

Body = dict[str, Any]

PROJECTS = 7
TLS_PROJECT = "p3"
DATAGRAMS = ("UDP", "SCTP")


def mixed(number: int, *, flavors: Mapping[str, str], certificate: str) -> Body:
    """The request for load balancer ``number``. ``flavors``: ids of the source's by name; ``certificate``: a reference
    of :data:`TLS_PROJECT`.
    """
    kind = KINDS[number % len(KINDS)]
    body: Body = {
        "provider": PROVIDER,
        "name": f"lb {number} {kind.__name__.strip('_')}",
        "description": "ü, 'quoted' \"twice\" \\ and <tagged>" if number % 3 else "",
        "project_id": TLS_PROJECT if kind is _terminated else f"p{number % PROJECTS}",
        "admin_state_up": number % 9 != 4,
        "tags": ["mixed", f"of-{number % 5}"] if number % 2 else [],
        "vip_subnet_id": SUBNET_ID,
        "vip_address": f"10.10.{1 + number // 200}.{10 + number % 200}",
        **kind(number, certificate),
    }
    if number % 11 == 3:
        body["additional_vips"] = [{"subnet_id": GREEN.id, "ip_address": f"10.11.{1 + number // 200}.{number % 200}"}]
    if number % 10 in (0, 9):
        body["flavor_id"] = flavors["big" if number % 20 < 10 else "small"]
    return body


def _web(number: int, certificate: str) -> Body:
    monitor = {"http_method": "HEAD", "url_path": "/up?a=b", "expected_codes": "200,204", "max_retries_down": 4}
    special = {
        **_pool("HTTP", 1, number),
        "name": "special",
        "session_persistence": {"type": "HTTP_COOKIE"},
    }
    pool = {
        **_pool("HTTP", 3, number),
        "session_persistence": {"type": "APP_COOKIE", "cookie_name": "sid"},
        "healthmonitor": {"name": "up", **_monitor("HTTP", http_version=1.1, domain_name="a.example", **monitor)},
    }
    policies = [
        {"name": "closed", "action": "REJECT", "position": 1, "rules": [_rule("PATH", "STARTS_WITH", "/closed")]},
        {
            "name": "moved",
            "description": "elsewhere",
            "action": "REDIRECT_TO_URL",
            "redirect_url": "https://www.example.com/there",
            "redirect_http_code": 301,
            "position": 2,
            "rules": [
                _rule("HOST_NAME", "EQUAL_TO", "old.example", tags=["old"]),
                _rule("HEADER", "CONTAINS", "bot", key="User-Agent", invert=True),
            ],
        },
        {
            "action": "REDIRECT_TO_POOL",
            "redirect_pool": special,
            "position": 3,
            "admin_state_up": number % 20 == 0,
            "rules": [_rule("FILE_TYPE", "REGEX", "jpe?g"), _rule("COOKIE", "ENDS_WITH", "1", key="kind")],
        },
        {"action": "REDIRECT_PREFIX", "redirect_prefix": "https://next.example", "position": 4},
    ]
    headers = {"X-Forwarded-For": "true", "X-Forwarded-Port": "true", "X-Forwarded-Proto": "true"}
    front = {"insert_headers": headers, "default_pool": pool, "l7policies": policies, "connection_limit": 2000}
    return {"listeners": [_listener("HTTP", 80, **front)]}


def _plain_tcp(number: int, certificate: str) -> Body:
    pool = {
        **_pool("TCP", 2, number, lb_algorithm="LEAST_CONNECTIONS"),
        "session_persistence": {"type": "SOURCE_IP"},
        "healthmonitor": _monitor("TCP"),
    }
    pool["members"] += [
        _member(250, backup=True, monitor_port=8081, monitor_address="10.20.9.9", subnet_id=SUBNET_ID, tags=["spare"])
    ]
    times = {"timeout_client_data": 60_000, "timeout_member_data": 70_000, "timeout_member_connect": 4_000}
    cidrs = ["10.0.0.0/8", "192.0.2.0/24"]
    front = {"allowed_cidrs": cidrs, "timeout_tcp_inspect": 10, "connection_limit": 500, **times}
    return {"listeners": [_listener("TCP", 5432, default_pool=pool, **front)]}


def _udp(number: int, certificate: str) -> Body:
    persistence = {"type": "SOURCE_IP", "persistence_timeout": 90, "persistence_granularity": "255.255.0.0"}
    pool = {
        **_pool("UDP", 2, number, lb_algorithm="SOURCE_IP_PORT"),
        "session_persistence": persistence,
        "healthmonitor": _monitor("UDP-CONNECT"),
    }
    return {"listeners": [_listener("UDP", 53, default_pool=pool)]}


def _terminated(number: int, certificate: str) -> Body:
    pool = {
        **_pool("HTTP", 2, number),
        "tls_enabled": True,
        "tls_versions": ["TLSv1.3"],
        # without these two, Octavia 19 answers 500 to the whole request
        "tls_ciphers": "ECDHE-RSA-AES128-GCM-SHA256",
        "alpn_protocols": ["http/1.1"],
        "healthmonitor": _monitor("TLS-HELLO"),
    }
    front = {
        "default_tls_container_ref": certificate,
        "sni_container_refs": [certificate],
        "tls_versions": ["TLSv1.2", "TLSv1.3"],
        "tls_ciphers": "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384",
        "alpn_protocols": ["http/1.1"],
        "hsts_max_age": 31_536_000,
        "hsts_include_subdomains": True,
    }
    return {"listeners": [_listener("TERMINATED_HTTPS", 443, default_pool=pool, **front)]}


def _passthrough(number: int, certificate: str) -> Body:
    pool = {**_pool("HTTPS", 2, number, lb_algorithm="SOURCE_IP"), "healthmonitor": _monitor("HTTPS", url_path="/")}
    return {"listeners": [_listener("HTTPS", 443, default_pool=pool)]}


def _sctp(number: int, certificate: str) -> Body:
    # an algorithm that HAProxy hosts do not have for SCTP
    pool = {**_pool("SCTP", 1, number, lb_algorithm="LEAST_CONNECTIONS"), "healthmonitor": _monitor("SCTP")}
    return {"listeners": [_listener("SCTP", 5060, default_pool=pool)]}


def _metrics(number: int, certificate: str) -> Body:
    pool = {**_pool("PROXYV2", 1, number), "healthmonitor": _monitor("PING")}
    return {"listeners": [_listener("PROMETHEUS", 9101), _listener("HTTP", 80, default_pool=pool)]}


def _disabled(number: int, certificate: str) -> Body:
    monitor = _monitor("TCP", admin_state_up=False)
    pool = {**_pool("TCP", 1, number), "admin_state_up": False, "healthmonitor": monitor}
    pool["members"] += [_member(240, admin_state_up=False, weight=0)]
    return {"listeners": [_listener("TCP", 25, admin_state_up=False, default_pool=pool)]}


def _bare(number: int, certificate: str) -> Body:
    return {}


def _shared_pool(number: int, certificate: str) -> Body:
    pool = {**_pool("HTTP", 8, number), "name": "shared", "description": "of all", "tags": ["p"]}
    fronts = [_listener("HTTP", port, default_pool={"name": "shared"}) for port in (80, 8080, 8081)]
    return {"pools": [pool, {**_pool("TCP", 1, number), "name": "unused"}], "listeners": fronts}


KINDS = (
    *(_web, _plain_tcp, _udp, _terminated, _passthrough, _sctp, _metrics, _disabled, _bare),
    _shared_pool,
)


def _listener(protocol: str, port: int, **more: Any) -> Body:
    return {"name": f"{protocol} {port}", "protocol": protocol, "protocol_port": port, "tags": ["front"], **more}


def _pool(protocol: str, members: int, number: int, lb_algorithm: str = "ROUND_ROBIN") -> Body:
    made = [_member(at, weight=(number + at) % 257) for at in range(1, members + 1)]
    return {"name": "main", "protocol": protocol, "lb_algorithm": lb_algorithm, "members": made}


def _member(last: int, **more: Any) -> Body:
    return {"name": f"m{last}", "address": f"10.20.0.{last}", "protocol_port": 8080, **more}


def _monitor(type_: str, **more: Any) -> Body:
    return {"type": type_, "delay": 7, "timeout": 4, "max_retries": 2, **more}


def _rule(type_: str, compare_type: str, value: str, **more: Any) -> Body:
    return {"type": type_, "compare_type": compare_type, "value": value, **more}
