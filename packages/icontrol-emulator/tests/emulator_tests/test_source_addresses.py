"""The source address of connections to members (SNAT)."""

from __future__ import annotations

import asyncio

import pytest

from emulator_tests.client import Backend, Client, exchange, fetch
from emulator_tests.virtual_site import VIP, Start, site, stats


async def seen_by(server: Backend, port: int) -> str:
    """Who the server takes the client 127.0.3.1 for."""
    reader, writer = await asyncio.open_connection(VIP, port, local_addr=("127.0.3.1", 0))
    await exchange(reader, writer)
    writer.close()
    return server.last_peer


async def test_members_see_the_client_or_a_translation(device: Client, backend: Start) -> None:
    server = await backend("a")
    port = await site(device, [server], ["tcp"])
    assert await seen_by(server, port) == "127.0.3.1"
    await device.post("ltm/snatpool", {"name": "s", "partition": "P", "members": ["127.0.9.1"]})
    snat = {"type": "snat", "pool": "/P/s"}
    await device.patch("ltm/virtual/~P~v", {"sourceAddressTranslation": snat})
    assert await seen_by(server, port) == "127.0.9.1"
    await device.patch("ltm/pool/~P~p", {"allowSnat": "no"})
    assert await seen_by(server, port) == "127.0.3.1"


async def test_automap_prefers_floating_addresses(device: Client, backend: Start) -> None:
    server = await backend("a")
    port = await site(device, [server], ["tcp"], sourceAddressTranslation={"type": "automap"})
    await device.post("net/vlan", {"name": "inside"})
    await device.post("net/self", {"name": "fixed", "address": "127.0.9.2/24", "vlan": "inside"})
    assert await seen_by(server, port) == "127.0.9.2"
    floating = {"floating": "enabled", "trafficGroup": "/Common/traffic-group-1"}
    await device.post("net/self", {"name": "shared", "address": "127.0.9.3/24", "vlan": "inside", **floating})
    assert await seen_by(server, port) == "127.0.9.3"


async def test_connection_limit_of_a_translation(device: Client, backend: Start) -> None:
    server = await backend("a")
    await device.post("ltm/snatpool", {"name": "s", "partition": "P", "members": ["127.0.9.1", "127.0.9.2"]})
    for number in (1, 2):
        await device.patch(f"ltm/snat-translation/~P~127.0.9.{number}", {"connectionLimit": 1})
    snat = {"type": "snat", "pool": "/P/s"}
    port = await site(device, [server], ["tcp"], sourceAddressTranslation=snat)
    seen, writers = set(), []
    for _ in range(2):
        reader, writer = await asyncio.open_connection(VIP, port)
        await exchange(reader, writer)
        seen.add(server.last_peer)
        writers.append(writer)
    assert seen == {"127.0.9.1", "127.0.9.2"}
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port)
    for writer in writers:
        writer.close()


async def test_an_address_that_this_host_lacks_does_not_stop_traffic(device: Client, backend: Start) -> None:
    server = await backend("a")
    await device.post("ltm/snatpool", {"name": "s", "partition": "P", "members": ["192.0.2.1"]})
    port = await site(device, [server], ["tcp"], sourceAddressTranslation={"type": "snat", "pool": "/P/s"})
    assert (await fetch(VIP, port))[1] == "a"
    assert (await stats(device, "ltm/virtual/~P~v"))["clientside.totConns"] == 1
