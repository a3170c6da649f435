import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.devices.service import ServiceMember, ServiceMonitor
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from evenkeel.devices.bigip.render.monitor import expected_codes, monitor_times, recv_pattern, send_string
from evenkeel.devices.errors import Unrenderable
from tests.devices.services import listener, member, monitor, pool, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
codes = st.integers(100, 599)
hostile = st.text(max_size=40) | st.text(alphabet="/\\rn\r\n\"'{}[]$%<> :;#?\0GETHTP.10", max_size=40)


def test_times() -> None:
    assert monitor_times(monitor(delay=10, timeout=4, max_retries=1, max_retries_down=3)) == {
        "interval": 10,
        "timeout": 34,
        "timeUntilUp": 0,
    }
    # The device's own convention: three probes that answer within a second.
    assert monitor_times(monitor(delay=5, timeout=1, max_retries=2, max_retries_down=3))["timeout"] == 16


@given(delay=st.integers(0, 900), timeout=st.integers(0, 900), up=st.integers(1, 10), down=st.integers(1, 10))
def test_times_are_what_a_device_takes(delay: int, timeout: int, up: int, down: int) -> None:
    found = monitor_times(monitor(delay=delay, timeout=timeout, max_retries=up, max_retries_down=down))
    assert 1 <= found["interval"] < found["timeout"]
    assert found["timeUntilUp"] >= 0


def test_a_host_needs_http_1_1() -> None:
    assert send_string(monitor(domain_name="web.example", http_version=1.1, url_path="/up")) == (
        "GET /up HTTP/1.1\\r\\nHost: web.example\\r\\nConnection: close\\r\\n\\r\\n"
    )


@given(
    path=hostile, host=hostile, method=hostile | st.sampled_from(["GET", "HEAD"]), version=st.sampled_from([1.0, 1.1])
)
def test_nothing_a_user_writes_breaks_out_of_the_request_line(
    path: str, host: str, method: str, version: float
) -> None:
    wanted = monitor(url_path="/" + path, domain_name=host or None, http_method=method, http_version=version)
    try:
        sent = send_string(wanted)
    except Unrenderable:
        return
    lines = sent.split("\\r\\n")
    assert lines[-2:] == ["", ""]
    assert re.fullmatch(r"[A-Z]+ /[!-~]* HTTP/1\.[01]", lines[0])
    assert re.fullmatch(r'[^\\"<>{}\s]+ [^\\"<>{}\s]+ [^\\"<>{}\s]+', lines[0])
    rest = lines[1:-2]
    assert not rest or (len(rest) == 2 and rest[0].startswith("Host: ") and rest[1] == "Connection: close")
    assert "\\" not in "".join(lines)


@given(parts=st.lists(codes | st.tuples(codes, codes).map(sorted), min_size=1, max_size=6))
def test_the_pattern_matches_exactly_the_expected_codes(parts: list[int | list[int]]) -> None:
    text = ",".join(str(part) if isinstance(part, int) else f"{part[0]}-{part[1]}" for part in parts)
    wanted: ServiceMonitor = monitor(expected_codes=text)
    expected = set(expected_codes(wanted))
    pattern = re.compile(recv_pattern(wanted))
    for code in range(100, 600):
        assert bool(pattern.match(f"HTTP/1.1 {code} Words\r\n")) == (code in expected)


def test_whole_hundreds_and_tens_are_short() -> None:
    assert recv_pattern(monitor(expected_codes="200-299,301,310-319")) == (r"HTTP/1\.[01] (2[0-9][0-9]|31[0-9]|301)")


