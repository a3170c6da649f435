"""A table promises what its renderer does: what it takes is rendered, what it refuses never reaches a device."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from evenkeel.core.devices.capabilities import (
    ALL_CAPABILITIES,
    INSERT_HEADERS,
    TLS_INSERT_HEADERS,
    Capabilities,
    definition_problems,
    tree_problems,
)
from evenkeel.core.devices.service import ServiceDefinition, service_definition_of_tree
from evenkeel.core.resources.model import (
    L7_PROTOCOLS,
    POOL_PROTOCOLS_OF_LISTENER,
    HealthMonitor,
    HealthMonitorType,
    LbAlgorithm,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    SessionPersistence,
    Vip,
)
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.devices.bigip.capabilities import CAPABILITIES as BIGIP
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer as render_bigip
from evenkeel.devices.haproxy.capabilities import CAPABILITIES as HAPROXY
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer as render_haproxy
from tests.certificates import planted, referring

IDS = {"load_balancer_id": "lb-1", "project_id": "a3f1c2"}
VIP = Vip(address="10.1.0.2", subnet_id="s", network_id="n", port_id="p")
MORE = Vip(address="10.1.0.3", subnet_id="s2", network_id="n", port_id="p")


def by_bigip(service: ServiceDefinition) -> str:
    return render_bigip(known(service), BigIpNames("dev", prefix="dev", group=1)).problem


def by_haproxy(service: ServiceDefinition) -> str:
    return render_haproxy(known(service)).problem


def known(service: ServiceDefinition) -> ServiceDefinition:
    return referring(service, {"ref": planted(CertificateKind.CERTIFICATE, "ref")})


DEVICES: dict[str, tuple[Capabilities, Callable[[ServiceDefinition], str]]] = {
    "bigip": (BIGIP, by_bigip),
    "haproxy": (HAPROXY, by_haproxy),
}

KNOWN = ["HTTP", "HTTPS", "TCP", "TERMINATED_HTTPS"]
cookies = st.sampled_from(
    [
        SessionPersistence(type="SOURCE_IP"),
        SessionPersistence(type="HTTP_COOKIE"),
        SessionPersistence(type="APP_COOKIE", cookie_name="JSESSIONID"),
    ]
)
versions = st.sampled_from([("TLSv1.3",)] * 4 + [("TLSv1", "TLSv1.1"), ("TLSv1.1", "TLSv1.3"), ("SSLv3", "TLSv1")])
milliseconds = st.sampled_from([0, 1, 5_000, 2_073_600_000])


@st.composite
def trees(draw: st.DrawFn) -> LoadBalancerTree:
    """What the API takes, as far as its own rules go, for a device type that can do everything."""
    # most of the time something that these device types know, or nearly nothing would be rendered
    protocol: Any = draw(st.sampled_from(KNOWN * 3 + sorted(POOL_PROTOCOLS_OF_LISTENER)))
    pool_protocol: Any = draw(st.sampled_from(sorted(POOL_PROTOCOLS_OF_LISTENER[protocol]) or ["HTTP"]))
    tls = protocol == "TERMINATED_HTTPS"
    with_cookie = pool_protocol == "HTTP"
    persistence = draw(st.none() | (cookies if with_cookie else st.just(SessionPersistence(type="SOURCE_IP"))))
    names = st.sampled_from((*INSERT_HEADERS, *TLS_INSERT_HEADERS) if tls else INSERT_HEADERS)
    headers = draw(st.dictionaries(names, st.sampled_from(["true", "false"])))
    listener = Listener(
        id="listener-1",
        protocol=protocol,
        protocol_port=80,
        default_pool_id=draw(st.sampled_from(["pool-1", None])) if protocol != "PROMETHEUS" else None,
        connection_limit=draw(st.sampled_from([-1, 0, 1, 2_147_483_647])),
        insert_headers=headers if protocol in L7_PROTOCOLS else {},
        allowed_cidrs=draw(st.sampled_from([(), (), ("10.0.0.0/8", "192.0.2.1/32")])),
        timeout_client_data=draw(milliseconds),
        timeout_member_data=draw(milliseconds),
        timeout_member_connect=draw(st.just(5_000) | milliseconds),
        timeout_tcp_inspect=draw(st.just(0) | milliseconds),
        default_tls_container_ref="ref" if tls else None,
        tls_versions=draw(versions) if tls else (),
        **IDS,
    )
    pool = Pool(
        id="pool-1",
        protocol=pool_protocol,
        lb_algorithm=draw(st.sampled_from(get_args(LbAlgorithm))),
        session_persistence=persistence,
        tls_enabled=draw(st.sampled_from([False] * 6 + [True])),
        tls_versions=draw(st.just(()) | versions),
        **IDS,
    )
    member = Member(
        id="member-1",
        pool_id="pool-1",
        address="10.2.0.9",
        protocol_port=8080,
        weight=draw(st.sampled_from([0, 1, 256])),
        backup=draw(st.booleans()),
        monitor_address=draw(st.none() | st.just("2001:db8::9")),
        monitor_port=draw(st.none() | st.just(81)),
        vnic_type=draw(st.sampled_from(("normal",) * 6 + ("direct",))),
        **IDS,
    )
    type_: Any = draw(st.sampled_from(get_args(HealthMonitorType)))
    delay = draw(st.integers(0, 3_600))
    http: dict[str, Any] = {"http_method": "GET", "url_path": "/", "expected_codes": "200-204"}
    monitor = HealthMonitor(
        id="monitor-1",
        pool_id="pool-1",
        type=type_,
        delay=delay,
        timeout=draw(st.integers(0, delay)),
        max_retries=draw(st.integers(1, 10)),
        max_retries_down=draw(st.integers(1, 10)),
        **IDS,
        **(http if type_ in ("HTTP", "HTTPS") else {}),
    )
    return LoadBalancerTree(
        load_balancer=LoadBalancer(
            id="lb-1",
            project_id="a3f1c2",
            vip=VIP,
            provider="dev",
            additional_vips=draw(st.sampled_from([()] * 5 + [(MORE,)])),
        ),
        listeners=(listener,),
        pools=(pool,),
        members=(member,),
        health_monitors=draw(st.sampled_from([(), (monitor,)])),
    )


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
@given(tree=trees())
def test_definition_that_the_table_accepts_is_rendered(device: str, tree: LoadBalancerTree) -> None:
    table, render = DEVICES[device]
    assume(not any(tree_problems(table, tree)))
    assert render(service_definition_of_tree(tree)) == ""


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
@given(tree=trees())
def test_definition_that_the_table_refuses_is_refused_by_the_renderer_too(device: str, tree: LoadBalancerTree) -> None:
    table, render = DEVICES[device]
    definition = service_definition_of_tree(tree)
    assert not any(definition_problems(ALL_CAPABILITIES, definition))
    assume(any(definition_problems(table, definition)))
    assert render(definition)
