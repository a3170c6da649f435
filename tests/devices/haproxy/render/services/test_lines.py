"""Parts of enhanced services as HAProxy's lines; what clients see of them is in test_enhanced_services.py."""

from typing import Any

import msgspec

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import Parts
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.devices.haproxy.render.services.lines import NO_SERVICES, service_lines
from tests.devices.services import listener, member, pool, rate_limit, rate_rule, service


def parts(**content: Any) -> Parts:
    return msgspec.convert(content, Parts)


def definition(name: str, **content: Any) -> Definition:
    return Definition(name=name, file="a.json", parts=parts(**content))


def test_listener_without_parts_has_no_lines() -> None:
    assert service_lines(listener(), parts()) is NO_SERVICES


def test_source_rate_and_connection_limit_have_a_table_each() -> None:
    found = service_lines(listener(), parts(connection_limit_per_source=5, rate_limit={"requests": 50, "interval": 10}))
    assert found.connection == (
        "stick-table type ipv6 size 100k expire 10s store conn_cur peers evenkeel",
        "tcp-request connection track-sc0 src",
        "tcp-request connection reject if { sc0_conn_cur gt 5 }",
        "tcp-request connection track-sc1 src table listener-1:rates.client.10",
    )
    assert found.first == ("http-request deny deny_status 429 hdr Retry-After 10 if { sc1_http_req_rate gt 50 }",)
    (table,) = found.tables
    assert table.name == "listener-1:rates.client.10"
    assert table.lines[-1] == "stick-table type ipv6 size 100k expire 20s store http_req_rate(10s) peers evenkeel"


def test_a_service_and_policies_with_one_interval_share_a_table() -> None:
    policies = (rate_limit(rate_rule(metric="KBYTES", threshold=2, interval=10)),)
    found = service_lines(listener(rate_limits=policies), parts(rate_limit={"requests": 50, "interval": 10}))
    (table,) = found.tables
    assert table.lines[-1].endswith("store http_req_rate(10s),bytes_in_rate(10s),bytes_out_rate(10s) peers evenkeel")
    assert found.connection == ("tcp-request connection track-sc0 src table listener-1:rates.client.10",)
    assert found.first == (
        "http-request set-var(txn.rate_bytes_sc0) sc0_bytes_in_rate",
        "http-request deny deny_status 429 hdr Retry-After 10 if { sc0_http_req_rate gt 50 }",
        "http-request deny deny_status 429 hdr Retry-After 10"
        " if { sc0_bytes_out_rate,add(txn.rate_bytes_sc0) gt 2048 }",
    )


def test_another_page_has_another_file_so_that_it_is_loaded() -> None:
    first, second = (service_lines(listener(), parts(error_pages={"503": {"body": body}})) for body in ("a", "b"))
    assert first.settings != second.settings
    assert [file.name for file in first.files] != [file.name for file in second.files]


def test_networks_in_another_order_are_no_change() -> None:
    one, other = ["192.0.2.0/24", "10.0.0.0/8"], ["10.0.0.0/8", "192.0.2.0/24"]
    assert service_lines(listener(), parts(deny=one)) == service_lines(listener(), parts(deny=other))


def test_longest_tunnel_time_out_counts_for_a_shared_pool() -> None:
    known = {
        "short": definition("short", timeouts={"tunnel": 60}),
        "long": definition("long", timeouts={"tunnel": 3600}),
    }
    listeners = (
        listener(1, enhanced_services=("short",)),
        listener(2, enhanced_services=("long",), protocol_port=81, default_pool_id="pool-1"),
    )
    rendered = render_load_balancer(service(listeners=listeners, pools=(pool(),)), enhanced=known).load_balancer
    assert rendered is not None
    assert [line for line in rendered.backends[0].lines if "tunnel" in line] == ["timeout tunnel 3600s"]


def test_longest_drain_counts_for_a_shared_pool() -> None:
    known = {name: definition(name, drain=seconds) for name, seconds in (("short", 5), ("long", 60))}
    listeners = (
        listener(1, enhanced_services=("short",)),
        listener(2, enhanced_services=("long",), protocol_port=81, default_pool_id="pool-1"),
    )
    rendered = render_load_balancer(service(listeners=listeners, pools=(pool(),)), enhanced=known).load_balancer
    assert rendered is not None
    assert [backend.drain_seconds for backend in rendered.backends] == [60]


def test_lowest_limit_of_connections_counts_for_a_shared_pool_in_its_mode() -> None:
    known = {
        "low": definition("low", member_connection_limit={"connections": 5, "queue": 7, "wait": 3}),
        "high": definition("high", member_connection_limit={"connections": 50}),
    }
    for protocol, refusal in (("HTTP", "http-request deny deny_status 503"), ("TCP", "tcp-request content reject")):
        listeners = (
            listener(1, enhanced_services=("high",), protocol=protocol),
            listener(2, enhanced_services=("low",), protocol=protocol, protocol_port=81, default_pool_id="pool-1"),
        )
        pools = (pool(protocol=protocol, members=(member(),)),)
        rendered = render_load_balancer(service(listeners=listeners, pools=pools), enhanced=known).load_balancer
        assert rendered is not None
        lines = rendered.backends[0].lines
        assert "timeout queue 3s" in lines and f"{refusal} if {{ queue(pool-1) ge 7 }}" in lines
        words = rendered.backends[0].servers[0].arguments
        assert words[words.index("maxconn") :][:4] == ("maxconn", "5", "maxqueue", "7")