def rendered(wanted: ServiceMonitor, *members: ServiceMember, **changes: Any) -> tuple[dict[str, Any], list[str]]:
    """The monitors by type and destination, and what each member is checked by."""
    made = render_load_balancer(service(pools=(pool(monitor=wanted, members=members, **changes),)), NAMES)
    assert not made.problem
    found = {
        f"{item.key.type} {item.attributes['destination']}": item
        for item in made.objects
        if "/monitor/" in item.key.type
    }
    paths = {f"/dev_a3f1c2/{item.key.name}": key for key, item in found.items()}
    (own,) = (item for item in made.objects if item.key.type == "ltm/pool")
    checked = [str(one.attributes["monitor"]) for one in own.members]
    assert own.attributes["monitor"] == f"/dev_a3f1c2/{found[next(iter(found))].key.name}"
    return {key: dict(item.attributes) for key, item in found.items()}, [paths.get(path, path) for path in checked]


def test_members_checked_elsewhere_share_a_monitor_for_each_destination() -> None:
    found, checked = rendered(
        monitor(type="TCP"),
        member(place=1),
        member(place=2, monitor_port=9000),
        member(place=3, monitor_port=9000),
        member(place=4, monitor_address="2001:DB8::1"),
        member(place=5, monitor_address="10.3.0.1", monitor_port=81),
    )
    elsewhere = ["ltm/monitor/tcp *:9000", "ltm/monitor/tcp 2001:db8::1.8080", "ltm/monitor/tcp 10.3.0.1:81"]
    assert checked == ["default", elsewhere[0], *elsewhere]
    assert set(found) == {"ltm/monitor/tcp *:*", *elsewhere}
    assert len({str({**one, "destination": ""}) for one in found.values()}) == 1


@pytest.mark.parametrize("kind", ["TCP", "PING", "UDP-CONNECT"])
def test_an_address_without_a_port_is_checked_at_the_port_where_the_member_serves(kind: str) -> None:
    """A device takes the member's own port only with the member's own address."""
    members = (member(place=port, monitor_address="10.3.0.1", protocol_port=port) for port in (80, 81))
    found, _ = rendered(monitor(type=kind), *members)
    assert sorted(one["destination"] for one in found.values()) == ["*:*", "10.3.0.1:80", "10.3.0.1:81"]
    found, _ = rendered(monitor(type=kind), member(monitor_address="2001:db8::1", protocol_port=443))
    assert sorted(one["destination"] for one in found.values()) == ["*:*", "2001:db8::1.443"]


def test_checks_elsewhere_speak_neither_the_pools_tls_nor_its_proxy_protocol() -> None:
    found, _ = rendered(monitor(), member(monitor_port=9000), tls_enabled=True)
    assert set(found) == {"ltm/monitor/https *:*", "ltm/monitor/http *:9000"}
    found, _ = rendered(monitor(), member(monitor_port=9000), protocol="PROXY")
    assert [one["send"].partition("GET")[0] for one in found.values()] == ["PROXY UNKNOWN\\r\\n", ""]


def test_a_monitor_that_is_down_checks_nobody() -> None:
    made = render_load_balancer(
        service(pools=(pool(monitor=monitor(admin_state_up=False), members=(member(monitor_port=1),)),)), NAMES
    )
    (own,) = (item for item in made.objects if item.key.type == "ltm/pool")
    assert (own.attributes["monitor"], own.members[0].attributes["monitor"]) == ("", "default")
    assert not [item for item in made.objects if "/monitor/" in item.key.type]


@pytest.mark.parametrize(
    ("type_", "path"),
    [
        ("HTTP", "http"),
        ("HTTPS", "https"),
        ("TCP", "tcp"),
        ("TLS-HELLO", "tcp"),
        ("UDP-CONNECT", "udp"),
        ("PING", "gateway-icmp"),
    ],
)
def test_each_type_is_one_of_the_devices(type_: Any, path: str) -> None:
    protocol = "UDP" if type_ == "UDP-CONNECT" else "HTTP"
    made = render_load_balancer(
        service(
            listeners=(listener(protocol=protocol),), pools=(pool(protocol=protocol, monitor=monitor(type=type_)),)
        ),
        NAMES,
    )
    (found,) = (dict(item.attributes) for item in made.objects if item.key.type == f"ltm/monitor/{path}")
    assert ("recv" in found) is (type_ in ("HTTP", "HTTPS", "TLS-HELLO"))
