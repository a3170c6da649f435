"""What each kind of monitor finds, and what its findings do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from emulator_tests.client import Backend, Client, fetch, free_port
from emulator_tests.datagram_site import Echo
from emulator_tests.virtual_site import VIP, Start, count, member_is, site, stats
from icontrol_emulator import Emulator
from tests.waiting import eventually


async def monitor(device: Client, kind: str, name: str = "m", **props: Any) -> None:
    await device.post(f"ltm/monitor/{kind}", {"name": name, "partition": "P", "interval": 1, "timeout": 4, **props})


async def monitored(device: Client, endpoint: str, rule: str = "/P/m") -> str:
    """A pool with a member at the endpoint; the member's path."""
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": [endpoint], "monitor": rule})
    return f"ltm/pool/~P~p/members/~P~{endpoint}"


async def becomes(device: Client, member: str, state: str) -> None:
    async def now() -> bool:
        return bool((await device.get(member))["state"] == state)

    await eventually(now)


@pytest.mark.parametrize("kind", ["tcp", "tcp-half-open", "udp"])
async def test_member_without_a_listener_is_down(device: Client, kind: str) -> None:
    await monitor(device, kind)
    member = await monitored(device, f"127.0.0.1:{free_port()}")
    await becomes(device, member, "down")
    reason = (await stats(device, member))["status.statusReason"]
    assert reason.startswith("/P/m: Unable to connect; No successful responses received before deadline. @")


@pytest.mark.parametrize("kind", ["tcp", "tcp-half-open", "http"])
async def test_member_with_a_listener_is_up(device: Client, backend: Start, kind: str) -> None:
    server = await backend("a")
    await monitor(device, kind, **({"send": "GET /monitor HTTP/1.1\\r\\n"} if kind == "http" else {}))
    await becomes(device, await monitored(device, f"127.0.0.1:{server.port}"), "up")
    assert server.requests == 0  # settled: there may never be one


@pytest.mark.parametrize(
    ("props", "state"),
    [
        ({"send": "ping"}, "up"), ({"send": "ping", "recv": "^aping$"}, "up"), ({"send": "x", "recv": "pong"}, "down"),
        ({"send": "ping", "recv": "ping", "reverse": "enabled"}, "down"),
    ],
)  # fmt: skip
async def test_answers_to_datagrams(
    device: Client, echo: Callable[[str], Awaitable[Echo]], props: dict[str, str], state: str
) -> None:
    server = await echo("a")
    await monitor(device, "udp", **props)
    await becomes(device, await monitored(device, f"127.0.0.1:{server.port}"), state)


async def test_an_echo(device: Client) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        await monitor(device, "tcp-echo")
        await becomes(device, await monitored(device, f"127.0.0.1:{server.sockets[0].getsockname()[1]}"), "up")


@pytest.mark.parametrize("kind", ["mysql", "ldap", "external", "http2", "scripted"])
async def test_unprobed_member_is_unknown_and_gets_traffic(device: Client, backend: Start, kind: str) -> None:
    server = await backend("a")
    port = await site(device, [server], ["tcp"])
    await device.patch("ltm/pool/~P~p", {"monitor": f"/Common/{kind}"})
    shown = await stats(device, f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}")
    assert shown["status.availabilityState"] == "unknown"
    assert shown["status.statusReason"] == f"/Common/{kind}: not probed by this emulator"
    assert (await stats(device, "ltm/virtual/~P~v"))["status.availabilityState"] == "unknown"
    assert (await fetch(VIP, port))[1] == "a"


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("/P/m and /Common/mysql", "unchecked"), ("min 1 of { /P/m /Common/mysql }", "up"),
        ("/P/m and /P/bad", "down"), ("min 1 of { /P/m /P/bad }", "up"), ("min 2 of { /P/m /P/bad }", "down"),
    ],
)  # fmt: skip
async def test_several_monitors(device: Client, backend: Start, rule: str, state: str) -> None:
    server = await backend("a")
    await monitor(device, "tcp")
    await monitor(device, "tcp", "bad", destination=f"*:{free_port()}")
    await becomes(device, await monitored(device, f"127.0.0.1:{server.port}", rule), state)


async def test_a_members_own_monitor_replaces_its_pools(device: Client, backend: Start) -> None:
    server = await backend("a")
    await monitor(device, "tcp")
    await monitor(device, "tcp", "bad", destination=f"*:{free_port()}")
    member = await monitored(device, f"127.0.0.1:{server.port}", "/P/bad")
    await becomes(device, member, "down")
    await device.patch(member, {"monitor": "/P/m"})
    await becomes(device, member, "up")


