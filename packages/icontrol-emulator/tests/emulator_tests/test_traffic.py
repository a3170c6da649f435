from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from emulator_tests.client import Backend, Client, exchange, fetch, free_port
from emulator_tests.virtual_site import VIP, Start, count, member_is, site, stats
from icontrol_emulator import Emulator
from tests.waiting import eventually


def has_sctp() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("profiles", [["tcp"], ["http"], []])
async def test_round_robin(device: Client, backend: Start, profiles: list[str]) -> None:
    port = await site(device, [await backend("a"), await backend("b"), await backend("c")], profiles)
    assert await count(port, 9) == {"a": 3, "b": 3, "c": 3}


async def test_ratio(device: Client, backend: Start) -> None:
    first, second = await backend("a"), await backend("b")
    port = await site(device, [first, second], ["tcp"])
    await device.patch("ltm/pool/~P~p", {"loadBalancingMode": "ratio-member"})
    await device.patch(f"ltm/pool/~P~p/members/~P~127.0.0.1:{first.port}", {"ratio": 3})
    assert await count(port, 8) == {"a": 6, "b": 2}


@pytest.mark.parametrize("mode", ["ratio-node", "dynamic-ratio-member", "dynamic-ratio-node"])
async def test_weights_of_nodes_and_measured_weights(device: Client, backend: Start, mode: str) -> None:
    first, second = await backend("a"), await backend("b", "127.0.0.2")
    port = await site(device, [first, second], ["tcp"])
    await device.patch("ltm/pool/~P~p", {"loadBalancingMode": mode})
    name = "dynamicRatio" if mode.startswith("dynamic") else "ratio"
    member = f"ltm/pool/~P~p/members/~P~127.0.0.1:{first.port}"
    await device.patch("ltm/node/~P~127.0.0.1" if mode.endswith("node") else member, {name: 3})
    assert await count(port, 8) == {"a": 6, "b": 2}


@pytest.mark.parametrize("mode", ["ratio-least-connections-member", "weighted-least-connections-member"])
async def test_connections_in_relation_to_weights(device: Client, backend: Start, mode: str) -> None:
    """Two open connections of a member with a threefold weight are less than one of the other."""
    servers = [await backend("a"), await backend("b")]
    port = await site(device, servers, ["tcp"])
    for server, weight in zip(servers, (3, 1), strict=True):
        path = f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}"
        await device.patch(path, {"ratio": weight, "connectionLimit": weight * 10})
    await device.patch("ltm/pool/~P~p", {"loadBalancingMode": mode})
    said, writers = [], []
    for _ in range(4):
        reader, writer = await asyncio.open_connection(VIP, port)
        said.append((await exchange(reader, writer))[1])
        writers.append(writer)
    assert sorted(said) == ["a", "a", "a", "b"]
    for writer in writers:
        writer.close()


@pytest.mark.parametrize("mode", ["fastest-app-response", "observed-member", "predictive-node", "least-sessions"])
async def test_methods_that_measure_prefer_idle_members(device: Client, backend: Start, mode: str) -> None:
    port = await site(device, [await backend("a"), await backend("b", "127.0.0.2")], ["tcp"])
    await device.patch("ltm/pool/~P~p", {"loadBalancingMode": mode})
    reader, writer = await asyncio.open_connection(VIP, port)
    _, busy = await exchange(reader, writer)
    assert (await fetch(VIP, port))[1] != busy
    writer.close()


async def test_port_of_members_for_any_port(device: Client, backend: Start) -> None:
    server = await backend("a", "127.0.0.2")
    port = server.port
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": ["127.0.0.2:0"]})
    body = {"name": "v", "partition": "P", "destination": f"{VIP}:{port}", "pool": "p", "profiles": ["tcp"]}
    await device.post("ltm/virtual", body)
    assert (await fetch(VIP, port))[1] == "a"
    await device.post("ltm/pool", {"name": "q", "partition": "P", "members": ["127.0.0.2:1"]})
    await device.patch("ltm/virtual/~P~v", {"pool": "q", "translatePort": "disabled"})
    assert (await fetch(VIP, port))[1] == "a"


