"""Transport profiles and their time-outs."""

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import Parts, Timeouts
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RenderedObjects
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
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
    made = render_load_balancer(service(listeners=(listener(protocol=protocol, **times),), pools=pools), NAMES)
    assert not made.problem
    profiles = {item.key.name: dict(item.attributes) for item in made.objects if "profile" in item.key.type}
    (virtual,) = (dict(item.attributes) for item in made.objects if item.key.type == "ltm/virtual")
    return virtual, profiles


def with_tunnel(
    seconds: int, protocol: str = "HTTP", tags: Any = MappingProxyType({}), **times: int
) -> RenderedObjects:
    """A listener whose enhanced service has this time of tunnels, and these tags."""
    parts = Parts(timeouts=Timeouts(tunnel=seconds))
    known = {"ws": Definition(name="ws", file="a.json", parts=parts, tags=dict(tags))}
    pools = (pool(protocol=protocol, monitor=None),)
    return render_load_balancer(
        service(listeners=(listener(protocol=protocol, enhanced_services=("ws",), **times),), pools=pools),
        NAMES,
        enhanced=known,
    )


@pytest.mark.parametrize(
    ("protocol", "kind", "seconds", "times"),
    [
        ("HTTP", "tcp", 3600, {}),
        ("HTTP", "tcp", 50, {}),
        ("HTTP", "tcp", 4, {"timeout_client_data": 4000, "timeout_member_data": 3001}),
        ("TCP", "fastl4", 5, {}),
        ("TCP", "fastl4", 5, {"timeout_client_data": 0}),
        ("HTTPS", "fastl4", 86_400, {}),
    ],
)
def test_time_of_tunnels_is_the_connections_idle_time(
    protocol: str, kind: str, seconds: int, times: dict[str, int]
) -> None:
    made = with_tunnel(seconds, protocol, **times)
    assert not made.problem
    (profile,) = (one for one in made.objects if one.key.type == f"ltm/profile/{kind}")
    assert profile.attributes["idleTimeout"] == str(seconds)
    (virtual,) = (one for one in made.objects if one.key.type == "ltm/virtual")
    assert profile.key.name in [one["name"].rpartition("/")[2] for one in virtual.attributes["profiles"]]


def test_time_of_tunnels_that_ends_other_connections_of_http_early_is_refused() -> None:
    assert "listener listener-1: timeouts.tunnel 49: at least 50 is allowed on BIG-IPs" in with_tunnel(49).problem
    endless = with_tunnel(3600, timeout_member_data=0)
    assert "timeouts.tunnel 3600: none is allowed on BIG-IPs beside timeout_member_data 0" in endless.problem


def test_time_of_tunnels_goes_with_the_full_proxy_and_not_with_an_operators_profile() -> None:
    made = with_tunnel(5, "TCP", {"lbaas_fastl4": ()})
    (profile,) = (one for one in made.objects if one.key.type == "ltm/profile/tcp")
    assert not made.problem and profile.attributes["idleTimeout"] == "5"
    refused = with_tunnel(60, tags={"lbaas_ctcp": ("/Common/tcp-of-operator",)})
    assert "lbaas_ctcp /Common/tcp-of-operator: timeouts.tunnel 60 cannot be set beside it" in refused.problem


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
