"""Destinations: by the name of a virtual address, or by a number that some virtual address has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from emulator_tests.client import Backend, Client, fetch, free_port

VIP = "127.0.8.7"


@pytest.fixture
async def named(device: Client) -> Client:
    """A device with the virtual addresses /P/va (IPv4) and /P/va6 (IPv6)."""
    for name, address in (("va", VIP), ("va6", "2001:db8::1")):
        await device.post("ltm/virtual-address", {"name": name, "partition": "P", "address": address})
    return device


async def addresses(device: Client) -> list[str]:
    return [item["fullPath"] for item in (await device.get("ltm/virtual-address")).get("items", [])]


@pytest.mark.parametrize("sent", [f"/P/{VIP}:18090", f"{VIP}:18090", "/P/va:18090", "va:18090"])
async def test_number_and_name_use_the_same_virtual_address(named: Client, sent: str) -> None:
    virtual = await named.post("ltm/virtual", {"name": "v", "partition": "P", "destination": sent})
    assert virtual["destination"] == "/P/va:18090"
    assert await addresses(named) == ["/P/va", "/P/va6"]
    assert (await named.patch("ltm/virtual/~P~v", {"description": "x"}))["destination"] == "/P/va:18090"


@pytest.mark.parametrize("sent", ["/P/2001:db8::1.80", "/P/2001:DB8:0::1.80", "/P/va6:80"])
async def test_virtual_has_the_family_of_its_address_not_of_its_name(named: Client, sent: str) -> None:
    virtual = await named.post("ltm/virtual", {"name": "v", "partition": "P", "destination": sent})
    assert virtual["destination"] == "/P/va6:80"
    assert (virtual["source"], virtual["mask"]) == ("::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")


async def test_destination_moves_to_a_number_with_a_name(named: Client) -> None:
    await named.post("ltm/virtual", {"name": "v", "partition": "P", "destination": "10.0.0.9:80"})
    virtual = await named.patch("ltm/virtual/~P~v", {"destination": f"/P/{VIP}:80"})
    assert virtual["destination"] == "/P/va:80"
    assert await addresses(named) == ["/P/va", "/P/va6"]


async def test_number_and_name_with_one_port_are_one_place(named: Client) -> None:
    await named.post("ltm/virtual", {"name": "v", "partition": "P", "destination": "/P/va:80"})
    answer = await named.send("POST", "ltm/virtual", {"name": "w", "partition": "P", "destination": f"{VIP}:80"})
    assert (answer.status, answer.message[:10]) == (400, "01070333:3")


async def test_equal_names_in_two_partitions_are_two_places(named: Client) -> None:
    await named.post("auth/partition", {"name": "Q"})
    await named.post("ltm/virtual-address", {"name": "va", "partition": "Q", "address": "127.0.8.8"})
    for partition in ("P", "Q"):
        body = {"name": "v", "partition": partition, "destination": f"/{partition}/va:80"}
        assert (await named.post("ltm/virtual", body))["destination"] == f"/{partition}/va:80"


async def test_address_of_another_partition_is_refused(named: Client) -> None:
    await named.post("auth/partition", {"name": "Q"})
    answer = await named.send("POST", "ltm/virtual", {"name": "w", "partition": "Q", "destination": f"{VIP}:81"})
    assert answer.message == f"0107176c:3: Invalid Virtual Address, the IP address {VIP} already exists."


async def test_address_made_earlier_in_a_transaction_is_used_by_number(device: Client) -> None:
    number = await device.open_transaction()
    body = {"name": "va", "partition": "P", "address": VIP}
    await device.post("ltm/virtual-address", body, transaction=number)
    virtual = {"name": "v", "partition": "P", "destination": f"/P/{VIP}:80"}
    await device.post("ltm/virtual", virtual, transaction=number)
    assert (await device.commit(number)).status == 200
    assert (await device.get("ltm/virtual/~P~v"))["destination"] == "/P/va:80"


async def test_traffic_reaches_a_virtual_given_by_number(
    named: Client, backend: Callable[..., Awaitable[Backend]]
) -> None:
    server = await backend("a")
    port = free_port(VIP)
    await named.post("ltm/pool", {"name": "p", "partition": "P", "members": [f"127.0.0.1:{server.port}"]})
    await named.post("ltm/virtual", {"name": "v", "partition": "P", "destination": f"/P/{VIP}:{port}", "pool": "p"})
    assert (await fetch(VIP, port))[1] == "a"


@pytest.mark.parametrize(
    ("sent", "shown", "address", "mask"),
    [
        ("/P/0.0.0.0:0", "/P/0.0.0.0:0", "any", "any"),
        ("/P/any:any", "/P/0.0.0.0:0", "any", "any"),
        ("/P/0.0.0.0%7:0", "/P/0.0.0.0%7:0", "any%7", "any"),
        ("/P/::.0", "/P/::.any", "any6", "any6"),
        ("/P/any6%7.any", "/P/::%7.any", "any6%7", "any6"),
    ],
)
async def test_wildcards_are_shown_as_words(device: Client, sent: str, shown: str, address: str, mask: str) -> None:
    await device.post("net/route-domain", {"name": "rd", "partition": "P", "id": 7})
    virtual = await device.post("ltm/virtual", {"name": "v", "partition": "P", "destination": sent})
    assert (virtual["destination"], virtual["mask"]) == (shown, mask)
    (found,) = (await device.get("ltm/virtual-address"))["items"]
    assert (found["address"], found["mask"]) == (address, mask)
    again = await device.patch("ltm/virtual/~P~v", {"destination": shown, "description": "x"})
    assert again["destination"] == shown
    clash = await device.send("POST", "ltm/virtual-address", {"name": "w", "partition": "P", "address": address})
    assert (clash.status, clash.message[:10]) == (400, "0107176c:3")
