"""Devices in networks of their own: traffic flows as the objects say, and not where they do not say it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emulator_tests.admin import Admin
from emulator_tests.wired_site import WiredSite, wired
from icontrol_emulator import Emulator
from tests.waiting import eventually


@pytest.fixture
async def net() -> AsyncIterator[WiredSite]:
    async with wired("bigip-1", "bigip-2") as made:
        yield made


async def in_vlan(hands: Admin, tag: int = 101, address: str = "10.0.0.2%7/24", **changes: Any) -> None:
    """Route domain 7 with a VLAN, a virtual server 10.0.0.100 and the member 10.0.0.200."""
    await hands.call("POST", "auth/partition", {"name": "P"})
    interface = [{"name": "1.1", "tagged": True}]
    await hands.call("POST", "net/vlan", {"name": "v", "partition": "P", "tag": tag, "interfaces": interface})
    await hands.call("POST", "net/route-domain", {"name": "rd", "partition": "P", "id": 7, "vlans": ["/P/v"]})
    if address:
        await hands.call("POST", "net/self", {"name": "own", "partition": "P", "vlan": "/P/v", "address": address})
    members = [{"name": "10.0.0.200%7:8080"}]
    await hands.call("POST", "ltm/pool", {"name": "p", "partition": "P", "members": members})
    virtual = {"name": "v", "partition": "P", "destination": "/P/10.0.0.100%7:80", "pool": "/P/p",
               "ipProtocol": "tcp", "sourceAddressTranslation": {"type": "automap"},
               "profiles": ["/Common/http", "/Common/tcp"]}  # fmt: skip
    await hands.call("POST", "ltm/virtual", virtual | changes)


def emulator(net: WiredSite, *devices: str, ha: str = "standalone") -> Emulator:
    cables = {name: net.cables[name] for name in devices}
    return Emulator(list(devices), users={"admin": "admin"}, ha=ha, cables=cables, monitor_scale=0.1)


async def test_a_vlan_carries_what_the_objects_say(net: WiredSite) -> None:
    client = net.host("client", "10.0.0.50/24", vlan=101)
    server = await net.server("a", "10.0.0.200/24", vlan=101)
    async with emulator(net, "bigip-1") as devices:
        await in_vlan(Admin(devices, "bigip-1"))
        assert await client.ask("10.0.0.100", 3) == ["a"] * 3
        assert server.peers == {"10.0.0.2"}


async def test_nothing_flows_where_the_objects_do_not_let_it(net: WiredSite) -> None:
    client = net.host("client", "10.0.0.50/24", vlan=101)
    await net.server("a", "10.0.0.200/24", vlan=101)
    async with emulator(net, "bigip-1") as devices:
        hands = Admin(devices, "bigip-1")
        await in_vlan(hands, tag=102)
        assert await client.finds_nobody("10.0.0.100")
        await hands.call("PATCH", "net/vlan/~P~v", {"tag": 101})
        assert await client.ask("10.0.0.100") == ["a"]
        await hands.call("PATCH", "net/vlan/~P~v", {"interfaces": [{"name": "1.1", "untagged": True}]})
        assert await client.finds_nobody("10.0.0.100")
        await hands.call("PATCH", "net/vlan/~P~v", {"interfaces": [{"name": "1.2", "tagged": True}]})
        assert await client.ask("10.0.0.100") == ["a"]
        # without its address there the device finds nobody
        await hands.call("DELETE", "net/self/~P~own")
        assert await client.finds_nobody("10.0.0.100")
        # a VLAN of another route domain is not that of the virtual server
        await hands.call("PATCH", "net/route-domain/~P~rd", {"vlans": []})
        await hands.call(
            "POST", "net/self", {"name": "own", "partition": "P", "vlan": "/P/v", "address": "10.0.0.2/24"}
        )
        assert await client.finds_nobody("10.0.0.100")


async def test_a_member_that_is_a_virtual_address_of_the_same_device_gets_nothing(net: WiredSite) -> None:
    client = net.host("client", "10.0.0.50/24", vlan=101)
    await net.server("a", "10.0.0.200/24", vlan=101)
    async with emulator(net, "bigip-1") as devices:
        hands = Admin(devices, "bigip-1")
        await in_vlan(hands)
        members = [{"name": "10.0.0.100%7:80"}]
        await hands.call("POST", "ltm/pool", {"name": "chain", "partition": "P", "members": members})
        virtual = {
            "name": "first",
            "partition": "P",
            "destination": "/P/10.0.0.101%7:80",
            "ipProtocol": "tcp",
            "sourceAddressTranslation": {"type": "automap"},
            "profiles": ["/Common/http", "/Common/tcp"],
        }
        await hands.call("POST", "ltm/virtual", {**virtual, "pool": "/P/chain"})
        assert await client.ask("10.0.0.100") == ["a"]
        assert await client.finds_nobody("10.0.0.101")
        # to the virtual server by name, and then to the member when its address is nobody's on the device
        rule = "when CLIENT_ACCEPTED { virtual /P/v }"
        await hands.call("POST", "ltm/rule", {"name": "onward", "partition": "P", "apiAnonymous": rule})
        await hands.call("PATCH", "ltm/virtual/~P~first", {"rules": ["/P/onward"]})
        assert await client.ask("10.0.0.101") == ["a"]
        await hands.call("PATCH", "ltm/virtual/~P~first", {"rules": []})
        members = [{"name": "10.0.0.200%7:8080"}]
        await hands.call("PATCH", "ltm/pool/~P~chain", {"members": members})
        assert await client.ask("10.0.0.101") == ["a"]


async def test_the_active_device_has_the_moving_addresses(net: WiredSite) -> None:
    client = net.host("client", "10.0.0.50/24", vlan=101)
    server = await net.server("a", "10.0.0.200/24", vlan=101)
    async with emulator(net, "bigip-1", "bigip-2", ha="pair") as devices:
        for number, name in enumerate(devices.devices, 2):
            await in_vlan(Admin(devices, name), address=f"10.0.0.{number}%7/24")
        assert await client.ask("10.0.0.100") == ["a"]
        await devices.failover("bigip-1")
        assert await client.ask("10.0.0.100") == ["a"]
        assert server.peers == {"10.0.0.2", "10.0.0.3"}


async def test_traffic_stays_in_its_route_domain_unless_isolation_is_off(net: WiredSite) -> None:
    client = net.host("client", "10.9.0.50/24", vlan=200)
    await net.server("a", "10.0.0.200/24", vlan=101)
    async with emulator(net, "bigip-1") as devices:
        hands = Admin(devices, "bigip-1")
        await in_vlan(hands)
        interface = [{"name": "1.1", "tagged": True}]
        await hands.call("POST", "net/vlan", {"name": "outside", "tag": 200, "interfaces": interface})
        await hands.call("POST", "net/self", {"name": "outer", "vlan": "outside", "address": "10.9.0.2/24"})
        virtual = {"destination": "/P/10.9.0.100:80", "pool": "/P/p", "ipProtocol": "tcp",
                   "sourceAddressTranslation": {"type": "automap"}, "profiles": ["/Common/http"]}  # fmt: skip
        await hands.call("POST", "ltm/virtual", {"name": "outer", "partition": "P", **virtual})
        assert await client.finds_nobody("10.9.0.100")
        await hands.call("PATCH", "net/route-domain/~Common~0", {"strict": "disabled"})
        await hands.call("PATCH", "net/route-domain/~P~rd", {"strict": "disabled", "parent": "/Common/0"})
        assert await client.ask("10.9.0.100") == ["a"]


async def test_monitors_ask_in_the_route_domain_of_the_member(net: WiredSite) -> None:
    client = net.host("client", "10.0.0.50/24", vlan=101)
    await net.server("a", "10.0.0.200/24", vlan=101)
    async with emulator(net, "bigip-1") as devices:
        hands = Admin(devices, "bigip-1")
        await in_vlan(hands)
        await hands.call("PATCH", "ltm/pool/~P~p", {"monitor": "/Common/tcp"})

        async def serves() -> bool:
            try:
                return await client.ask("10.0.0.100") == ["a"]
            except (OSError, asyncio.IncompleteReadError):
                return False

        await eventually(serves)
        net.switch.drops.add(101)
        path = "ltm/pool/~P~p/members/~P~10.0.0.200%257:8080"

        async def down() -> bool:
            return (await hands.call("GET", path))["state"] == "down"

        await eventually(down)
