"""One service definition for every feature that the renderer knows."""

from typing import Any

from evenkeel.core.model import SessionPersistence, Vip
from evenkeel.core.service import ServiceDefinition, ServiceListener
from tests.devices.services import listener, member, monitor, policy, pool, rule, service, vip


def members(*changes: dict[str, Any]) -> Any:
    return tuple(member(place=place, **change) for place, change in enumerate(changes, 1))


def tcp(number: int = 1, **changes: Any) -> ServiceListener:
    return listener(number, protocol="TCP", **changes)


def sticky(kind: str, cookie_name: str | None = None) -> SessionPersistence:
    return SessionPersistence(type=kind, cookie_name=cookie_name)  # type: ignore[arg-type]


def one_pool(**changes: Any) -> ServiceDefinition:
    return service(pools=(pool(**changes),))


def one_listener(**changes: Any) -> ServiceDefinition:
    return service(listeners=(listener(**changes),))


def monitored(**changes: Any) -> ServiceDefinition:
    return one_pool(members=1, monitor=monitor(**changes))


def judged(*policies: Any, pools: int = 1, **changes: Any) -> ServiceDefinition:
    """A listener with these policies, and pools without members' names to get lost in."""
    return service(
        listeners=(listener(l7policies=policies, **changes),),
        pools=tuple(pool(number, members=1, monitor=None) for number in range(1, pools + 1)),
    )


def to_pool(place: int, number: int, *rules: Any, **changes: Any) -> Any:
    return policy(place, *rules, action="REDIRECT_TO_POOL", redirect_pool_id=f"pool-{number}", **changes)


def every_comparison() -> ServiceDefinition:
    kinds = {"HOST_NAME": "www.example.com", "PATH": "/a", "HEADER": "v", "COOKIE": "c"}
    rules = [
        rule(type=kind, compare_type=compare, value=value, key="X-Kind" if kind in ("HEADER", "COOKIE") else None)
        for kind, value in kinds.items()
        for compare in ("EQUAL_TO", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "REGEX")
    ]
    files = [rule(type="FILE_TYPE", compare_type=compare, value="jpg") for compare in ("EQUAL_TO", "REGEX")]
    return judged(policy(1, *rules, *files))


