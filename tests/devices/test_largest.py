"""The largest load balancer that the API takes can be sent, and rendered for every device type."""

from pathlib import Path

import msgspec

from evenkeel.api.http.fields import ADDITIONAL_VIPS_MAX, ALLOWED_CIDRS_MAX, SNI_CONTAINERS_MAX
from evenkeel.core.devices.service import (
    ServiceCertificate,
    ServiceDefinition,
    ServiceL7Policy,
    ServiceL7Rule,
    ServiceListener,
    ServiceMember,
    ServiceMonitor,
    ServicePool,
)
from evenkeel.core.kit.message_chunks import MESSAGE_OVERHEAD_BYTES, encoded_bytes
from evenkeel.core.protocol.messages import LARGEST_ANSWER_BYTES
from evenkeel.core.resources.limits import LoadBalancerLimits
from evenkeel.core.resources.model import L7_RULES_MAX, SessionPersistence, Vip
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer as render_bigip
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer as render_haproxy
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.partition.request_validation import check_change
from evenkeel.haproxyd.partition.validation import load_balancer_problem
from evenkeel.haproxyd.settings import DaemonSettings

NOWHERE = Path("/nowhere")
LIMITS = LoadBalancerLimits()
WORST = "\x01" * 255
"""What takes the most bytes of all texts of 255 characters: six each."""
QUOTED = '"' * 255
"""The same of texts without control characters."""
ADDRESS = "2001:0db8:0000:0000:0000:ffff:192.168.100.228"


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def worst() -> ServiceDefinition:
    """As many of everything as are allowed, all texts as long as they may be, whether they mean anything or not."""
    vip = Vip(address=ADDRESS, subnet_id=uuid(1), network_id=uuid(2), port_id=uuid(3))
    rule = ServiceL7Rule(
        id=uuid(4),
        type="HEADER",
        compare_type="STARTS_WITH",
        value=WORST,
        key=QUOTED,
        invert=True,
        admin_state_up=False,
    )
    policy = ServiceL7Policy(
        id=uuid(5),
        action="REDIRECT_TO_POOL",
        redirect_pool_id=uuid(6),
        redirect_url=QUOTED,
        redirect_prefix=QUOTED,
        redirect_http_code=308,
        admin_state_up=False,
    )
    listener = ServiceListener(
        id=uuid(7),
        protocol="TERMINATED_HTTPS",
        protocol_port=65535,
        admin_state_up=False,
        connection_limit=2**31 - 1,
        default_pool_id=uuid(8),
        insert_headers=dict.fromkeys((f"X-Header-{number}" for number in range(20)), "true"),
        timeout_client_data=10**9,
        timeout_member_connect=10**9,
        timeout_member_data=10**9,
        timeout_tcp_inspect=10**9,
        allowed_cidrs=(f"{ADDRESS}/128",) * ALLOWED_CIDRS_MAX,
        name=WORST,
        description=WORST,
        default_tls_container_ref=QUOTED,
        sni_container_refs=(QUOTED,) * SNI_CONTAINERS_MAX,
        client_ca_tls_container_ref=QUOTED,
        client_authentication="MANDATORY",
        client_crl_container_ref=QUOTED,
        tls_ciphers="x" * 2048,
        tls_versions=("SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"),
        alpn_protocols=("http/1.0", "http/1.1", "h2"),
        hsts_max_age=2**31 - 1,
        hsts_include_subdomains=True,
        hsts_preload=True,
    )
    member = ServiceMember(
        id=uuid(9),
        address=ADDRESS,
        protocol_port=65535,
        weight=256,
        backup=True,
        admin_state_up=False,
        monitor_address=ADDRESS,
        monitor_port=65535,
        name=WORST,
        vnic_type="direct",
    )
    monitor = ServiceMonitor(
        id=uuid(10),
        type="UDP-CONNECT",
        delay=10**9,
        timeout=10**9,
        max_retries=10,
        max_retries_down=10,
        http_method="OPTIONS",
        url_path=QUOTED,
        expected_codes=QUOTED,
        http_version=1.1,
        domain_name=QUOTED,
        admin_state_up=False,
        name=WORST,
    )
    pool = ServicePool(
        id=uuid(11),
        protocol="PROXYV2",
        lb_algorithm="LEAST_CONNECTIONS",
        admin_state_up=False,
        session_persistence=SessionPersistence(type="APP_COOKIE", cookie_name=QUOTED),
        monitor=monitor,
        name=WORST,
        tls_enabled=True,
        tls_container_ref=QUOTED,
        ca_tls_container_ref=QUOTED,
        crl_container_ref=QUOTED,
        tls_ciphers="x" * 2048,
        tls_versions=listener.tls_versions,
        alpn_protocols=listener.alpn_protocols,
    )
    certificate = ServiceCertificate(reference=QUOTED, kind=CertificateKind.REVOCATION_LIST, sha256="f" * 64)
    replace = msgspec.structs.replace
    full = replace(listener, l7policies=(replace(policy, rules=(rule,) * LIMITS.l7rule),) + (policy,) * LIMITS.l7policy)
    return ServiceDefinition(
        load_balancer_id=uuid(12),
        project_id=WORST,
        revision=2**53,
        vip=vip,
        change_id=WORST,
        name=WORST,
        listeners=(full,) + (listener,) * LIMITS.listener,
        pools=(replace(pool, members=(member,) * LIMITS.member),) + (pool,) * LIMITS.pool,
        additional_vips=(vip,) * ADDITIONAL_VIPS_MAX,
        certificates=(certificate,) * LIMITS.certificate,
    )


