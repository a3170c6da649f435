"""The BIG-IP renderer's support for the API's features; the reasons are in the modules of ``render/``."""

from evenkeel.core.capabilities import ADDITIONAL_VIPS, INSERT_HEADERS, TLS_INSERT_HEADERS, Capabilities

CAPABILITIES = Capabilities(
    protocol_pairs={
        "HTTP": ("HTTP",),
        "TCP": ("HTTP", "HTTPS", "TCP"),
        "HTTPS": ("HTTPS", "TCP"),
        "TERMINATED_HTTPS": ("HTTP",),
    },
    lb_algorithms=("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"),
    # the http profile inserts cookies, and only virtual servers of HTTP listeners have one
    session_persistence={
        "SOURCE_IP": ("HTTP", "TCP", "HTTPS", "TERMINATED_HTTPS"),
        "HTTP_COOKIE": ("HTTP", "TERMINATED_HTTPS"),
    },
    health_monitor_types=("HTTP", "HTTPS", "TCP", "PING"),
    insert_headers=INSERT_HEADERS + TLS_INSERT_HEADERS,
    options=(
        ADDITIONAL_VIPS,
        "listener.connection_limit",
        "listener.timeout_client_data",
        "listener.timeout_member_data",
        "listener.default_tls_container_ref",
        "listener.sni_container_refs",
        "listener.client_ca_tls_container_ref",
        "listener.client_authentication",
        "listener.client_crl_container_ref",
        "listener.tls_ciphers",
        "listener.tls_versions",
        "listener.alpn_protocols",
        "listener.hsts_max_age",
        "listener.hsts_include_subdomains",
        "listener.hsts_preload",
        "pool.tls_enabled",
        "pool.tls_container_ref",
        "pool.ca_tls_container_ref",
        "pool.crl_container_ref",
        "pool.tls_ciphers",
        "pool.tls_versions",
        "pool.alpn_protocols",
        "member.backup",
    ),
    l7policy_actions=(),
    l7rule_types=(),
    flavor_metadata={},
    availability_zone_metadata={},
)
