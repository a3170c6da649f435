"""UDP virtual servers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from emulator_tests.client import Client
from emulator_tests.datagram_site import Asker, Start, site
from emulator_tests.virtual_site import VIP, stats
from icontrol_emulator import Emulator
from tests.waiting import eventually


@pytest.mark.parametrize("profile", ["udp", "fastL4"])
async def test_flows_are_balanced_and_keep_their_member(
    device: Client, echo: Start, asker: Callable[..., Asker], profile: str
) -> None:
    port = await site(device, [await echo("a"), await echo("b")], profile)
    clients = [asker(port) for _ in range(4)]
    said = [await each.ask(b"1") for each in clients]
    assert Counter(said) == {"a1": 2, "b1": 2}
    assert [await each.ask(b"1") for each in clients] == said


async def test_virtual_for_any_protocol_takes_datagrams(
    device: Client, echo: Start, asker: Callable[..., Asker]
) -> None:
    port = await site(device, [await echo("a")], "fastL4", ipProtocol="any")
    assert await asker(port).ask(b"1") == "a1"


async def test_idle_flows_end(
    device: Client, echo: Start, asker: Callable[..., Asker], skip: Callable[[float], None]
) -> None:
    await device.post("ltm/profile/udp", {"name": "own", "partition": "P", "idleTimeout": "100"})
    port = await site(device, [await echo("a"), await echo("b")], "own")
    client = asker(port)
    first = await client.ask()
    for _ in range(2):
        skip(60.0)
        assert await client.ask() == first
    skip(100.0)
    await eventually(lambda: _flows(device, 0))
    assert await client.ask() != first  # settled: a flow that ended is not followed


async def _flows(device: Client, wanted: int) -> bool:
    return bool((await stats(device, "ltm/virtual/~P~v"))["clientside.curConns"] == wanted)


async def test_datagrams_balanced_one_by_one(device: Client, echo: Start, asker: Callable[..., Asker]) -> None:
    await device.post("ltm/profile/udp", {"name": "own", "partition": "P", "datagramLoadBalancing": "enabled"})
    port = await site(device, [await echo("a"), await echo("b")], "own")
    client = asker(port)
    assert Counter([await client.ask() for _ in range(4)]) == {"a?": 2, "b?": 2}
    await eventually(lambda: _flows(device, 0))
    assert (await stats(device, "ltm/virtual/~P~v"))["clientside.totConns"] == 4


async def test_persistence_of_datagrams(device: Client, echo: Start, asker: Callable[..., Asker]) -> None:
    port = await site(device, [await echo("a"), await echo("b")], persist=["source_addr"])
    assert len({await asker(port).ask() for _ in range(4)}) == 1


async def test_connection_limit_of_a_virtual_server(device: Client, echo: Start, asker: Callable[..., Asker]) -> None:
    port = await site(device, [await echo("a")], connectionLimit=1)
    first, second = asker(port), asker(port)
    await first.ask()
    second.tell(b"refused")
    assert await first.ask(b"2") == "a2"
    assert second.hears_nothing()


async def test_counters_of_datagrams(device: Client, echo: Start, asker: Callable[..., Asker]) -> None:
    server = await echo("a")
    port = await site(device, [server])
    client = asker(port)
    for _ in range(3):
        await client.ask(b"12345")
    virtual = await stats(device, "ltm/virtual/~P~v")
    assert (virtual["clientside.pktsIn"], virtual["clientside.bitsIn"]) == (3, 8 * 15)
    assert (virtual["clientside.pktsOut"], virtual["clientside.bitsOut"]) == (3, 8 * 18)
    assert (virtual["clientside.curConns"], virtual["clientside.totConns"]) == (1, 1)
    member = await stats(device, f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}")
    assert (member["serverside.pktsIn"], member["serverside.curConns"]) == (3, 1)


async def test_source_address_of_datagrams(device: Client, echo: Start, asker: Callable[..., Asker]) -> None:
    server = await echo("a")
    await device.post("ltm/snatpool", {"name": "s", "partition": "P", "members": ["127.0.9.1"]})
    port = await site(device, [server])
    await asker(port, "127.0.3.1").ask()
    await device.patch("ltm/virtual/~P~v", {"sourceAddressTranslation": {"type": "snat", "pool": "/P/s"}})
    await asker(port, "127.0.3.1").ask()
    assert [host for host, _ in server.peers] == ["127.0.3.1", "127.0.9.1"]


async def test_empty_datagrams_pass_only_if_allowed(device: Client, echo: Start, asker: Callable[..., Asker]) -> None:
    await device.post("ltm/profile/udp", {"name": "own", "partition": "P", "allowNoPayload": "enabled"})
    server = await echo("a")
    port = await site(device, [server])
    client = asker(port)
    client.tell(b"")
    assert await client.ask(b"1") == "a1"
    assert len(server.peers) == 1
    await device.patch("ltm/virtual/~P~v", {"profiles": ["own"]})
    other = asker(port)
    other.tell(b"")
    assert await other.hear() == "a"


async def test_a_member_where_nobody_listens_answers_nothing_and_harms_nobody(
    device: Client, echo: Start, asker: Callable[..., Asker]
) -> None:
    dead, alive = await echo("a"), await echo("b")
    port = await site(device, [dead, alive])
    dead.transport.close()
    clients = [asker(port), asker(port)]
    for client in clients * 2:
        client.tell(b"1")
    waiting = [asyncio.create_task(each.hear()) for each in clients]
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == ["b1"]
    for task in pending:
        task.cancel()


async def test_a_failover_starts_flows_anew(
    pair: Emulator, both: tuple[Client, Client], echo: Start, asker: Callable[..., Asker]
) -> None:
    server = await echo("a")
    port = await site(both[0], [server])
    await both[1].post("ltm/pool", {"name": "p", "partition": "P", "members": [f"127.0.0.1:{server.port}"]})
    virtual = {"name": "v", "partition": "P", "destination": f"{VIP}:{port}", "pool": "p", "ipProtocol": "udp"}
    await both[1].post("ltm/virtual", {**virtual, "profiles": ["udp"]})
    client = asker(port)
    assert await client.ask(b"1") == "a1"
    await pair.failover("bigip-1")
    assert await client.ask(b"2") == "a2"
    assert await _flows(both[0], 0)
    assert await _flows(both[1], 1)


async def test_virtual_servers_of_one_address_for_different_clients(
    device: Client, echo: Start, asker: Callable[..., Asker]
) -> None:
    first, second = await echo("a"), await echo("b")
    port = await site(device, [first])
    await device.post("ltm/pool", {"name": "q", "partition": "P", "members": [f"127.0.0.1:{second.port}"]})
    body = {"name": "w", "partition": "P", "destination": f"{VIP}:{port}", "pool": "q", "ipProtocol": "udp"}
    await device.post("ltm/virtual", {**body, "profiles": ["udp"], "source": "127.0.4.0/24"})
    assert [await asker(port, host).ask() for host in ("127.0.3.1", "127.0.4.1")] == ["a?", "b?"]
    await device.patch("ltm/virtual/~P~v", {"source": "127.0.4.0/25"})
    silent = asker(port, "127.0.3.1")
    silent.tell(b"1")
    assert [await asker(port, host).ask() for host in ("127.0.4.1", "127.0.4.200")] == ["a?", "b?"]
    assert silent.hears_nothing()


async def test_rules_decide_when_a_flow_begins(device: Client, echo: Start, asker: Callable[..., Asker]) -> None:
    first, second = await echo("a"), await echo("b")
    await device.post("ltm/pool", {"name": "q", "partition": "P", "members": [f"127.0.0.1:{second.port}"]})
    code = """when CLIENT_ACCEPTED {
        if { [IP::addr [IP::client_addr] equals 127.0.4.0/24] } { drop }
        if { [IP::client_addr] equals "127.0.3.2" } { pool q }
    }"""
    await device.post("ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": code})
    port = await site(device, [first], rules=["r"])
    refused = asker(port, "127.0.4.1")
    refused.tell(b"1")
    assert [await asker(port, host).ask() for host in ("127.0.3.1", "127.0.3.2")] == ["a?", "b?"]
    assert refused.hears_nothing()
