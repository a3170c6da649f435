"""A vCMP host, its guests, and the VLANs that they are lent."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from emulator_tests.client import Client
from icontrol_emulator import Emulator

NAMES = ("chassis", "guest-1", "guest-2")


@pytest.fixture
async def clients() -> AsyncIterator[dict[str, Client]]:
    async with Emulator(NAMES, ha="pair", vcmp_host="chassis", data_plane=False) as running:
        opened = {name: Client(running.devices[name].url, running.ca_file) for name in NAMES}
        yield opened
        for client in opened.values():
            await client.close()


async def test_a_host_knows_its_guests_and_guests_each_other_only(clients: dict[str, Client]) -> None:
    host, guest = clients["chassis"], clients["guest-1"]
    found = {item["name"]: item for item in (await host.get("vcmp/guest"))["items"]}
    assert set(found) == {"guest-1", "guest-2"} and found["guest-1"]["state"] == "deployed"
    devices = {item["name"]: item for item in (await guest.get("cm/device"))["items"]}
    assert set(devices) == {"guest-1", "guest-2"}
    own = devices["guest-1"]
    assert (own["platformId"], own["marketingName"]) == ("Z101", "BIG-IP vCMP Guest")
    assert found["guest-1"]["managementIp"] == f"{own['managementIp']}/24"
    assert len({each["managementIp"] for each in devices.values()}) == 2
    assert (await host.get("sys/provision/vcmp"))["level"] == "dedicated"
    refused = await guest.send("GET", "vcmp/guest")
    assert refused.status == 400 and "must be licensed/provisioned" in refused.message


async def test_vlans_are_lent_to_guests_and_taken_back(clients: dict[str, Client]) -> None:
    host, first, second = clients["chassis"], clients["guest-1"], clients["guest-2"]
    for name, tag in (("red", 101), ("blue", 102)):
        await host.post("net/vlan", {"name": name, "tag": tag, "interfaces": [{"name": "1.1", "tagged": True}]})
    await host.patch("vcmp/guest/guest-1", {"vlans": ["/Common/red", "/Common/blue"]})
    lent = {item["name"]: item["tag"] for item in (await first.get("net/vlan"))["items"]}
    assert lent == {"red": 101, "blue": 102}
    assert "items" not in await second.get("net/vlan")
    await first.post("net/self", {"name": "s", "address": "10.1.0.1/24", "vlan": "/Common/red"})
    await host.patch("vcmp/guest/guest-1", {"vlans": []})
    assert [item["name"] for item in (await first.get("net/vlan"))["items"]] == ["red"]  # in use
    used = await host.send("DELETE", "net/vlan/blue")
    assert used.status == 200


async def test_a_vlan_that_a_guest_is_lent_stays_on_the_host(clients: dict[str, Client]) -> None:
    host = clients["chassis"]
    await host.post("net/vlan", {"name": "red", "tag": 101})
    await host.patch("vcmp/guest/guest-2", {"vlans": ["red"]})
    assert (await host.send("DELETE", "net/vlan/red")).status == 400
    assert (await host.send("PATCH", "vcmp/guest/guest-2", {"vlans": ["green"]})).status in (400, 404)


def test_a_host_needs_guests() -> None:
    with pytest.raises(ValueError, match="vcmp_host"):
        Emulator(["a"], vcmp_host="a")
    with pytest.raises(ValueError, match="vcmp_host"):
        Emulator(["a", "b"], vcmp_host="c")


async def test_a_guest_may_move_a_vlan_to_a_partition_of_its_own(clients: dict[str, Client]) -> None:
    host, guest = clients["chassis"], clients["guest-1"]
    for name, tag in (("red", 101), ("blue", 102)):
        await host.post("net/vlan", {"name": name, "tag": tag, "interfaces": [{"name": "1.1", "tagged": True}]})
    await host.patch("vcmp/guest/guest-1", {"vlans": ["/Common/red"]})
    await guest.post("auth/partition", {"name": "p"})
    assert (await guest.send("DELETE", "net/vlan/red")).status == 200
    await guest.post("net/vlan", {"name": "red", "partition": "p", "tag": 101})

    await host.patch("vcmp/guest/guest-1", {"vlans": ["/Common/red", "/Common/blue"]})
    shown = {item["fullPath"] for item in (await guest.get("net/vlan"))["items"]}
    assert shown == {"/p/red", "/Common/blue"}
    await host.patch("vcmp/guest/guest-1", {"vlans": []})
    assert [item["fullPath"] for item in (await guest.get("net/vlan"))["items"]] == ["/p/red"]
