"""Which member a client comes back to, by each kind of persistence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emulator_tests.client import Client, exchange, fetch, free_port
from emulator_tests.conftest import FakeClock
from emulator_tests.virtual_site import VIP, Start, count, site
from icontrol_emulator import Emulator


@pytest.fixture
async def emulator(clock: FakeClock) -> AsyncIterator[Emulator]:
    async with Emulator(["bigip-1"], clock=clock) as running:
        yield running


async def cookies_of(port: int, **headers: str) -> list[str]:
    head, _ = await fetch(VIP, port, **headers)
    return [line[12:] for line in head.split("\r\n") if line.startswith("Set-Cookie: ")]


async def profile(device: Client, kind: str, **props: Any) -> None:
    await device.post(f"ltm/persistence/{kind}", {"name": "own", "partition": "P", **props})


async def test_a_client_that_stays_away_for_the_timeout_is_forgotten(
    device: Client, backend: Start, clock: FakeClock
) -> None:
    await profile(device, "source-addr", timeout="100")
    port = await site(device, [await backend("a"), await backend("b")], ["tcp"], persist=["own"])
    first = (await fetch(VIP, port))[1]
    clock.now += 99
    assert (await fetch(VIP, port))[1] == first
    clock.now += 101
    assert (await fetch(VIP, port))[1] != first


async def test_a_profile_in_a_folder_is_shown_with_it_and_used(device: Client, backend: Start) -> None:
    await device.post("sys/folder", {"name": "/P/app"})
    await profile(device, "source-addr", subPath="app")
    port = await site(device, [await backend("a"), await backend("b")], ["tcp"], persist=[{"name": "/P/app/own"}])
    [entry] = (await device.get("ltm/virtual/~P~v"))["persist"]
    assert (entry["name"], entry["partition"], entry["subPath"]) == ("own", "P", "app")
    assert len(await count(port, 4)) == 1
    await device.put("ltm/virtual/~P~v", await device.get("ltm/virtual/~P~v"))
    assert (await device.send("DELETE", "ltm/persistence/source-addr/~P~app~own")).status == 400


async def test_records_are_shown(device: Client, backend: Start, clock: FakeClock) -> None:
    path = "ltm/persistence/persist-records"
    nothing = "Sys::Persistent Connections\nTotal records returned: 0\n"
    shown = await device.get(path)
    assert (shown["kind"], shown["apiRawValues"]) == (f"tm:{path.replace('/', ':')}:persist-recordsstats", {
        "apiAnonymous": nothing})  # fmt: skip
    server = await backend("a")
    port = await site(device, [server], ["tcp"], persist=["source_addr"])
    await fetch(VIP, port)
    text = (await device.get(path))["apiRawValues"]["apiAnonymous"]
    assert f"source-address  127.0.0.1  {VIP}:{port}  127.0.0.1:{server.port}  (tmm: 0)\n" in text
    clock.now += 180
    assert (await device.get(path))["apiRawValues"]["apiAnonymous"] == nothing


async def test_clients_of_one_network_stay_together(device: Client, backend: Start) -> None:
    await profile(device, "source-addr", mask="255.255.255.0")
    port = await site(device, [await backend("a"), await backend("b")], ["tcp"], persist=["own"])
    said = [await said_to(source, port) for source in ("127.0.3.1", "127.0.3.2", "127.0.4.1")]
    assert said[0] == said[1] != said[2]


async def said_to(source: str, port: int) -> str:
    reader, writer = await asyncio.open_connection(VIP, port, local_addr=(source, 0))
    said = (await exchange(reader, writer))[1]
    writer.close()
    return said


@pytest.mark.parametrize(("across", "same"), [({"matchAcrossServices": "enabled"}, True), ({}, False)])
async def test_services_of_one_address_may_share_records(
    device: Client, backend: Start, across: dict[str, str], same: bool
) -> None:
    await profile(device, "source-addr", **across)
    servers = [await backend("a"), await backend("b", "127.0.0.2")]
    port = await site(device, servers, ["tcp"], persist=["own"])
    members = [{"name": f"{each.host}:{each.port}"} for each in servers]
    await device.post("ltm/pool", {"name": "q", "partition": "P", "members": members})
    other = free_port(VIP)
    body = {"name": "w", "partition": "P", "destination": f"{VIP}:{other}", "pool": "q", "profiles": ["tcp"]}
    await device.post("ltm/virtual", {**body, "persist": ["own"]})
    here = {source: await said_to(source, port) for source in ("127.0.3.1", "127.0.3.2")}
    there = {source: await said_to(source, other) for source in reversed(here)}
    assert (here == there) is same


async def test_destination_address_persistence(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a"), await backend("b")], ["tcp"], persist=["dest_addr"])
    assert len({await said_to(f"127.0.3.{number}", port) for number in range(1, 5)}) == 1


async def test_carp_needs_no_records(device: Client, backend: Start) -> None:
    await profile(device, "source-addr", hashAlgorithm="carp")
    port = await site(device, [await backend("a"), await backend("b")], ["tcp"], persist=["own"])
    # the ports, so the hashes, differ from run to run
    said = {source: await said_to(source, port) for source in (f"127.0.3.{number}" for number in range(1, 33))}
    assert set(said.values()) == {"a", "b"}
    assert said == {source: await said_to(source, port) for source in reversed(said)}


async def test_fallback_serves_clients_without_a_cookie(device: Client, backend: Start) -> None:
    both = {"persist": ["cookie"], "fallbackPersistence": "source_addr"}
    port = await site(device, [await backend("a"), await backend("b")], ["http"], **both)
    assert len(await count(port, 4)) == 1


async def test_attributes_of_inserted_cookies(device: Client, backend: Start, clock: FakeClock) -> None:
    await profile(device, "cookie", cookieName="where", expiration="1:0:0", httponly="disabled")
    port = await site(device, [await backend("a")], ["http"], persist=["own"])
    [cookie] = await cookies_of(port)
    name, expires, path = cookie.split("; ")
    assert (name.split("=")[0], path) == ("where", "path=/")
    assert expires == "expires=Tue, 14-Nov-2023 23:13:20 GMT"
    assert await cookies_of(port, Cookie=name) == []
    await device.patch("ltm/persistence/cookie/~P~own", {"alwaysSend": "enabled"})
    assert await cookies_of(port, Cookie=name) == [cookie]


async def test_cookies_of_members_in_route_domains(device: Client, backend: Start) -> None:
    server = await backend("a")
    await device.post("net/route-domain", {"name": "5", "partition": "Common", "id": 5})
    port = await site(device, [], ["http"], persist=["cookie"])
    await device.post("ltm/pool/~P~p/members", {"name": f"127.0.0.1%5:{server.port}", "partition": "P"})
    [cookie] = await cookies_of(port)
    assert cookie.startswith(f"BIGipServer~P~p=rd5o00000000000000000000ffff7f000001o{server.port}; ")
    assert await cookies_of(port, Cookie=cookie.split(";")[0]) == []


async def test_a_cookie_that_names_no_member_is_no_choice(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a"), await backend("b")], ["http"], persist=["cookie"])
    for value in ("", "1677787402.36895.0000", "9" * 400, "rd1oxo80", "vi" + "z" * 32 + ".80"):
        assert len(await cookies_of(port, Cookie=f"BIGipServer~P~p={value}")) == 1


async def test_a_servers_place_holder_is_rewritten(device: Client, backend: Start) -> None:
    await profile(device, "cookie", method="rewrite")
    servers = [await backend("a"), await backend("b")]
    port = await site(device, servers, ["http"], persist=["own"])
    assert await cookies_of(port) == []
    for server in servers:
        server.headers = f"Set-Cookie: BIGipCookie={'0' * 120}; path=/\r\nSet-Cookie: sid=1\r\n"
    head, said = await fetch(VIP, port)
    [cookie, other] = [line[12:] for line in head.split("\r\n") if line.startswith("Set-Cookie: ")]
    assert cookie.startswith("BIGipServer~P~p=16777343.")
    assert other == "sid=1"
    for _ in range(3):
        assert (await fetch(VIP, port, Cookie=cookie.split(";")[0]))[1] == said


async def test_a_passive_cookie_is_the_servers_own(device: Client, backend: Start) -> None:
    await profile(device, "cookie", method="passive", cookieName="where")
    servers = {"a": await backend("a"), "b": await backend("b")}
    port = await site(device, list(servers.values()), ["http"], persist=["own"])
    assert await cookies_of(port) == []
    swapped = int.from_bytes(servers["b"].port.to_bytes(2, "big"), "little")
    for _ in range(3):
        assert (await fetch(VIP, port, Cookie=f"where=16777343.{swapped}.0000"))[1] == "b"


async def test_hash_of_a_servers_cookie(device: Client, backend: Start) -> None:
    await profile(device, "cookie", method="hash", cookieName="sid")
    port = await site(device, [await backend("a"), await backend("b")], ["http"], persist=["own"])
    said = {value: (await fetch(VIP, port, Cookie=f"sid={value}"))[1] for value in ("1", "2", "3")}
    assert set(said.values()) == {"a", "b"}
    assert said == {value: (await fetch(VIP, port, Cookie=f"sid={value}"))[1] for value in said}


@pytest.mark.parametrize(
    ("command", "name", "attributes"),
    [
        ("persist cookie insert", "BIGipServer~P~p", "; path=/; HttpOnly"),
        ("persist cookie insert chosen", "chosen", "; path=/; HttpOnly"),
        ("persist cookie insert chosen 0:1:0:0", "chosen", "; expires=Tue, 14-Nov-2023 23:13:20 GMT; path=/; HttpOnly"),
    ],
)
async def test_rule_inserts_a_cookie_and_finds_the_member_by_it(
    device: Client, backend: Start, command: str, name: str, attributes: str
) -> None:
    rule = f"when HTTP_REQUEST {{ if {{ [HTTP::path] eq {{/}} }} {{ {command} }} else {{ persist none }} }}"
    await device.post("ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": rule})
    servers = [await backend("a"), await backend("b")]
    port = await site(device, servers, ["tcp", "http"], rules=["/P/r"], persist=["cookie"])
    head, first = await fetch(VIP, port)
    (cookie,) = [line[12:] for line in head.split("\r\n") if line.startswith("Set-Cookie: ")]
    assert (cookie.partition("=")[0], cookie[cookie.index(";") :]) == (name, attributes)
    sent = cookie.partition(";")[0]
    assert {(await fetch(VIP, port, cookie=sent))[1] for _ in range(4)} == {first}
    assert not await cookies_of(port, cookie=sent)
    elsewhere = [await fetch(VIP, port, path="/elsewhere", cookie=sent) for _ in range(4)]
    assert len({answer for _, answer in elsewhere}) == 2
    assert not any("Set-Cookie" in head for head, _ in elsewhere)
