"""What HAProxy cannot do as asked is refused by name, and equal definitions render to equal objects."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import Vip
from evenkeel.devices.haproxy.note import LoadBalancerNote, pack_note, unpack_note
from evenkeel.devices.haproxy.render import load_balancer
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from tests.devices.haproxy.configuration import rendered
from tests.devices.haproxy.features import FEATURES, sticky, tcp
from tests.devices.services import gone, listener, member, monitor, pool, service


def on_listener(**changes: Any) -> ServiceDefinition:
    return service(listeners=(listener(**changes),))


def on_pool(**changes: Any) -> ServiceDefinition:
    return service(pools=(pool(**changes),))


def on_member(**changes: Any) -> ServiceDefinition:
    return on_pool(members=(member(**changes),))


def on_monitor(**changes: Any) -> ServiceDefinition:
    return on_pool(monitor=monitor(**changes))


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (service(vip=Vip(address="x", subnet_id="s", network_id="n", port_id="p")), "vip_address 'x'"),
        (service(load_balancer_id="a b"), "load balancer: id 'a b'"),
        (on_listener(protocol="SCTP"), "listener listener-1: protocol SCTP is not possible with pools of HTTP"),
        (on_listener(protocol="QUIC"), "listener listener-1: protocol QUIC is not possible on HAProxy"),
        (on_listener(protocol="UDP"), "listener listener-1: protocol UDP is not possible with pools of HTTP"),
        (on_listener(protocol_port=0), "protocol_port 0"),
        (on_listener(connection_limit=0), "connection_limit 0 is not possible"),
        (on_listener(timeout_client_data=-1), "timeout_client_data -1"),
        (on_listener(allowed_cidrs=("10.0.0.0/33",)), "allowed_cidrs: '10.0.0.0/33'"),
        (on_listener(insert_headers={"X-Other": "true"}), "insert_headers: X-Other=true"),
        (on_listener(insert_headers={"X-Forwarded-For": "yes"}), "insert_headers: X-Forwarded-For=yes"),
        (
            service(listeners=(tcp(insert_headers={"X-Forwarded-For": "true"}),)),
            "insert_headers needs protocol HTTP, not TCP",
        ),
        (on_pool(lb_algorithm="RANDOM"), "lb_algorithm RANDOM"),
        (on_pool(session_persistence=sticky("APP_COOKIE")), "cookie_name ''"),
        (on_pool(session_persistence=sticky("OTHER")), "session_persistence OTHER"),
        (
            service(listeners=(tcp(),), pools=(pool(session_persistence=sticky("HTTP_COOKIE")),)),
            "session_persistence HTTP_COOKIE needs listeners of protocol HTTP only",
        ),
        (on_pool(members=(member(), member(id="twin"))), "two members at 10.2.1.1 port 8080"),
        (on_member(address="x"), "member member-1-1: address 'x'"),
        (on_member(weight=257), "weight 257"),
        (on_member(protocol_port=65_536), "protocol_port 65536"),
        (on_member(monitor_address="x"), "monitor_address 'x'"),
        (on_member(monitor_port=0), "monitor_port 0"),
        (
            on_pool(members=(member(monitor_address="x"),), monitor=monitor(type="PING")),
            "member member-1-1: monitor_address 'x'",
        ),
        (on_monitor(type="QUIC"), "type QUIC"),
        (on_monitor(delay=0), "delay 0: 1 to 86400"),
        (on_monitor(http_method="get"), "http_method 'get'"),
        (on_monitor(url_path="x"), "url_path 'x' must begin with '/'"),
        (on_monitor(domain_name="a b"), "domain_name 'a b'"),
        (on_monitor(expected_codes="204-200"), "expected_codes '204-200'"),
        (on_monitor(expected_codes="2xx"), "expected_codes '2xx'"),
    ],
)
def test_impossible_definition_is_refused_by_name(definition: ServiceDefinition, text: str) -> None:
    found = render_load_balancer(definition)
    assert found.load_balancer is None and text in found.problem


def test_an_error_of_ours_is_the_problem_of_one_load_balancer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("wrong")

    monkeypatch.setattr(load_balancer, "build_backends", broken)
    with capture_logs() as logs:
        found = render_load_balancer(service())
    assert found.problem == "an unexpected error of the agent (ValueError); its log has the details"
    assert found.load_balancer is None and str(logs[0]["exc_info"]) == "wrong"


def test_a_deleted_load_balancer_comes_to_nothing() -> None:
    found = render_load_balancer(gone())
    assert found.load_balancer is None and not found.problem


@pytest.mark.parametrize("name", FEATURES)
def test_equal_definitions_render_to_equal_objects(name: str) -> None:
    assert render_load_balancer(FEATURES[name]) == render_load_balancer(FEATURES[name])


def test_a_listener_that_comes_up_changes_no_backend() -> None:
    down = service(listeners=(tcp(1, admin_state_up=False), listener(2, default_pool_id="pool-1", protocol_port=81)))
    up = service(listeners=(tcp(1), listener(2, default_pool_id="pool-1", protocol_port=81)))
    assert rendered(down).backends == rendered(up).backends


def test_of_several_listeners_the_longest_time_counts_and_none_is_the_longest() -> None:
    def server_timeout(*times: int) -> str:
        listeners = tuple(
            listener(place, default_pool_id="pool-1", protocol_port=80 + place, timeout_member_data=time)
            for place, time in enumerate(times)
        )
        lines = rendered(service(listeners=listeners)).backends[0].lines
        return next(line for line in lines if line.startswith("timeout server"))

    assert server_timeout(1_000, 9_000, 50) == "timeout server 9000ms"
    assert server_timeout(1_000, 0) == "timeout server 2147483647ms"


def test_every_pool_can_change_its_members_while_it_runs() -> None:
    for definition in FEATURES.values():
        assert all(backend.dynamic for backend in rendered(definition).backends)


def test_echoes_go_where_a_member_is_to_be_checked() -> None:
    elsewhere = (member(monitor_address="10.9.9.9", monitor_port=9999), member(2, monitor_port=9999))
    pinged = rendered(on_pool(members=elsewhere, monitor=monitor(type="PING"))).backends[0].servers
    assert [server.ping_address for server in pinged] == ["10.9.9.9", None]
    assert not any("9999" in word for server in pinged for word in server.arguments)
    connected = rendered(on_pool(members=elsewhere, monitor=monitor(type="TCP"))).backends[0].servers
    assert [server.ping_address for server in connected] == [None, None]


def test_a_note_says_what_is_meant_and_an_unknown_one_nothing() -> None:
    note = LoadBalancerNote(
        admin_state_up=False, listeners_down=("a",), pools_idle=("b",), connection_limits={"c": 1}, addresses=2
    )
    assert unpack_note(pack_note(note)) == note
    assert unpack_note("") == unpack_note("[]") == unpack_note("{") == LoadBalancerNote()
