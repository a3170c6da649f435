"""One service definition for every feature that the renderer knows."""

from typing import Any

from evenkeel.core.devices.capabilities import INSERT_HEADERS, TLS_INSERT_HEADERS
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.model import SessionPersistence, Vip
from evenkeel.core.tls.certificates import CertificateKind
from tests.certificates import authority, certificate, planted, referring, revocations
from tests.devices.services import listener, member, monitor, policy, pool, rule, service, vip
from tests.key_managers.authority import INTERMEDIATE, ROOT, Issued, ec_key


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


NAMED = {
    **{name: planted(CertificateKind.CERTIFICATE, name) for name in ("www", "shop", "own")},
    "clients": planted(CertificateKind.AUTHORITY, "clients"),
    "members": planted(CertificateKind.AUTHORITY, "members"),
    "clients-revoked": planted(CertificateKind.REVOCATION_LIST, "clients-revoked"),
    "members-revoked": planted(CertificateKind.REVOCATION_LIST, "members-revoked"),
}
"""What references name in the features of TLS."""
SERVED = Issued("www.example.org", INTERMEDIATE, ec_key(), names=("www.example.org",))
CONTENTS = {
    **{NAMED[name].sha256: certificate(SERVED, INTERMEDIATE) for name in ("www", "shop", "own")},
    **{NAMED[name].sha256: authority(ROOT) for name in ("clients", "members")},
    **{NAMED[f"{name}-revoked"].sha256: revocations(ROOT) for name in ("clients", "members")},
}
"""The same as HAProxy takes it."""
CIPHERS = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384"


def tls_listener(number: int = 1, **changes: Any) -> ServiceListener:
    """One where TLS ends, with the settings that the API gives to each."""
    settings = {
        "protocol": "TERMINATED_HTTPS",
        "protocol_port": 443,
        "default_tls_container_ref": "www",
        "tls_ciphers": CIPHERS,
        "tls_versions": ("TLSv1.2", "TLSv1.3"),
        "alpn_protocols": ("h2", "http/1.1", "http/1.0"),
    }
    return listener(number, **{**settings, **changes})


def terminated(**changes: Any) -> ServiceDefinition:
    return referring(service(listeners=(tls_listener(**changes),)), NAMED)


def tls_pool(number: int = 1, **changes: Any) -> Any:
    """One whose members speak TLS, with the settings that the API gives to each."""
    settings = {
        "tls_enabled": True,
        "members": 1,
        "tls_ciphers": CIPHERS,
        "tls_versions": ("TLSv1.2", "TLSv1.3"),
        "alpn_protocols": ("h2", "http/1.1", "http/1.0"),
    }
    return pool(number, **{**settings, **changes})


