"""TLS: that ends at a listener, and that is spoken to members."""

from tests.api.client_stories.step import Step

_TLS = "--protocol TERMINATED_HTTPS --protocol-port 443"
LISTENERS = (
    Step("create --name sealed --vip-subnet-id blue --wait"),
    Step(f"listener create {_TLS} sealed", refused="default_tls_container_ref"),
    Step(
        f"listener create --name seal {_TLS} --default-tls-container-ref own --sni-container-refs sni-1 sni-2 "
        "--client-ca-tls-container-ref ca --client-authentication MANDATORY --client-crl-container-ref crl "
        "--tls-ciphers TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256 --tls-version TLSv1.2 --tls-version TLSv1.3 "
        "--alpn-protocol h2 --alpn-protocol http/1.1 --hsts-max-age 300 --hsts-include-subdomains --hsts-preload "
        "--insert-headers X-SSL-Client-DN=true --wait sealed",
        {
            "default_tls_container_ref": "own",
            "sni_container_refs": ["sni-1", "sni-2"],
            "client_ca_tls_container_ref": "ca",
            "client_authentication": "MANDATORY",
            "client_crl_container_ref": "crl",
            "tls_ciphers": "TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256",
            "tls_versions": ["TLSv1.2", "TLSv1.3"],
            "alpn_protocols": ["h2", "http/1.1"],
            "hsts_max_age": 300,
            "hsts_include_subdomains": True,
            "hsts_preload": True,
            "insert_headers": {"X-SSL-Client-DN": "true"},
        },
    ),
    Step(
        "listener set --default-tls-container-ref other --sni-container-refs sni-3 --client-ca-tls-container-ref ca-2 "
        "--client-authentication OPTIONAL --client-crl-container-ref crl-2 --tls-ciphers TLS_AES_256_GCM_SHA384 "
        "--tls-version TLSv1.3 --alpn-protocol http/1.1 --hsts-max-age 400 --hsts-include-subdomains --hsts-preload "
        "--wait seal"
    ),
    Step(
        "listener show seal",
        {
            "default_tls_container_ref": "other",
            "sni_container_refs": ["sni-3"],
            "client_authentication": "OPTIONAL",
            "client_crl_container_ref": "crl-2",
            "tls_versions": ["TLSv1.3"],
            "alpn_protocols": ["http/1.1"],
            "hsts_max_age": 400,
        },
    ),
    Step(
        "listener unset --sni-container-refs --client-crl-container-ref --client-authentication --tls-ciphers "
        "--tls-versions --alpn-protocols --hsts-include-subdomains --hsts-preload --hsts-max-age --wait seal"
    ),
    Step("listener unset --client-ca-tls-container-ref --wait seal"),
    Step(
        "listener show seal",
        {
            "sni_container_refs": [],
            "client_ca_tls_container_ref": None,
            "client_authentication": "NONE",
            "client_crl_container_ref": None,
            "hsts_max_age": None,
            "hsts_include_subdomains": False,
            "hsts_preload": False,
        },
    ),
    Step("listener unset --default-tls-container-ref seal", refused="default_tls_container_ref"),
    Step("delete --cascade --wait sealed"),
)

POOLS = (
    Step("create --name whisper --vip-subnet-id blue --wait"),
    Step(
        "pool create --name quiet-pool --protocol HTTP --lb-algorithm ROUND_ROBIN --loadbalancer whisper --enable-tls "
        "--tls-container-ref own --ca-tls-container-ref ca --crl-container-ref crl --tls-version TLSv1.3 "
        "--tls-ciphers TLS_AES_256_GCM_SHA384 --alpn-protocol h2 --wait",
        {
            "tls_enabled": True,
            "tls_container_ref": "own",
            "ca_tls_container_ref": "ca",
            "crl_container_ref": "crl",
            "tls_versions": ["TLSv1.3"],
            "tls_ciphers": "TLS_AES_256_GCM_SHA384",
            "alpn_protocols": ["h2"],
        },
    ),
    Step(
        "pool create --name open-pool --protocol HTTP --lb-algorithm ROUND_ROBIN --loadbalancer whisper --disable-tls "
        "--wait",
        {"tls_enabled": False},
    ),
    Step(
        "pool set --disable-tls --tls-container-ref b --ca-tls-container-ref c --crl-container-ref d --tls-ciphers "
        "TLS_AES_128_GCM_SHA256 --tls-version TLSv1.2 --alpn-protocol http/1.1 --wait quiet-pool"
    ),
    Step("pool show quiet-pool", {"tls_enabled": False, "tls_container_ref": "b", "alpn_protocols": ["http/1.1"]}),
    Step("pool set --enable-tls --wait open-pool"),
    Step("pool unset --crl-container-ref --tls-versions --tls-ciphers --alpn-protocols --wait quiet-pool"),
    Step("pool unset --ca-tls-container-ref --tls-container-ref --wait quiet-pool"),
    Step(
        "pool show quiet-pool",
        {"tls_container_ref": None, "ca_tls_container_ref": None, "crl_container_ref": None},
    ),
    Step("delete --cascade --wait whisper"),
)

DATAGRAMS = (
    Step("create --name names --vip-subnet-id blue --wait"),
    Step("listener create --name dns --protocol UDP --protocol-port 53 --wait names", {"protocol": "UDP"}),
    Step("listener create --name dns-tcp --protocol TCP --protocol-port 53 --wait names", {"protocol": "TCP"}),
    Step("listener create --name sigtran --protocol SCTP --protocol-port 53 --wait names", {"protocol": "SCTP"}),
    Step("listener create --name metrics --protocol PROMETHEUS --protocol-port 9100 --wait names"),
    Step(
        "pool create --name resolvers --protocol UDP --lb-algorithm SOURCE_IP --listener dns --wait "
        "--session-persistence type=SOURCE_IP,persistence_timeout=60,persistence_granularity=255.255.0.0",
        {"session_persistence": {"persistence_timeout": 60, "persistence_granularity": "255.255.0.0"}},
    ),
    Step("healthmonitor create --type UDP-CONNECT --delay 5 --timeout 3 --max-retries 2 --wait resolvers"),
    Step(
        "member create --address 10.20.0.1 --protocol-port 53 --request-sriov --wait resolvers",
        refused="does not allow SR-IOV",
    ),
    Step("delete --cascade --wait names"),
)
