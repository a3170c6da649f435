"""Transport profiles and their time-outs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.load_balancer import render
from evenkeel.devices.bigip.render.transport import (
    SYN_INTERVAL_MILLISECONDS_MAX,
    SYN_REPEATS_MAX,
    SYN_REPEATS_MIN,
    syn_intervals,
)
from tests.devices.services import listener, pool, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
PART = "/dev_a3f1c2"


def rendered(protocol: str = "HTTP", pool_protocol: str = "", **times: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The virtual server, and the profiles of the load balancer by name."""
    pools = (pool(protocol=pool_protocol or protocol, monitor=None),)
    made = render(service(listeners=(listener(protocol=protocol, **times),), pools=pools), NAMES)
    assert not made.problem
    profiles = {item.key.name: dict(item.attributes) for item in made.objects if "profile" in item.key.type}
    (virtual,) = (dict(item.attributes) for item in made.objects if item.key.type == "ltm/virtual")
    return virtual, profiles


def names(virtual: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["name"].removeprefix("/Common/"), one["context"]) for one in virtual["profiles"]]


@pytest.mark.parametrize(
    ("protocol", "pool_protocol", "profiles", "number"),
    [
        ("HTTP", "HTTP", ["http", "tcp", "oneconnect"], "tcp"),
        ("HTTP", "PROXY", ["http", "tcp"], "tcp"),
        ("TCP", "TCP", ["fastL4"], "tcp"),
        ("TCP", "PROXYV2", ["tcp"], "tcp"),
        ("HTTPS", "HTTPS", ["fastL4"], "tcp"),
        ("UDP", "UDP", ["udp"], "udp"),
        ("SCTP", "SCTP", ["sctp"], "sctp"),
    ],
)
def test_each_protocol_has_its_profile(protocol: str, pool_protocol: str, profiles: list[str], number: str) -> None:
    virtual, own = rendered(protocol, pool_protocol)
    assert names(virtual) == [(name, "all") for name in profiles]
    assert virtual["ipProtocol"] == number and not own


@pytest.mark.parametrize(
    ("protocol", "kind", "longest"),
    [
        ("HTTP", "tcp", "indefinite"),
        ("TCP", "fastl4", "indefinite"),
        ("UDP", "udp", "indefinite"),
        ("SCTP", "sctp", ""),
    ],
)
def test_the_longer_idle_time_counts(protocol: str, kind: str, longest: str) -> None:
    virtual, own = rendered(protocol, timeout_client_data=1, timeout_member_data=90_001)
    assert own[f"dev_{kind}_listener-1"]["idleTimeout"] == "91"
    assert (f"{PART}/dev_{kind}_listener-1", "all") in names(virtual)
    _, own = rendered(protocol, timeout_client_data=0)
    assert own[f"dev_{kind}_listener-1"]["idleTimeout"] == (longest or "2147483647")


def test_the_time_to_connect_is_that_of_the_members_side() -> None:
    virtual, own = rendered("HTTP", timeout_member_connect=1_400)
    assert own == {
        "dev_tcp-member_listener-1": {
            "defaultsFrom": "/Common/tcp",
            "idleTimeout": "300",
            "synRtoBase": 200,
            "synMaxRetrans": 2,
            "description": "evenkeel:dev/1:tcp-member:lb-1:listener-1",
        }
    }
    assert ("tcp", "clientside") in names(virtual)
    assert (f"{PART}/dev_tcp-member_listener-1", "serverside") in names(virtual)
    _, both = rendered("HTTP", timeout_member_connect=1_400, timeout_client_data=60_000)
    assert both["dev_tcp-member_listener-1"]["idleTimeout"] == both["dev_tcp_listener-1"]["idleTimeout"] == "60"
    _, passed = rendered("TCP", timeout_member_connect=1_400)
    assert passed["dev_fastl4_listener-1"]["tcpHandshakeTimeout"] == "2"
    _, endless = rendered("TCP", timeout_member_connect=0)
    assert endless["dev_fastl4_listener-1"]["tcpHandshakeTimeout"] == "indefinite"
    assert not rendered("UDP", timeout_member_connect=7)[1]


@given(st.integers(1, 31_536_000_000))
def test_a_device_gives_up_on_request(milliseconds: int) -> None:
    first, repeats = syn_intervals(milliseconds)
    assert 1 <= first <= SYN_INTERVAL_MILLISECONDS_MAX and SYN_REPEATS_MIN <= repeats <= SYN_REPEATS_MAX
    tries = 2 ** (repeats + 1) - 1
    longest = SYN_INTERVAL_MILLISECONDS_MAX * (2 ** (SYN_REPEATS_MAX + 1) - 1)
    assert min(milliseconds, longest) <= first * tries < milliseconds + tries
    assert syn_intervals(0) == (SYN_INTERVAL_MILLISECONDS_MAX, SYN_REPEATS_MAX)
