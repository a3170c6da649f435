"""Load balancers with certificates: each feature of TLS by itself, and those that touch each other."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.capabilities import INSERT_HEADERS, TLS_INSERT_HEADERS
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from tests.devices.services import listener, member, monitor, policy, pool, rule, service
from tests.equivalence.definitions import TLS_RULES
from tests.equivalence.octavia.chosen import settled
from tests.equivalence.values import SUITES

PROJECT, VIP = "project", "10.1.0.1"
TRUSTED, STRANGER = (1, 2), (1, 3)
"""Places of members' websites; that at 3 shows a certificate of an unknown authority."""
AUTHORITY = {"client_ca_tls_container_ref": "root"}
UNREVOKED = {**AUTHORITY, "client_crl_container_ref": "revoked"}
OPTIONAL, MANDATORY = {"client_authentication": "OPTIONAL"}, {"client_authentication": "MANDATORY"}
OF_CLIENTS = dict.fromkeys(TLS_INSERT_HEADERS, "true")
ALL_HEADERS = {**dict.fromkeys(INSERT_HEADERS, "true"), **OF_CLIENTS}
HSTS = {"hsts_max_age": 31_536_000, "hsts_include_subdomains": True, "hsts_preload": True}
OLD_SUITES = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"
OLDEST_SUITES = "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA"
NEW_SUITES = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
REENCRYPTED: dict[str, Any] = {"tls_enabled": True}
VERIFIED = {**REENCRYPTED, "ca_tls_container_ref": "root"}
# so seldom that a slow handshake on a busy machine is no dead member
CHECK: dict[str, Any] = {"delay": 5, "timeout": 5, "max_retries": 1, "max_retries_down": 2}
HTTP_CHECK = {**CHECK, "url_path": "/check", "http_method": "GET", "expected_codes": "200"}


def front(**changes: Any) -> ServiceListener:
    """A listener that terminates TLS."""
    given = {"protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": "www"}
    return listener(**{**given, **changes})


def back(places: Sequence[int] = TRUSTED, **changes: Any) -> ServicePool:
    """A pool without a monitor."""
    members = tuple(member(place=place, address=f"10.2.0.{place}") for place in places)
    return pool(**{"members": members, "monitor": None, **changes})


def balancer(*parts: ServiceListener | ServicePool) -> ServiceDefinition:
    """A load balancer; what is not given is plain."""
    listeners = tuple(one for one in parts if isinstance(one, ServiceListener)) or (front(),)
    pools = tuple(one for one in parts if isinstance(one, ServicePool)) or (back(),)
    made = service(project_id=PROJECT, listeners=listeners, pools=pools)
    return settled(replace(made, vip=replace(made.vip, address=VIP)))


def _checked(kind: str, places: Sequence[int] = STRANGER, **changes: Any) -> ServicePool:
    settings = HTTP_CHECK if kind in ("HTTP", "HTTPS") else CHECK
    return back(places, monitor=monitor(type=kind, **settings), **changes)


