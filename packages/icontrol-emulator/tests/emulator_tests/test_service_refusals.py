"""Values and combinations of virtual servers, pools, members, persistence and monitors that a device refuses."""

from __future__ import annotations

from typing import Any

import pytest

from emulator_tests.client import Client
from emulator_tests.test_refusals import refused

POOL = {"name": "p", "partition": "P", "members": ["10.1.0.1:80"]}
VIRTUAL = {"name": "v", "partition": "P", "destination": "10.0.0.1:80"}
INCOMPATIBLE = "01070095:3: Virtual server /P/v lists incompatible profiles."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ratio", 0), ("ratio", 65_536), ("ratio", "many"), ("priorityGroup", -1), ("priorityGroup", 65_536),
        ("connectionLimit", -1), ("connectionLimit", 2**32), ("rateLimit", "often"), ("session", "on"),
        ("state", "offline"),
    ],
)  # fmt: skip
async def test_values_of_members(device: Client, name: str, value: Any) -> None:
    await device.post("ltm/pool", POOL)
    path = "ltm/pool/~P~p/members/~P~10.1.0.1:80"
    before = await device.get(path)
    status, _, message = await refused(device, "PATCH", path, {name: value})
    assert (status, message) == (400, f'invalid property value "{name}":"{value}"')
    assert await device.get(path) == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("ltm/node", {"name": "10.1.0.9", "ratio": 0}),
        ("ltm/node", {"name": "10.1.0.9", "session": "up"}),
        ("ltm/pool", {"name": "q", "minActiveMembers": 65_536}),
        ("ltm/pool", {"name": "q", "serviceDownAction": "restart"}),
        ("ltm/pool", {"name": "q", "queueOnConnectionLimit": "yes"}),
        ("ltm/virtual", {**VIRTUAL, "connectionLimit": -1}),
        ("ltm/virtual", {**VIRTUAL, "rateLimitMode": "all"}),
        ("ltm/virtual-address", {"name": "10.0.0.9", "icmpEcho": "yes"}),
        ("ltm/persistence/source-addr", {"name": "x", "timeout": "soon"}),
        ("ltm/persistence/source-addr", {"name": "x", "mask": "255.255"}),
        ("ltm/persistence/source-addr", {"name": "x", "hashAlgorithm": "md5"}),
        ("ltm/persistence/cookie", {"name": "x", "method": "guess"}),
        ("ltm/persistence/cookie", {"name": "x", "cookieName": "a b"}),
        ("ltm/persistence/cookie", {"name": "x", "expiration": "1d"}),
    ],
)
async def test_values_elsewhere(device: Client, path: str, body: dict[str, Any]) -> None:
    name = list(body)[-1]
    status, _, message = await refused(device, "POST", path, {"partition": "P", **body})
    assert (status, message) == (400, f'invalid property value "{name}":"{body[name]}"')


@pytest.mark.parametrize(
    ("protocol", "profiles"),
    [
        ("udp", ["tcp"]), ("tcp", ["udp"]), ("sctp", ["udp"]), ("udp", ["fasthttp"]), ("any", ["tcp", "udp"]),
        ("tcp", ["tcp", "fastL4"]), ("udp", ["udp", "oneconnect"]), ("sctp", ["sctp", "oneconnect"]),
    ],
)  # fmt: skip
async def test_transport_profiles_that_do_not_fit(device: Client, protocol: str, profiles: list[str]) -> None:
    body = {**VIRTUAL, "ipProtocol": protocol, "profiles": profiles}
    assert await refused(device, "POST", "ltm/virtual", body) == (400, 3, INCOMPATIBLE)


async def test_a_side_has_one_transport_profile_of_a_kind(device: Client) -> None:
    sides = [{"name": "tcp", "context": "clientside"}, {"name": "tcp-legacy", "context": "serverside"}]
    await device.post("ltm/virtual", {**VIRTUAL, "profiles": sides})
    expected = (400, 3, "01070097:3: Virtual server /P/v lists duplicate profiles.")
    changed = {"profiles": [{"name": "tcp", "context": "all"}, sides[1]]}
    assert await refused(device, "PATCH", "ltm/virtual/~P~v", changed) == expected


@pytest.mark.parametrize("protocol", ["tcp", "udp", "sctp", "any"])
async def test_fastl4_goes_with_every_protocol(device: Client, protocol: str) -> None:
    shown = await device.post("ltm/virtual", {**VIRTUAL, "ipProtocol": protocol, "profiles": ["fastL4"]})
    assert shown["ipProtocol"] == protocol