@pytest.mark.skipif(not has_sctp(), reason="the kernel has no SCTP")
async def test_sctp(device: Client) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP) as server:
        server.setblocking(False)
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = free_port(VIP)
        members = [f"127.0.0.1:{server.getsockname()[1]}"]
        await device.post("ltm/pool", {"name": "p", "partition": "P", "members": members})
        body = {"name": "v", "partition": "P", "destination": f"{VIP}:{port}", "pool": "p", "profiles": ["sctp"]}
        await device.post("ltm/virtual", body)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP) as client:
            client.setblocking(False)
            await loop.sock_connect(client, (VIP, port))
            conn, _ = await loop.sock_accept(server)
            with conn:
                await loop.sock_sendall(client, b"ping")
                assert await loop.sock_recv(conn, 100) == b"ping"
                await loop.sock_sendall(conn, b"pong")
                assert await loop.sock_recv(client, 100) == b"pong"


@pytest.mark.parametrize("mode", ["least-connections-member", "least-connections-node"])
async def test_least_connections(device: Client, backend: Start, mode: str) -> None:
    first, second = await backend("a"), await backend("b", "127.0.0.2")
    port = await site(device, [first, second], ["tcp"])
    await device.patch("ltm/pool/~P~p", {"loadBalancingMode": mode})
    reader, writer = await asyncio.open_connection(VIP, port)
    _, busy = await exchange(reader, writer)
    idle = "b" if busy == "a" else "a"
    for _ in range(3):
        assert (await fetch(VIP, port))[1] == idle
        await eventually(lambda: _all_but_one_closed(device))
    writer.close()


async def _all_but_one_closed(device: Client) -> bool:
    return bool((await stats(device, "ltm/pool/~P~p"))["serverside.curConns"] == 1)


async def test_unreachable_member_is_passed_over(device: Client, backend: Start) -> None:
    alive, dead = await backend("a"), await backend("b")
    port = await site(device, [alive, dead], ["http"])
    await dead.stop()
    assert await count(port, 4) == {"a": 4}


async def test_only_enabled_members_get_traffic_and_none_is_a_reset(device: Client, backend: Start) -> None:
    first, second = await backend("a"), await backend("b")
    port = await site(device, [first, second], ["tcp"])
    await device.patch(f"ltm/pool/~P~p/members/~P~127.0.0.1:{first.port}", {"session": "user-disabled"})
    assert await count(port, 3) == {"b": 3}
    off = {"state": "user-down", "session": "user-disabled"}
    await device.patch(f"ltm/pool/~P~p/members/~P~127.0.0.1:{second.port}", off)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port)


async def test_forwarded_for_and_bodies(device: Client, backend: Start) -> None:
    server = await backend("a")
    await device.post("ltm/profile/http", {"name": "xff", "partition": "P", "insertXforwardedFor": "enabled"})
    port = await site(device, [server], ["xff"])
    _, said = await fetch(VIP, port, body=b"x" * 200_000)
    assert said == "a" + "x" * 200_000
    assert "X-Forwarded-For: 127.0.0.1" in server.last_head


@pytest.mark.parametrize("kind", ["http", "fasthttp"])
async def test_header_insert(device: Client, backend: Start, kind: str) -> None:
    server = await backend("a")
    await device.post(f"ltm/profile/{kind}", {"name": "base", "partition": "P", "headerInsert": "X-Forwarded-Port: 80"})
    await device.post(f"ltm/profile/{kind}", {"name": "own", "partition": "P", "defaultsFrom": "base"})
    port = await site(device, [server], ["own"])
    await fetch(VIP, port)
    assert "\r\nX-Forwarded-Port: 80\r\n" in server.last_head
    await device.patch(f"ltm/profile/{kind}/~P~base", {"headerInsert": "none"})
    await fetch(VIP, port)
    assert "X-Forwarded-Port" not in server.last_head


