"""Features of the API that the BIG-IP renderer supports; the modules of ``render/`` give the reasons."""

from evenkeel.core.devices.capabilities import ADDITIONAL_VIPS, INSERT_HEADERS, TLS_INSERT_HEADERS, Capabilities
from evenkeel.core.devices.rate_limits import RateLimitSupport
from evenkeel.core.resources.catalogue import ACME_AUTHORITY, ACME_AUTHORITY_MEANING
from evenkeel.core.resources.enhanced_services import FLAVOR_KEY
from evenkeel.core.resources.patterns import PatternLimits

PROXY_PROTOCOLS = ("PROXY", "PROXYV2")
"""Pool protocols with which members receive the client's address in a PROXY protocol header."""

CAPABILITIES = Capabilities(
    # PROMETHEUS is a page of HAProxy's own
    protocol_pairs={
        "HTTP": ("HTTP", "PROXY", "PROXYV2"),
        "TCP": ("HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"),
        "HTTPS": ("HTTPS", "PROXY", "PROXYV2", "TCP"),
        "TERMINATED_HTTPS": ("HTTP", "PROXY", "PROXYV2"),
        "UDP": ("UDP",),
        "SCTP": ("SCTP",),
    },
    lb_algorithms=("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
    # the http profile reads and inserts cookies; a TCP listener gets one for them (render/persistence.py)
    session_persistence={
        "SOURCE_IP": ("HTTP", "TCP", "HTTPS", "TERMINATED_HTTPS", "UDP", "SCTP"),
        "HTTP_COOKIE": ("HTTP", "TERMINATED_HTTPS", "TCP"),
        "APP_COOKIE": ("HTTP", "TERMINATED_HTTPS", "TCP"),
    },
    cookie_pools=("HTTP", "TCP"),
    # a BIG-IP has no monitor of SCTP
    health_monitor_types=("HTTP", "HTTPS", "TCP", "TLS-HELLO", "PING", "UDP-CONNECT"),
    # its https monitor cannot send the PROXY header, which comes before TLS
    pool_monitors=dict.fromkeys(PROXY_PROTOCOLS, ("HTTP", "TCP", "TLS-HELLO", "PING")),
    # an association with a member has the device's own time-outs
    fixed_attributes={"SCTP": ("timeout_member_connect",)},
    insert_headers=INSERT_HEADERS + TLS_INSERT_HEADERS,
    options=(
        ADDITIONAL_VIPS,
        "listener.allowed_cidrs",
        "listener.connection_limit",
        "listener.timeout_client_data",
        "listener.timeout_member_connect",
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
        "listener.operator_irules",
        "pool.tls_enabled",
        "pool.tls_container_ref",
        "pool.ca_tls_container_ref",
        "pool.crl_container_ref",
        "pool.tls_ciphers",
        "pool.tls_versions",
        "pool.alpn_protocols",
        "session_persistence.persistence_timeout",
        "session_persistence.persistence_granularity",
        "member.backup",
        "member.monitor_address",
        "member.monitor_port",
    ),
    # fields whose spelling in text is standard (RFC 4514)
    l7rule_dn_fields=("C", "CN", "DC", "L", "O", "OU", "ST", "STREET", "UID"),
    # an iRule's Tcl unrolls counts, and needs a time for look-ahead that grows with the square of a request's length
    pattern_limits=PatternLimits(look_ahead=False, count_max=255, size_max=1000),
    service_parts=(
        "allow",
        "deny",
        "connection_limit_per_source",
        "rate_limit",
        "maintenance",
        "https_redirect",
        "request_headers",
        "response_headers",
        "security_headers",
        "error_pages",
        "compression",
        "timeouts",
        "access_log",
        "member_connection_limit",
        "cookie_encryption",
    ),
    service_settings={"timeouts": ("tunnel",)},
    service_refusals={
        "timeouts.request": "a BIG-IP has no time for a request's headers, and no event at the begin of a request",
        "timeouts.keep_alive": "a BIG-IP has no time between requests, and no event at the end of a response",
        "haproxy_lines": "they are of HAProxy's configuration; tags and iRules of operators are BIG-IP's",
        "drain": "a BIG-IP has no time of a member after which its connections end",
    },
    service_tags=True,
    rate_limits=RateLimitSupport(
        protocols=("HTTP", "TERMINATED_HTTPS"),
        metrics=("REQUESTS", "REQUESTS_PER_URL", "KBYTES"),
        actions=("DENY", "REJECT", "SILENT_DROP"),
        refusals={
            "PACKETS": "the iRule judges requests, and packets of a connection come between them",
            "QUEUE": "the iRule answers or passes a request on, and does not delay it",
        },
    ),
    http_challenges=True,
    standby="silent",
    # a device does not send to addresses that it answers for itself
    chaining=False,
    flavor_metadata={
        FLAVOR_KEY: "A list of names of enhanced services, which all listeners of a load balancer get.",
        ACME_AUTHORITY: ACME_AUTHORITY_MEANING,
    },
    availability_zone_metadata={},
)
