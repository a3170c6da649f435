"""Events of iRules in traffic: what rules do before, between and after requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from emulator_tests.client import Backend, Client, exchange, fetch, free_port
from emulator_tests.test_traffic import VIP, site

Start = Callable[..., Awaitable[Backend]]


async def rule(device: Client, text: str) -> list[str]:
    await device.post("ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": text})
    return ["/P/r"]


async def test_events_of_the_server_side_see_the_member(device: Client, backend: Start) -> None:
    server = await backend("a")
    text = """
    when LB_SELECTED { set selected [LB::server addr]:[LB::server port] }
    when SERVER_CONNECTED { set pool [LB::server pool] }
    when HTTP_REQUEST_SEND { HTTP::header insert X-Server "$selected $pool [IP::server_addr]" }
    """
    port = await site(device, [server], ["http"], rules=await rule(device, text))
    await fetch(VIP, port)
    assert f"\r\nX-Server: 127.0.0.1:{server.port} /P/p 127.0.0.1\r\n" in server.last_head


async def test_another_pool_or_an_answer_when_no_member_accepts(device: Client, backend: Start) -> None:
    alive = await backend("spare")
    await device.post("ltm/pool", {"name": "q", "partition": "P", "members": [f"127.0.0.1:{alive.port}"]})
    text = """
    when LB_FAILED {
        if { [HTTP::path] eq "/sorry" } { HTTP::respond 503 content "later" } else { LB::reselect pool q }
    }
    """
    dead = Backend("dead", port=free_port())
    port = await site(device, [dead], ["http"], rules=await rule(device, text))
    assert (await fetch(VIP, port))[1] == "spare"
    head, said = await fetch(VIP, port, "/sorry")
    assert (head.split("\r\n")[0], said) == ("HTTP/1.1 503 Service Unavailable", "later")


async def test_bodies_are_collected_and_changed(device: Client, backend: Start) -> None:
    text = """
    when HTTP_REQUEST { if { [HTTP::method] eq "POST" } { HTTP::collect [HTTP::header Content-Length] } }
    when HTTP_REQUEST_DATA {
        if { [HTTP::payload] contains "evil" } { HTTP::respond 403 content "no"; return }
        HTTP::payload replace 0 0 "<"
        HTTP::release
    }
    """
    port = await site(device, [await backend("a")], ["http"], rules=await rule(device, text))
    reader, writer = await asyncio.open_connection(VIP, port)
    said = [(await exchange(reader, writer, "/", body))[1] for body in (b"good", b"an evil one", b"")]
    assert said == ["a<good", "no", "a"]
    writer.close()


async def test_bytes_are_collected_before_a_member_is_chosen(device: Client, backend: Start) -> None:
    other = await backend("other")
    await device.post("ltm/pool", {"name": "q", "partition": "P", "members": [f"127.0.0.1:{other.port}"]})
    text = """
    when CLIENT_ACCEPTED { TCP::collect 10 }
    when CLIENT_DATA {
        if { [TCP::payload 10] starts_with "GET /q" } { pool q }
        TCP::release
    }
    """
    port = await site(device, [await backend("own")], ["tcp"], rules=await rule(device, text))
    assert [(await fetch(VIP, port, path))[1] for path in ("/q12345", "/x12345")] == ["other", "own"]


async def test_bytes_that_go_before_those_of_the_client(device: Client, backend: Start) -> None:
    text = """
    when SERVER_CONNECTED { TCP::respond "PROXY TCP4 [IP::client_addr] [IP::local_addr] 1 2\\r\\n" }
    """
    server = await backend("a")
    port = await site(device, [server], ["tcp"], rules=await rule(device, text))
    await fetch(VIP, port)
    assert server.last_head.startswith(f"PROXY TCP4 127.0.0.1 {VIP} 1 2\r\nGET / ")


async def test_persistence_by_a_key_of_the_request(device: Client, backend: Start) -> None:
    text = """
    when HTTP_REQUEST { if { [HTTP::header exists X-Id] } { persist uie [HTTP::header X-Id] } }
    """
    servers = [await backend(name) for name in "abc"]
    port = await site(device, servers, ["http"], rules=await rule(device, text))
    first = (await fetch(VIP, port, **{"X-Id": "1"}))[1]
    assert {(await fetch(VIP, port, **{"X-Id": "1"}))[1] for _ in range(5)} == {first}
    assert {(await fetch(VIP, port))[1] for _ in range(6)} == {"a", "b", "c"}


async def test_persistence_by_what_a_response_says(device: Client, backend: Start) -> None:
    text = """
    when HTTP_REQUEST {
        if { [HTTP::cookie exists s] and [persist lookup uie [HTTP::cookie s] node] ne "" } {
            persist uie [HTTP::cookie s]
        }
    }
    when HTTP_RESPONSE { if { [HTTP::header exists Content-Length] } { persist add uie "k" 60 } }
    """
    servers = [await backend(name) for name in "abc"]
    port = await site(device, servers, ["http"], rules=await rule(device, text))
    first = (await fetch(VIP, port))[1]
    assert {(await fetch(VIP, port, Cookie="s=k"))[1] for _ in range(4)} == {first}


async def test_static_variables_and_tables_are_shared_by_connections(device: Client, backend: Start) -> None:
    text = """
    proc twice { n } { return [expr {$n * 2}] }
    when RULE_INIT { set static::limit [expr {1 + 1}] }
    when HTTP_REQUEST {
        set count [table incr -subtable hits [IP::client_addr]]
        if { $count > $static::limit } { HTTP::respond 429 content [call twice $count] }
    }
    """
    port = await site(device, [await backend("a")], ["http"], rules=await rule(device, text))
    assert [(await fetch(VIP, port))[1] for _ in range(3)] == ["a", "a", "6"]


async def test_a_disabled_event_and_a_second_answer(device: Client, backend: Start) -> None:
    text = """
    when HTTP_REQUEST {
        if { [HTTP::path] eq "/twice" } { HTTP::respond 200; HTTP::redirect "/" }
        HTTP::header insert X-Ran 1
        event disable
    }
    """
    server = await backend("a")
    port = await site(device, [server], ["http"], rules=await rule(device, text))
    reader, writer = await asyncio.open_connection(VIP, port)
    ran = []
    for _ in range(2):
        await exchange(reader, writer)
        ran.append("X-Ran" in server.last_head)
    assert ran == [True, False]
    writer.close()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port, "/twice")