async def test_each_connection_stays_with_its_member_unless_requests_are_balanced(
    device: Client, backend: Start
) -> None:
    port = await site(device, [await backend("a"), await backend("b")], ["http"])
    reader, writer = await asyncio.open_connection(VIP, port)
    assert len({(await exchange(reader, writer))[1] for _ in range(4)}) == 1
    writer.close()
    await device.patch("ltm/virtual/~P~v", {"profiles": ["http", "tcp", "oneconnect"]})
    reader, writer = await asyncio.open_connection(VIP, port)
    assert len({(await exchange(reader, writer))[1] for _ in range(4)}) == 2
    writer.close()


@pytest.mark.parametrize(
    ("kind", "profiles"), [("tcp", ["own"]), ("tcp", ["own", "http"]), ("fastl4", ["own"]), ("fasthttp", ["own"])]
)  # fmt: skip
async def test_idle_connections_are_reset(
    device: Client, backend: Start, skip: Callable[[float], None], kind: str, profiles: list[str]
) -> None:
    await device.post(f"ltm/profile/{kind}", {"name": "own", "partition": "P", "idleTimeout": "100"})
    port = await site(device, [await backend("a")], profiles)
    reader, writer = await asyncio.open_connection(VIP, port)
    assert (await exchange(reader, writer))[1] == "a"
    skip(100.0)
    with pytest.raises(ConnectionError):
        assert await asyncio.wait_for(reader.read(), 60) == b"reset, not closed"
    writer.close()
    await eventually(lambda: _idle(device))


async def test_use_keeps_a_connection_from_being_idle(
    device: Client, backend: Start, skip: Callable[[float], None]
) -> None:
    await device.post("ltm/profile/tcp", {"name": "own", "partition": "P", "idleTimeout": 100})
    port = await site(device, [await backend("a")], ["own"])
    reader, writer = await asyncio.open_connection(VIP, port)
    for _ in range(4):
        assert (await exchange(reader, writer))[1] == "a"
        skip(50.0)
    writer.close()


async def grouped(device: Client, backends: list[Backend], groups: list[int], needed: int) -> int:
    port = await site(device, backends, ["tcp"])
    await device.patch("ltm/pool/~P~p", {"minActiveMembers": needed})
    for server, group in zip(backends, groups, strict=True):
        await device.patch(f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}", {"priorityGroup": group})
    return port


async def test_backups_get_traffic_only_when_no_primary_is_up(
    device: Client, backend: Start, emulator: Emulator
) -> None:
    servers = [await backend("a"), await backend("b"), await backend("c")]
    port = await grouped(device, servers, [2, 2, 1], 1)
    assert await count(port, 4) == {"a": 2, "b": 2}
    paths = [f"/P/127.0.0.1:{server.port}" for server in servers]
    emulator.set_member_state("bigip-1", "/P/p", paths[0], "down")
    assert await count(port, 2) == {"b": 2}
    emulator.set_member_state("bigip-1", "/P/p", paths[1], "down")
    assert await count(port, 2) == {"c": 2}
    emulator.set_member_state("bigip-1", "/P/p", paths[1], None)
    assert await count(port, 2) == {"b": 2}


async def test_groups_are_added_until_enough_members_are_active(
    device: Client, backend: Start, emulator: Emulator
) -> None:
    servers = [await backend("a"), await backend("b"), await backend("c")]
    port = await grouped(device, servers, [10, 5, 1], 2)
    assert await count(port, 4) == {"a": 2, "b": 2}
    emulator.set_member_state("bigip-1", "/P/p", f"/P/127.0.0.1:{servers[0].port}", "down")
    assert await count(port, 4) == {"b": 2, "c": 2}


async def test_groups_mean_nothing_without_a_minimum(device: Client, backend: Start) -> None:
    port = await grouped(device, [await backend("a"), await backend("b")], [2, 1], 0)
    assert await count(port, 4) == {"a": 2, "b": 2}


async def test_primary_that_refuses_but_is_not_known_down_keeps_backups_out(device: Client, backend: Start) -> None:
    primary, backup = await backend("a"), await backend("b")
    port = await grouped(device, [primary, backup], [2, 1], 1)
    await primary.stop()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port)
    assert backup.requests == 0