IPV6 = {"address": "2001:DB8::0:2", "subnet_id": "s6", "network_id": "n", "port_id": "p"}
FEATURES: dict[str, ServiceDefinition] = {
    "http": service(),
    "tcp": service(listeners=(tcp(),), pools=(pool(protocol="TCP", monitor=monitor(type="TCP")),)),
    "https_pass_through": service(
        listeners=(listener(protocol="HTTPS", protocol_port=443),),
        pools=(pool(protocol="HTTPS", monitor=monitor(type="HTTPS")),),
    ),
    "ipv6": service(
        vip=Vip(address="2001:DB8::0:1", subnet_id="s", network_id="n", port_id="p"),
        listeners=(listener(allowed_cidrs=("2001:db8::/32", "::1/128")),),
        pools=(
            pool(
                members=members({"address": "2001:db8::a"}, {"address": "2001:db8::b", "monitor_address": "fd00::c"}),
                monitor=monitor(http_version=1.1),
            ),
        ),
    ),
    "additional_vips": service(additional_vips=(vip(76), Vip(**IPV6))),
    "no_pool": service(listeners=(listener(default_pool_id=None),), pools=()),
    "unused_pools": service(listeners=(), pools=(pool(1), pool(2, protocol="TCP"))),
    "http_pool_behind_tcp": service(listeners=(tcp(),), pools=(pool(monitor=monitor(domain_name="www.example.com")),)),
    "pool_behind_http_and_tcp": service(
        listeners=(listener(1), tcp(2, default_pool_id="pool-1", protocol_port=81, timeout_member_data=99_000)),
    ),
    "pool_behind_two_listeners": service(
        listeners=(listener(1), listener(2, default_pool_id="pool-1", protocol_port=81, timeout_member_connect=7_000)),
    ),
    "least_connections": one_pool(lb_algorithm="LEAST_CONNECTIONS"),
    "source_ip": one_pool(lb_algorithm="SOURCE_IP"),
    "source_ip_port": one_pool(lb_algorithm="SOURCE_IP_PORT"),
    "source_ip_port_tcp": service(
        listeners=(tcp(),), pools=(pool(protocol="TCP", lb_algorithm="SOURCE_IP_PORT", monitor=None),)
    ),
    "weights_and_backup": one_pool(members=members({"weight": 0}, {"weight": 256}, {"backup": True}, {"backup": True})),
    "persistence_source_ip": one_pool(session_persistence=sticky("SOURCE_IP")),
    "persistence_http_cookie": one_pool(session_persistence=sticky("HTTP_COOKIE")),
    "persistence_http_cookie_named": one_pool(session_persistence=sticky("HTTP_COOKIE", "WHERE")),
    "persistence_app_cookie": one_pool(session_persistence=sticky("APP_COOKIE", "JSESSIONID")),
    "monitor_http": monitored(
        http_method="HEAD",
        url_path="/health check?deep=yes&x='#$\\\"",
        expected_codes="200, 202,204-206",
        http_version=1.1,
        domain_name="www.example.com",
        delay=10,
        timeout=4,
        max_retries=5,
        max_retries_down=2,
    ),
    "monitor_http_1_1_without_a_name": monitored(http_version=1.1),
    "monitor_https": monitored(type="HTTPS", domain_name="www.example.com"),
    "monitor_tcp": monitored(type="TCP"),
    "monitor_tls_hello": monitored(type="TLS-HELLO"),
    "monitor_ping": monitored(type="PING"),
    "monitor_elsewhere": one_pool(
        members=members({"monitor_address": "10.9.9.9", "monitor_port": 9999}, {"monitor_port": 9998}, {})
    ),
    "monitor_admin_down": monitored(admin_state_up=False),
    "load_balancer_admin_down": service(admin_state_up=False),
    "listener_admin_down": service(listeners=(listener(1, admin_state_up=False), listener(2, protocol_port=81))),
    "pool_admin_down": one_pool(admin_state_up=False),
    "member_admin_down": one_pool(members=members({"admin_state_up": False}, {})),
    "timeouts": one_listener(
        timeout_client_data=1, timeout_member_connect=2, timeout_member_data=0, timeout_tcp_inspect=4
    ),
    "connection_limit": one_listener(connection_limit=1000),
    "allowed_cidrs": one_listener(allowed_cidrs=("10.0.0.0/8", "192.0.2.1/32", "10.0.0.0/8")),
    "insert_headers": one_listener(
        insert_headers={"X-Forwarded-For": "true", "X-Forwarded-Port": "True", "X-Forwarded-Proto": "true"},
        allowed_cidrs=("10.0.0.0/8",),
    ),
    "l7_every_comparison": every_comparison(),
    "l7_order_of_actions": judged(
        to_pool(1, 2, rule(value="/shop")),
        policy(2, rule(value="/shop/private"), rule(type="HOST_NAME", value="intern.", invert=True)),
        policy(3, action="REDIRECT_TO_URL", redirect_url="https://example.com/100%25?a=b#c", redirect_http_code=308),
        policy(4, action="REDIRECT_PREFIX", redirect_prefix="https://example.com"),
        pools=2,
        insert_headers={"X-Forwarded-For": "true", "X-Forwarded-Port": "true"},
        allowed_cidrs=("10.0.0.0/8",),
    ),
    "l7_admin_down": judged(
        policy(1, admin_state_up=False),
        policy(2, rule(admin_state_up=False)),
        policy(3, rule(1, admin_state_up=False), rule(2, value="/up")),
    ),
    "l7_pool_admin_down": service(
        listeners=(listener(l7policies=(to_pool(1, 2), to_pool(2, 3))),),
        pools=(pool(1, members=1), pool(2, members=1, admin_state_up=False), pool(3, members=1, monitor=None)),
    ),
    "l7_pool_of_two_modes": service(
        listeners=(
            listener(1, l7policies=(to_pool(1, 2),), timeout_member_data=60_000),
            tcp(2, protocol_port=81),
        ),
        pools=(pool(1, members=1), pool(2, members=1, monitor=None)),
    ),
    "l7_most_rules": judged(policy(1, *(rule(value=f"/{number}", invert=True) for number in range(50)))),
    "l7_quoted_values": judged(
        policy(1, rule(type="HEADER", key="User-Agent", compare_type="CONTAINS", value='"Mozilla/5.0 (like Gecko)"')),
        policy(2, rule(compare_type="REGEX", value=r"^/a b/(\d+|[#'\"$]{2,3})\.html$"), rule(value="-f")),
    ),
    "proxy_v1": one_pool(protocol="PROXY"),
    "proxy_v2_tcp": service(listeners=(tcp(),), pools=(pool(protocol="PROXYV2", monitor=monitor(type="TCP")),)),
}