@pytest.mark.parametrize(("profile", "protocol"), [("udp", "udp"), ("sctp", "sctp"), ("fasthttp", "tcp")])
async def test_the_protocol_follows_from_the_profile(device: Client, profile: str, protocol: str) -> None:
    assert (await device.post("ltm/virtual", {**VIRTUAL, "profiles": [profile]}))["ipProtocol"] == protocol


async def test_weighing_by_connection_limits_needs_limits(device: Client) -> None:
    await device.post("ltm/pool", POOL)
    mode = {"loadBalancingMode": "weighted-least-connections-member"}
    status, _, message = await refused(device, "PATCH", "ltm/pool/~P~p", mode)
    assert status == 400
    assert "/P/p" in message
    assert "/P/10.1.0.1:80" in message
    await device.patch("ltm/pool/~P~p/members/~P~10.1.0.1:80", {"connectionLimit": 10})
    await device.patch("ltm/pool/~P~p", mode)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "m", "interval": 0}, {"name": "m", "timeout": 86_401}, {"name": "m", "destination": "web:80"},
        {"name": "m", "reverse": "yes"}, {"name": "m", "upInterval": -1},
    ],
)  # fmt: skip
async def test_values_of_monitors(device: Client, body: dict[str, Any]) -> None:
    name = list(body)[-1]
    status, _, message = await refused(device, "POST", "ltm/monitor/http", {"partition": "P", **body})
    assert (status, message) == (400, f'invalid property value "{name}":"{body[name]}"')


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("https", {"sslProfile": "/Common/clientssl"}), ("http", {"recvDisable": "HTTP/1.1 404"}),
    ],
)  # fmt: skip
async def test_settings_of_monitors_that_do_not_fit(device: Client, kind: str, body: dict[str, Any]) -> None:
    status, _, message = await refused(device, "POST", f"ltm/monitor/{kind}", {"name": "m", "partition": "P", **body})
    assert status == 400
    assert "/P/m" in message


async def test_a_monitor_without_a_port_is_not_for_nodes(device: Client) -> None:
    expected = (
        "01070622:3: The monitor /Common/http has a wildcard destination service and cannot be associated with a node "
        "that has a zero service."
    )
    node = {"name": "10.1.0.9", "partition": "P", "monitor": "/Common/http"}
    assert await refused(device, "POST", "ltm/node", node) == (400, 3, expected)
    pool = {"name": "q", "partition": "P", "monitor": "/Common/http", "members": ["10.1.0.9:0"]}
    assert await refused(device, "POST", "ltm/pool", pool) == (400, 3, expected)
    await device.post("ltm/monitor/http", {"name": "m", "partition": "P", "destination": "*:80"})
    await device.post("ltm/node", {**node, "monitor": "/P/m"})


async def test_hash_of_a_cookie_needs_its_name(device: Client) -> None:
    body = {"name": "x", "partition": "P", "method": "hash"}
    assert (await refused(device, "POST", "ltm/persistence/cookie", body))[0] == 400
    await device.post("ltm/persistence/cookie", {**body, "cookieName": "sid"})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ltm/persistence/cookie/cookie", {"method": "insert", "encryptCookiePoolname": "disabled", "timeout": "180"}),
        ("ltm/persistence/source-addr/source_addr", {"mapProxyClass": "none", "mask": "none", "timeout": "180"}),
        ("ltm/persistence/universal/universal", {"rule": "none", "description": "none", "timeout": "180"}),
        ("ltm/persistence/msrdp/msrdp", {"hasSessionDir": "yes", "timeout": "300"}),
        ("ltm/profile/sctp/sctp", {"idleTimeout": 300, "outStreams": 2, "receiveOrdered": "enabled"}),
    ],
)
async def test_factory_defaults(device: Client, path: str, expected: dict[str, Any]) -> None:
    shown = await device.get(path)
    assert {name: shown[name] for name in expected} == expected
    assert shown["defaultsFrom"] == "none"


async def test_bandwidth_policy_of_a_virtual_server_is_in_use(device: Client) -> None:
    await device.post("net/bwc/policy", {"name": "slow", "partition": "P", "maxRate": 1_000_000})
    await device.post("ltm/virtual", {**VIRTUAL, "bwcPolicy": "/P/slow"})
    assert (await device.get("ltm/virtual/~P~v"))["bwcPolicy"] == "/P/slow"
    status, _, _ = await refused(device, "DELETE", "net/bwc/policy/~P~slow")
    assert status == 400
    await device.patch("ltm/virtual/~P~v", {"bwcPolicy": "none"})
    await device.delete("net/bwc/policy/~P~slow")
