"""What Octavia has and Even Keel has not built yet. It is refused by name, never dropped silently."""

UNBUILT_ATTRIBUTES: dict[str, str] = {
    "additional_vips": "additional VIPs",
    "vip_qos_policy_id": "QoS policies",
    "vip_sg_ids": "VIP security groups",
    "vip_vnic_type": "SR-IOV VIPs",
    "redirect_pool": "a new pool of an L7 policy outside of a load balancer's create; create the pool first",
    "redirect_pool_id": "a pool id inside a new load balancer",
    "default_pool_id": "a pool id inside a new load balancer",
    "default_pool": "a new pool inside a new listener; create the pool with listener_id",
    "default_tls_container_ref": "TLS termination",
    "sni_container_refs": "TLS termination",
    "client_ca_tls_container_ref": "TLS client authentication",
    "client_authentication": "TLS client authentication",
    "client_crl_container_ref": "TLS client authentication",
    "tls_ciphers": "TLS settings",
    "tls_versions": "TLS settings",
    "alpn_protocols": "ALPN",
    "hsts_max_age": "HSTS",
    "hsts_include_subdomains": "HSTS",
    "hsts_preload": "HSTS",
    "tls_enabled": "TLS to members",
    "tls_container_ref": "TLS to members",
    "ca_tls_container_ref": "TLS to members",
    "crl_container_ref": "TLS to members",
    "request_sriov": "SR-IOV members",
    "vnic_type": "SR-IOV members",
    "persistence_timeout": "session persistence of UDP and SCTP pools",
    "persistence_granularity": "session persistence of UDP and SCTP pools",
}

_TLS_HEADERS = (
    "X-SSL-Client-Verify",
    "X-SSL-Client-Has-Cert",
    "X-SSL-Client-DN",
    "X-SSL-Client-CN",
    "X-SSL-Issuer",
    "X-SSL-Client-SHA1",
    "X-SSL-Client-Not-Before",
    "X-SSL-Client-Not-After",
)

UNBUILT_VALUES: dict[str, dict[str, str]] = {
    "protocol": {
        "TERMINATED_HTTPS": "TLS termination",
        "UDP": "UDP",
        "SCTP": "SCTP",
        "PROMETHEUS": "PROMETHEUS listeners",
    },
    "type": {
        "UDP-CONNECT": "UDP health monitors",
        "SCTP": "SCTP health monitors",
    },
    "insert_headers": dict.fromkeys(_TLS_HEADERS, "TLS termination"),
}
"""Attribute -> value -> feature, for attributes that exist."""