CASES: Mapping[str, ServiceDefinition] = {
    # what a listener shows
    "one certificate": balancer(),
    "certificates by name": balancer(front(sni_container_refs=("shop", "any"))),
    "an RSA certificate beside an ECDSA one": balancer(front(sni_container_refs=("www-rsa",))),
    "SNI certificates alone": balancer(front(default_tls_container_ref=None, sni_container_refs=("shop", "any"))),
    # clients' certificates
    "certificates of clients are optional": balancer(front(**OPTIONAL, **AUTHORITY, insert_headers=OF_CLIENTS)),
    "optional, and none that is revoked": balancer(front(**OPTIONAL, **UNREVOKED, insert_headers=OF_CLIENTS)),
    "certificates of clients are mandatory": balancer(front(**MANDATORY, **AUTHORITY, insert_headers=OF_CLIENTS)),
    "mandatory, and none that is revoked": balancer(front(**MANDATORY, **UNREVOKED, insert_headers=OF_CLIENTS)),
    "an authority, and no authentication": balancer(front(**UNREVOKED, insert_headers=OF_CLIENTS)),
    "rules about clients' certificates": balancer(
        front(
            **OPTIONAL,
            **AUTHORITY,
            l7policies=tuple(
                policy(place, replace(one, id=f"rule-{place}"), action="REDIRECT_TO_POOL", redirect_pool_id="pool-2")
                for place, one in enumerate(TLS_RULES, 1)
            ),
        ),
        back(),
        back((4, 5), id="pool-2"),
    ),
    # versions, ciphers, ALPN
    **{
        f"versions {', '.join(versions)}": balancer(front(tls_versions=versions))
        for versions in (("TLSv1.2",), ("TLSv1.3",), ("TLSv1.1", "TLSv1.2"), ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"))
    },
    "old versions with their ciphers": balancer(
        front(tls_versions=("TLSv1", "TLSv1.1", "TLSv1.2"), tls_ciphers=f"{OLD_SUITES}:{OLDEST_SUITES}")
    ),
    "some ciphers": balancer(front(tls_ciphers=SUITES[1])),
    "other ciphers": balancer(front(tls_ciphers=SUITES[2])),
    "ciphers of old versions alone": balancer(front(tls_ciphers=OLD_SUITES)),
    "ciphers of TLSv1.3 alone": balancer(front(tls_ciphers=NEW_SUITES)),
    "ciphers of TLSv1.3 alone, for it alone": balancer(front(tls_ciphers=NEW_SUITES, tls_versions=("TLSv1.3",))),
    **{
        f"ALPN {', '.join(protocols)}": balancer(front(alpn_protocols=protocols))
        for protocols in (("h2",), ("http/1.1",), ("http/1.0",), ("h2", "http/1.1"), ("http/1.1", "h2"))
    },
    # headers
    "strict transport security": balancer(front(**HSTS)),
    "strict transport security for no time": balancer(front(hsts_max_age=0)),
    "strict transport security in answers of HAProxy's own": balancer(
        front(**HSTS, l7policies=(policy(1, rule(value="/")),))
    ),
    "all headers": balancer(front(**OPTIONAL, **AUTHORITY, insert_headers=ALL_HEADERS)),
    "no headers": balancer(front(**OPTIONAL, **AUTHORITY)),
    "X-Forwarded-Proto beside a listener in the clear": balancer(
        front(insert_headers={"X-Forwarded-Proto": "true"}), listener(id="listener-2")
    ),
    # the PROXY protocol
    **{
        f"{protocol} {title}": balancer(front(**settings), back(protocol=protocol))
        for protocol in ("PROXY", "PROXYV2")
        for title, settings in (
            ("pool", {}),
            ("pool and clients' certificates", {**OPTIONAL, **AUTHORITY}),
            ("pool and headers", {**OPTIONAL, **AUTHORITY, "insert_headers": ALL_HEADERS}),
        )
    },
    # TLS to members
    **{
        f"TLS to members {title}, {behind}": balancer(before, back(STRANGER, **settings))
        for title, settings in (
            ("unverified", REENCRYPTED),
            ("with an authority", VERIFIED),
            ("with revocations", {**VERIFIED, "crl_container_ref": "revoked"}),
            ("with a certificate", {**REENCRYPTED, "tls_container_ref": "balancer"}),
            ("with all", {**VERIFIED, "tls_container_ref": "balancer", "crl_container_ref": "revoked"}),
        )
        for behind, before in (
            ("behind TLS", front()),
            ("behind HTTP", listener()),
        )
    },
    "TLS to members behind TCP": balancer(listener(protocol="TCP", protocol_port=82), back(protocol="TCP", **VERIFIED)),
    "TLSv1.2 to members": balancer(front(), back(**REENCRYPTED, tls_versions=("TLSv1.2",), tls_ciphers=OLD_SUITES)),
    "TLSv1.3 to members": balancer(front(), back(**REENCRYPTED, tls_versions=("TLSv1.3",), tls_ciphers=NEW_SUITES)),
    **{f"TLS to members, checks {kind}": balancer(front(), _checked(kind, **VERIFIED)) for kind in ("HTTP", "TCP")},
    **{
        f"TLS to members, checks {kind}{title}": balancer(front(), _checked(kind, **settings))
        for kind in ("HTTPS", "TLS-HELLO")
        for title, settings in (
            ("", VERIFIED),
            (" and revocations", {**VERIFIED, "crl_container_ref": "revoked"}),
            (" and a certificate", {**REENCRYPTED, "tls_container_ref": "balancer"}),
        )
    },
    "TLS checks of members in the clear": balancer(front(), _checked("HTTPS")),
}
"""Title -> load balancer."""