async def test_cookie_persistence(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a"), await backend("b")], ["http"], persist=["cookie"])
    head, said = await fetch(VIP, port)
    line = next(line for line in head.split("\r\n") if line.startswith("Set-Cookie: "))
    cookie = line.removeprefix("Set-Cookie: ").split(";")[0]
    assert cookie.startswith("BIGipServer~P~p=16777343.")
    for _ in range(4):
        assert (await fetch(VIP, port, Cookie=cookie))[1] == said


async def test_source_address_persistence(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a"), await backend("b")], ["tcp"], persist=["source_addr"])
    assert len(await count(port, 5)) == 1


async def test_connection_limit(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a")], ["tcp"], connectionLimit=1)
    reader, writer = await asyncio.open_connection(VIP, port)
    await exchange(reader, writer)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port)
    writer.close()


@pytest.mark.parametrize("what", ["ltm/virtual/~P~v", "ltm/node/~P~127.0.0.1", "member"])
async def test_rate_limit(device: Client, backend: Start, what: str) -> None:
    server = await backend("a")
    port = await site(device, [server], ["tcp"])
    path = f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}" if what == "member" else what
    await device.patch(path, {"rateLimit": "2"})
    said = await asyncio.gather(*(fetch(VIP, port) for _ in range(12)), return_exceptions=True)
    assert any(isinstance(each, ConnectionError | asyncio.IncompleteReadError) for each in said)
    assert any(isinstance(each, tuple) for each in said)
    await device.patch(path, {"rateLimit": "disabled"})
    assert await count(port, 6) == {"a": 6}


@pytest.mark.parametrize("what", ["ltm/virtual-address/~P~127.0.8.1", "ltm/node/~P~127.0.0.1", "member"])
async def test_connection_limits_elsewhere(device: Client, backend: Start, what: str) -> None:
    server = await backend("a")
    port = await site(device, [server], ["tcp"])
    path = f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}" if what == "member" else what
    await device.patch(path, {"connectionLimit": 1})
    reader, writer = await asyncio.open_connection(VIP, port)
    await exchange(reader, writer)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port)
    await device.patch(path, {"connectionLimit": 0})
    assert (await fetch(VIP, port))[1] == "a"
    writer.close()


async def test_changes_leave_open_connections_alone(device: Client, backend: Start) -> None:
    first, second = await backend("a"), await backend("b")
    port = await site(device, [first], ["tcp"])
    reader, writer = await asyncio.open_connection(VIP, port)
    assert (await exchange(reader, writer))[1] == "a"
    await device.patch("ltm/pool/~P~p", {"members": [f"127.0.0.1:{second.port}"]})
    await device.patch("ltm/virtual/~P~v", {"description": "changed"})
    assert (await exchange(reader, writer))[1] == "a"
    assert (await fetch(VIP, port))[1] == "b"
    await device.delete("ltm/virtual/~P~v")
    assert (await exchange(reader, writer))[1] == "a"
    with pytest.raises(ConnectionError):
        await fetch(VIP, port)
    writer.close()


