"""Features of the API that the HAProxy driver supports, by HAProxy itself or, for UDP and SCTP, by the kernel
of the daemon's host.
"""

from msgspec.structs import replace

from evenkeel.config.esd.parts import PARTS
from evenkeel.core.devices.capabilities import ADDITIONAL_VIPS, INSERT_HEADERS, TLS_INSERT_HEADERS, Capabilities
from evenkeel.core.devices.rate_limits import RateLimitSupport
from evenkeel.core.resources.catalogue import ACME_AUTHORITY, ACME_AUTHORITY_MEANING, DATA_PATH
from evenkeel.core.resources.enhanced_services import FLAVOR_KEY

_PROXY_CAPABILITIES = Capabilities(
    protocol_pairs={
        "HTTP": ("HTTP", "PROXY", "PROXYV2"),
        "TCP": ("HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"),
        "HTTPS": ("HTTPS", "PROXY", "PROXYV2", "TCP"),
        "TERMINATED_HTTPS": ("HTTP", "PROXY", "PROXYV2"),
        "UDP": ("UDP",),
        "SCTP": ("SCTP",),
        "PROMETHEUS": (),
    },
    lb_algorithms=("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
    # the kernel does not know how many flows a member has
    pool_algorithms=dict.fromkeys(("UDP", "SCTP"), ("ROUND_ROBIN", "SOURCE_IP", "SOURCE_IP_PORT")),
    # HAProxy reads and inserts cookies in mode http only
    session_persistence={
        "SOURCE_IP": ("HTTP", "TCP", "HTTPS", "TERMINATED_HTTPS", "UDP", "SCTP"),
        "HTTP_COOKIE": ("HTTP", "TERMINATED_HTTPS"),
        "APP_COOKIE": ("HTTP", "TERMINATED_HTTPS"),
    },
    cookie_pools=("HTTP",),
    health_monitor_types=("HTTP", "HTTPS", "TCP", "TLS-HELLO", "PING", "UDP-CONNECT", "SCTP"),
    insert_headers=(*INSERT_HEADERS, *TLS_INSERT_HEADERS),
    options=(
        ADDITIONAL_VIPS,
        "listener.allowed_cidrs",
        "listener.alpn_protocols",
        "listener.client_authentication",
        "listener.client_ca_tls_container_ref",
        "listener.client_crl_container_ref",
        "listener.connection_limit",
        "listener.default_tls_container_ref",
        "listener.hsts_include_subdomains",
        "listener.hsts_max_age",
        "listener.hsts_preload",
        "listener.sni_container_refs",
        "listener.timeout_client_data",
        "listener.timeout_member_connect",
        "listener.timeout_member_data",
        "listener.timeout_tcp_inspect",
        "listener.tls_ciphers",
        "listener.tls_versions",
        "member.backup",
        "member.monitor_address",
        "member.monitor_port",
        "pool.alpn_protocols",
        "pool.ca_tls_container_ref",
        "pool.crl_container_ref",
        "pool.tls_ciphers",
        "pool.tls_container_ref",
        "pool.tls_enabled",
        "pool.tls_versions",
        "session_persistence.persistence_granularity",
        "session_persistence.persistence_timeout",
    ),
    # the kernel translates addresses of one version only
    vip_version_pools=("UDP", "SCTP"),
    # flows have the kernel's time-outs
    fixed_attributes=dict.fromkeys(
        ("UDP", "SCTP"),
        ("timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"),
    ),
    health_monitor_ranges={"delay": (1, 86_400), "timeout": (1, 86_400)},
    # in HAProxy a limit of 0 means the process's own limit
    refused_values={"listener.connection_limit": (0,)},
    l7policy_actions=("REJECT", "REDIRECT_TO_POOL", "REDIRECT_TO_URL", "REDIRECT_PREFIX"),
    # SSLv3 depends on the host's OpenSSL, and few builds have it
    tls_versions=("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"),
    # with a gap between versions HAProxy enables only the versions above it
    tls_version_gaps=False,
    http_challenges=True,
    # listeners are transparent: they answer only what is routed to the host
    standby="listening",
    service_parts=tuple(part for part in PARTS if part != "cookie_encryption"),
    service_settings={"compression": ("types",)},
    service_refusals={
        "cookie_encryption": "HAProxy 2.6 can decrypt a value, but not encrypt one",
        "compression.minimum_size": "HAProxy 2.6 compresses responses of any size",
    },
    rate_limits=RateLimitSupport(
        protocols=("HTTP", "TERMINATED_HTTPS"),
        metrics=("REQUESTS", "REQUESTS_PER_URL", "KBYTES"),
        actions=("DENY", "REJECT", "SILENT_DROP"),
        refusals={
            "PACKETS": "HAProxy forwards streams and sees no packets",
            "QUEUE": "HAProxy delays single requests by Lua only, which the daemon does not run",
        },
        # HAProxy 2.6 is built with three counters for each stream
        counters_max=3,
    ),
    flavor_metadata={
        FLAVOR_KEY: "A list of names of enhanced services, which all listeners of a load balancer get.",
        DATA_PATH: "kernel: the host's kernel forwards TCP connections; the load balancer then has TCP, HTTPS, UDP and"
        " SCTP listeners only. proxy (default): HAProxy forwards them.",
        ACME_AUTHORITY: ACME_AUTHORITY_MEANING,
    },
    availability_zone_metadata={},
)
KERNEL_CAPABILITIES = replace(
    _PROXY_CAPABILITIES,
    protocol_pairs={
        **dict.fromkeys(("TCP", "HTTPS"), ("HTTPS", "TCP")),
        "UDP": ("UDP",),
        "SCTP": ("SCTP",),
    },
    lb_algorithms=("ROUND_ROBIN", "SOURCE_IP", "SOURCE_IP_PORT"),
    pool_algorithms={},
    session_persistence={"SOURCE_IP": ("TCP", "HTTPS", "UDP", "SCTP")},
    cookie_pools=(),
    insert_headers=(),
    options=(
        ADDITIONAL_VIPS,
        "listener.allowed_cidrs",
        "listener.connection_limit",
        "member.backup",
        "member.monitor_address",
        "member.monitor_port",
        "session_persistence.persistence_granularity",
        "session_persistence.persistence_timeout",
    ),
    fixed_attributes={},
    l7policy_actions=(),
    l7rule_types=(),
    vip_version_pools=("TCP", "HTTPS", "UDP", "SCTP"),
    http_challenges=False,
    service_parts=(),
    rate_limits=RateLimitSupport(),
)
"""Features of load balancers with the data path "kernel", which forwards TCP; HAProxy only checks their members."""
CAPABILITIES = replace(_PROXY_CAPABILITIES, data_paths={"kernel": KERNEL_CAPABILITIES})