def test_the_largest_load_balancer_fits_an_answer() -> None:
    assert encoded_bytes(worst()) < LARGEST_ANSWER_BYTES - MESSAGE_OVERHEAD_BYTES


def largest() -> ServiceDefinition:
    """As many of everything as are allowed, all of it something that HAProxy can do; one listener and one pool have
    most of it."""
    rules = [
        ServiceL7Rule(id=f"rule-{number}", type="PATH", compare_type="STARTS_WITH", value=f"/{number}".ljust(255, "x"))
        for number in range(L7_RULES_MAX)
    ]
    with_rules = LIMITS.l7rule // L7_RULES_MAX
    policies = tuple(
        ServiceL7Policy(
            id=f"policy-{number}",
            action="REDIRECT_TO_POOL",
            redirect_pool_id=f"pool-{number % LIMITS.pool}",
            rules=tuple(rules) if number < with_rules else (),
        )
        for number in range(LIMITS.l7policy)
    )
    members = tuple(
        ServiceMember(
            id=f"member-{number}", address=f"10.{number >> 8}.{number & 255}.1", protocol_port=80, name="x" * 255
        )
        for number in range(LIMITS.member)
    )
    return ServiceDefinition(
        load_balancer_id="lb",
        project_id="project",
        revision=1,
        vip=Vip(address="192.0.2.1", subnet_id="s", network_id="n", port_id="p"),
        listeners=tuple(
            ServiceListener(
                id=f"listener-{number}",
                protocol="HTTP",
                protocol_port=80 + number,
                default_pool_id=f"pool-{number}",
                l7policies=() if number else policies,
                allowed_cidrs=tuple(f"10.{low}.0.0/16" for low in range(ALLOWED_CIDRS_MAX)),
            )
            for number in range(LIMITS.listener)
        ),
        pools=tuple(
            ServicePool(
                id=f"pool-{number}",
                protocol="HTTP",
                lb_algorithm="ROUND_ROBIN",
                members=() if number else members,
                monitor=ServiceMonitor(id=f"m-{number}", type="TCP", delay=5, timeout=3, max_retries=2),
            )
            for number in range(LIMITS.pool)
        ),
    )


def test_a_haproxy_takes_the_largest_load_balancer() -> None:
    rendered = render_haproxy(largest())
    assert not rendered.problem and rendered.load_balancer is not None
    change = wire.PartitionChange(epoch=1, session_id="s", load_balancers=(rendered.load_balancer,))
    http = HttpSettings(certificate=NOWHERE, key=NOWHERE, credentials_file=NOWHERE)
    assert encoded_bytes(change) < http.body_bytes_max
    settings = DaemonSettings(name="host-1", state_dir=NOWHERE, run_dir=NOWHERE)
    check_change(change, complete=True, settings=settings)
    assert load_balancer_problem(rendered.load_balancer, settings) == ""


def test_a_bigip_takes_the_largest_load_balancer_without_what_it_cannot_do() -> None:
    replace = msgspec.structs.replace
    without = largest()
    without = replace(
        without, listeners=tuple(replace(each, l7policies=(), allowed_cidrs=()) for each in without.listeners)
    )
    rendered = render_bigip(without, BigIpNames(environment="dev", prefix="dev", group=1))
    assert not rendered.problem and rendered.objects