async def test_an_answer_that_disables(device: Client, backend: Start) -> None:
    """The member keeps persistent clients and gets no new ones."""
    first, second = await backend("a"), await backend("b")
    send = "GET /monitor HTTP/1.1\\r\\n"
    await monitor(device, "http", send=send, recv="HTTP/1.1 200", recvDisable="HTTP/1.1 404")
    port = await site(device, [first, second], ["http"], persist=["source_addr"])
    await device.patch("ltm/pool/~P~p", {"monitor": "/P/m"})
    for each in (first, second):
        await eventually(lambda each=each: member_is(device, each, "up"))
    kept = first if (await fetch(VIP, port))[1] == "a" else second
    kept.status = "404 Not Found"
    path = f"ltm/pool/~P~p/members/~P~127.0.0.1:{kept.port}"
    # settled: statuses and traffic follow the same look of the monitor
    await eventually(lambda: _disabled(device, path))
    assert (await stats(device, path))["status.availabilityState"] == "available"
    assert await count(port, 3) == {kept.name: 3}
    await device.patch("ltm/virtual/~P~v", {"persist": []})
    assert kept.name not in await count(port, 3)


async def _disabled(device: Client, path: str) -> bool:
    return bool((await device.get(path))["session"] == "monitor-disabled")


async def test_manual_resume(device: Client, backend: Start) -> None:
    server = await backend("a")
    await monitor(device, "http", send="GET /monitor HTTP/1.1\\r\\n", recv="HTTP/1.1 200", manualResume="enabled")
    member = await monitored(device, f"127.0.0.1:{server.port}")
    await becomes(device, member, "up")
    server.status = "503 Busy"
    await becomes(device, member, "down")
    server.status = "200 OK"
    again = await backend("b")
    await monitor(device, "http", "other", send="GET /monitor HTTP/1.1\\r\\n", recv="HTTP/1.1 200")
    body = {"name": "q", "partition": "P", "members": [f"127.0.0.1:{again.port}"], "monitor": "/P/other"}
    await device.post("ltm/pool", body)
    await becomes(device, f"ltm/pool/~P~q/members/~P~127.0.0.1:{again.port}", "up")
    assert (await device.get(member))["state"] == "down"
    await device.patch(member, {"state": "user-up", "session": "user-enabled"})
    await becomes(device, member, "up")


async def test_a_target_is_up_after_a_time_without_failures(
    device: Client, backend: Start, skip: Callable[[float], None]
) -> None:
    server = await backend("a")
    await monitor(device, "tcp", timeUntilUp=1000)
    member = await monitored(device, f"127.0.0.1:{server.port}")
    assert (await device.get(member))["state"] == "checking"
    while (await device.get(member))["state"] == "checking":
        skip(300.0)
        await asyncio.sleep(0)
    assert (await device.get(member))["state"] == "up"


async def test_a_member_gets_connections_until_its_monitor_has_a_result(device: Client, backend: Start) -> None:
    server = await backend("a")
    port = await site(device, [server], ["/Common/tcp"])
    await monitor(device, "tcp", timeUntilUp=1000)
    await device.patch("ltm/pool/~P~p", {"monitor": "/P/m"})
    assert await member_is(device, server, "checking")
    assert (await fetch(VIP, port))[1] == "a"
    found = await stats(device, f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}")
    assert (found["status.availabilityState"], found["status.enabledState"]) == ("unknown", "enabled")
    assert found["status.statusReason"] == "Pool member service checking is enabled, but result is not available yet"


async def test_without_a_data_plane_monitors_count_as_up(backend: Start) -> None:
    async with Emulator(["bigip-1"], data_plane=False) as emulator:
        client = Client(emulator.devices["bigip-1"].url, emulator.ca_file)
        await client.post("auth/partition", {"name": "P"})
        body = {"name": "p", "partition": "P", "members": ["10.0.0.1:80"], "monitor": "/Common/http"}
        await client.post("ltm/pool", body)
        assert (await client.get("ltm/pool/~P~p/members/~P~10.0.0.1:80"))["state"] == "up"
        await client.close()


async def test_monitors_of_nodes_take_members_out(device: Client, backend: Start) -> None:
    server: Backend = await backend("a")
    await monitor(device, "tcp", destination=f"*:{free_port()}")
    member = await monitored(device, f"127.0.0.1:{server.port}", "/Common/gateway_icmp")
    await becomes(device, member, "up")
    await device.patch("ltm/node/~P~127.0.0.1", {"monitor": "/P/m"})
    await becomes(device, member, "down")


@pytest.mark.parametrize("kind", ["tcp", "http", "gateway-icmp"])
async def test_addresses_that_monitors_may_probe(device: Client, kind: str) -> None:
    for number, possible in enumerate(("*:*", "*:80", "10.0.0.1:80", "10.0.0.1%1:80", "2001:db8::1.80")):
        await monitor(device, kind, f"m{number}", destination=possible)
    for impossible in ("10.0.0.1:*", "10.0.0.1%1:*", "2001:db8::1.*", "name:80", "10.0.0.1"):
        answer = await device.send("POST", f"ltm/monitor/{kind}", {"name": "n", "destination": impossible})
        assert (answer.status, answer.message) == (400, f'invalid property value "destination":"{impossible}"')