def reencrypted(**changes: Any) -> ServiceDefinition:
    return referring(service(pools=(tls_pool(**changes),)), NAMED)


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
    "tls": terminated(),
    "tls_every_certificate": terminated(sni_container_refs=("shop", "www", "own")),
    "tls_sni_alone": terminated(default_tls_container_ref=None, sni_container_refs=("shop", "www")),
    "tls_newest_only": terminated(tls_versions=("TLSv1.3",), tls_ciphers="TLS_AES_128_GCM_SHA256"),
    "tls_suites_of_the_newest_only": terminated(tls_ciphers="TLS_AES_128_GCM_SHA256"),
    "tls_ciphers_of_the_older_only": terminated(tls_ciphers="ECDHE-RSA-AES128-GCM-SHA256:!aNULL"),
    "tls_old_versions": terminated(tls_versions=("TLSv1.1", "TLSv1", "TLSv1.2"), alpn_protocols=("http/1.1",)),
    "tls_nothing_said": terminated(tls_ciphers=None, tls_versions=(), alpn_protocols=()),
    "tls_hsts": terminated(hsts_max_age=31_536_000, hsts_include_subdomains=True, hsts_preload=True),
    "tls_hsts_over": terminated(hsts_max_age=0),
    "tls_clients_optional": terminated(client_authentication="OPTIONAL", client_ca_tls_container_ref="clients"),
    "tls_clients_mandatory": terminated(
        client_authentication="MANDATORY",
        client_ca_tls_container_ref="clients",
        client_crl_container_ref="clients-revoked",
    ),
    "tls_clients_not_asked": terminated(client_ca_tls_container_ref="clients"),
    "tls_every_header": terminated(insert_headers=dict.fromkeys((*INSERT_HEADERS, *TLS_INSERT_HEADERS), "true")),
    "tls_beside_http": referring(
        service(
            listeners=(
                tls_listener(1, insert_headers={"X-Forwarded-Proto": "true", "X-SSL-Client-CN": "true"}),
                listener(2, default_pool_id="pool-1"),
                tcp(3, default_pool_id="pool-1", protocol_port=81),
            )
        ),
        NAMED,
    ),
    "tls_redirected_to": referring(
        service(
            listeners=(
                listener(1, l7policies=(policy(1, action="REDIRECT_PREFIX", redirect_prefix="https://example.com"),)),
                tls_listener(2, default_pool_id="pool-1"),
            )
        ),
        NAMED,
    ),
    "tls_rules": terminated(
        l7policies=(
            policy(1, rule(type="SSL_CONN_HAS_CERT", compare_type="EQUAL_TO", value="True", invert=True)),
            policy(2, rule(type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="010", invert=True)),
            policy(3, rule(type="SSL_DN_FIELD", key="CN", compare_type="REGEX", value=r"^(a|b) \.c$")),
            policy(4, rule(type="SSL_DN_FIELD", key="OU", compare_type="EQUAL_TO", value="it's")),
        )
    ),
    "tls_admin_down": terminated(admin_state_up=False),
    "tls_members": reencrypted(),
    "tls_members_verified": reencrypted(
        ca_tls_container_ref="members", crl_container_ref="members-revoked", tls_container_ref="own"
    ),
    "tls_members_verified_without_a_list": reencrypted(ca_tls_container_ref="members"),
    "tls_members_h2_only": reencrypted(alpn_protocols=("h2",)),
    "tls_members_h1_only": reencrypted(alpn_protocols=("http/1.1",)),
    "tls_members_monitor_https": reencrypted(
        ca_tls_container_ref="members", monitor=monitor(type="HTTPS", domain_name="www.example.com", http_version=1.1)
    ),
    "tls_members_monitor_tls_hello": reencrypted(monitor=monitor(type="TLS-HELLO")),
    "tls_members_monitor_tcp": reencrypted(monitor=monitor(type="TCP")),
    "tls_members_monitor_ping": reencrypted(monitor=monitor(type="PING")),
    "tls_members_in_both_modes": referring(
        service(
            listeners=(tls_listener(1), tcp(2, default_pool_id="pool-1", protocol_port=81)),
            pools=(tls_pool(tls_container_ref="own"),),
        ),
        NAMED,
    ),
    "tls_members_proxy": reencrypted(protocol="PROXYV2"),
    "tls_members_not_spoken": reencrypted(tls_enabled=False, tls_container_ref="own"),
    "prometheus": service(
        listeners=(
            listener(1),
            listener(2, protocol="PROMETHEUS", protocol_port=8088, default_pool_id=None, allowed_cidrs=("10.0.0.0/8",)),
        )
    ),
    "proxy_v1": one_pool(protocol="PROXY"),
    "proxy_v2_tls": referring(
        service(
            listeners=(tls_listener(1), tcp(2, default_pool_id="pool-1", protocol_port=81)),
            pools=(pool(protocol="PROXYV2"),),
        ),
        NAMED,
    ),
    "proxy_v2_tcp": service(listeners=(tcp(),), pools=(pool(protocol="PROXYV2", monitor=monitor(type="TCP")),)),
}