async def test_moved_and_disabled_virtuals(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a")], ["tcp"])
    other = free_port(VIP)
    await device.patch("ltm/virtual/~P~v", {"destination": f"{VIP}:{other}"})
    assert (await fetch(VIP, other))[1] == "a"
    with pytest.raises(ConnectionError):
        await fetch(VIP, port)
    await device.patch("ltm/virtual/~P~v", {"disabled": True})
    with pytest.raises(ConnectionError):
        await fetch(VIP, other)


async def test_virtual_that_cannot_listen_is_offline(device: Client, backend: Start) -> None:
    await site(device, [await backend("a")], ["tcp"], destination="192.0.2.1:80")
    shown = await stats(device, "ltm/virtual/~P~v")
    assert shown["status.availabilityState"] == "offline"


async def test_counters(device: Client, backend: Start) -> None:
    server = await backend("a")
    port = await site(device, [server], ["http"])
    head, said = await fetch(VIP, port)
    virtual = await stats(device, "ltm/virtual/~P~v")
    assert virtual["clientside.totConns"] == 1
    assert virtual["totRequests"] == 1
    assert virtual["clientside.bitsOut"] == 8 * (len(head) + len(said))
    member = await stats(device, f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}")
    assert member["serverside.bitsOut"] == 8 * (len(head) + len(said))
    await eventually(lambda: _idle(device))
    assert (await stats(device, "ltm/pool/~P~p"))["serverside.totConns"] == 1
    assert (await stats(device, "ltm/virtual-address/~P~127.0.8.1"))["clientside.totConns"] == 1
    collection = await device.get("ltm/pool/~P~p/members/stats")
    assert collection["kind"] == "tm:ltm:pool:members:memberscollectionstats"


async def _idle(device: Client) -> bool:
    return bool((await stats(device, "ltm/virtual/~P~v"))["clientside.curConns"] == 0)


# -- monitors


@pytest.fixture
async def monitored(device: Client, backend: Start) -> tuple[Client, Backend, Backend, int]:
    """Two backends behind a fast HTTP monitor that wants a 200."""
    first, second = await backend("a"), await backend("b")
    monitor = {
        "name": "m", "partition": "P", "interval": 1, "timeout": 4, "send": "GET /monitor HTTP/1.1\\r\\nHost: m\\r\\n",
        "recv": "^HTTP/1.1 200",
    }  # fmt: skip
    await device.post("ltm/monitor/http", monitor)
    port = await site(device, [first, second], ["http"])
    await device.patch("ltm/pool/~P~p", {"monitor": "/P/m"})
    for each in (first, second):
        await eventually(lambda each=each: member_is(device, each, "up"))
    return device, first, second, port


async def test_monitors_take_members_out_and_back(monitored: tuple[Client, Backend, Backend, int]) -> None:
    device, first, second, port = monitored
    assert (await stats(device, "ltm/virtual/~P~v"))["status.availabilityState"] == "available"
    first.status = "503 Busy"
    await eventually(lambda: member_is(device, first, "down"))
    path = f"ltm/pool/~P~p/members/~P~127.0.0.1:{first.port}"
    assert (await device.get(path))["session"] == "monitor-enabled"
    shown = await stats(device, path)
    assert shown["status.availabilityState"] == "offline"
    assert shown["status.statusReason"].startswith("/P/m: No successful responses received before deadline. @")
    assert shown["monitorRule"] == "/P/m (pool monitor)"
    assert await count(port, 3) == {"b": 3}
    await second.stop()
    await eventually(lambda: _pool_is(device, "offline"))
    assert (await stats(device, "ltm/pool/~P~p"))["status.statusReason"] == "The children pool member(s) are down"
    first.status = "200 OK"
    await eventually(lambda: member_is(device, first, "up"))
    assert await count(port, 2) == {"a": 2}  # settled: traffic follows the status that is shown


async def _pool_is(device: Client, state: str) -> bool:
    return bool((await stats(device, "ltm/pool/~P~p"))["status.availabilityState"] == state)


async def test_state_set_from_outside_prevails(
    monitored: tuple[Client, Backend, Backend, int], emulator: Emulator
) -> None:
    device, first, _, port = monitored
    emulator.set_member_state("bigip-1", "/P/p", f"/P/127.0.0.1:{first.port}", "down")
    assert await member_is(device, first, "down")
    assert await count(port, 2) == {"b": 2}
    emulator.set_member_state("bigip-1", "/P/p", f"/P/127.0.0.1:{first.port}", None)
    assert await member_is(device, first, "up")


async def test_unchecked_pool_without_monitor(device: Client, backend: Start) -> None:
    await site(device, [await backend("a")], ["tcp"])
    shown = await stats(device, "ltm/pool/~P~p")
    assert (shown["status.availabilityState"], shown["status.enabledState"]) == ("unknown", "enabled")
    assert (shown["activeMemberCnt"], shown["memberCnt"]) == (1, 1)
