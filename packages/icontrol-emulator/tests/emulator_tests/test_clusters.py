"""Clusters: device groups, traffic groups and config-sync."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from emulator_tests.client import Backend, Client, fetch, free_port
from icontrol_emulator import Emulator
from icontrol_emulator.device import DeviceSpec

GROUP = "device-group-1"
Start = Callable[..., Awaitable[Backend]]


@pytest.fixture
async def four() -> AsyncIterator[Emulator]:
    async with Emulator(["a", "b", "c", "d"], ha="cluster") as running:
        yield running


@pytest.fixture
async def clients(four: Emulator) -> AsyncIterator[dict[str, Client]]:
    opened = {name: Client(device.url, four.ca_file) for name, device in four.devices.items()}
    yield opened
    for client in opened.values():
        await client.close()


async def sync_status(client: Client) -> dict[str, Any]:
    [entry] = (await client.get("cm/sync-status"))["entries"].values()
    shown = entry["nestedStats"]["entries"]
    lines = shown.pop("https://localhost/mgmt/tm/cm/syncStatus/0/details")["nestedStats"]["entries"].values()
    details = [line["nestedStats"]["entries"]["details"]["description"] for line in lines]
    return {**{name: value["description"] for name, value in shown.items()}, "details": details}


async def status(client: Client) -> str:
    return str((await sync_status(client))["status"])


async def sync(client: Client, words: str = f"to-group {GROUP}") -> None:
    answer = await client.post("cm", {"command": "run", "utilCmdArgs": f"config-sync {words}"})
    assert answer["kind"] == "tm:cm:runstate"


async def refused(client: Client, words: str) -> str:
    answer = await client.send("POST", "cm", {"command": "run", "utilCmdArgs": f"config-sync {words}"})
    assert answer.status == 400
    return answer.message


@asynccontextmanager
async def away(four: Emulator, name: str) -> AsyncIterator[None]:
    """The device is switched off inside, and in service again at the end."""
    await four.power_off(name)
    yield
    await four.power_on(name)


async def add(client: Client, name: str) -> None:
    await client.post("ltm/pool", {"name": name})


async def pools(client: Client) -> list[str]:
    return [item["name"] for item in (await client.get("ltm/pool")).get("items", ())]


async def test_numbers_of_devices_are_checked() -> None:
    for ha, count in (("pair", 3), ("cluster", 1), ("cluster", 5), ("trio", 3)):
        with pytest.raises(ValueError, match="cluster with 2 to 4"):
            Emulator([str(number) for number in range(count)], ha=ha)


async def test_a_fresh_group_awaits_its_initial_sync(clients: dict[str, Client]) -> None:
    a, b = clients["a"], clients["b"]
    assert await status(a) == await status(b) == "Awaiting Initial Sync"
    text = "is not allowed until a push has been done first"
    assert text in await refused(a, f"from-group {GROUP}")
    assert "01070734:3: Configuration error: Device group (/Common/none) not found" in await refused(a, "to-group none")
    await add(a, "p")
    await sync(a)
    assert [await pools(client) for client in clients.values()] == [["p"]] * 4
    assert {await status(client) for client in clients.values()} == {"In Sync"}
    await add(a, "q")
    await sync(b, f"from-group {GROUP}")
    assert await pools(b) == ["p", "q"] and await pools(clients["c"]) == ["p"]
    assert await status(clients["c"]) == "Not All Devices Synced"


async def test_changes_on_two_devices_are_a_conflict(clients: dict[str, Client]) -> None:
    a, b = clients["a"], clients["b"]
    await sync(a)
    await add(a, "p")
    shown = await sync_status(b)
    assert (shown["status"], shown["color"], shown["mode"]) == ("Changes Pending", "yellow", "high-availability")
    assert "a: connected" in shown["details"]
    assert f" - Recommended action: Synchronize a to group {GROUP}" in shown["details"]
    await add(b, "q")
    shown = await sync_status(a)
    assert shown["summary"] == "There is a possible change conflict between a and b."
    await sync(a)
    assert await pools(b) == ["q"] and await pools(clients["c"]) == ["p"]
    await sync(a, f"force-full-load-push to-group {GROUP}")
    assert await pools(b) == ["p"] and await status(b) == "In Sync"


async def test_an_unreachable_device_is_disconnected_and_gets_its_part_later(
    four: Emulator, clients: dict[str, Client]
) -> None:
    a, d = clients["a"], clients["d"]
    await sync(a)
    async with away(four, "d"):
        shown = await sync_status(a)
        assert shown["status"] == "Disconnected" and "d: disconnected" in shown["details"]
        await add(a, "p")
        await sync(a)
    assert await pools(d) == [] and await status(a) == "Not All Devices Synced"
    await sync(a)
    assert await pools(d) == ["p"] and await status(a) == "In Sync"


async def test_auto_sync_follows_each_commit_and_a_device_that_returns(
    four: Emulator, clients: dict[str, Client]
) -> None:
    a, b = clients["a"], clients["b"]
    await a.patch(f"cm/device-group/{GROUP}", {"autoSync": "enabled", "saveOnAutoSync": "true"})
    await add(a, "p")
    assert await pools(b) == ["p"] and four.devices["b"].saved == four.devices["b"].engine.store.snapshot()
    async with away(four, "b"):
        await add(a, "q")
    assert await pools(b) == ["p", "q"] and await status(b) == "In Sync"


async def test_folders_say_what_is_synchronised(clients: dict[str, Client]) -> None:
    a, b = clients["a"], clients["b"]
    await sync(a)
    shown = await a.post("sys/folder", {"name": "own", "partition": "Common", "deviceGroup": "none"})
    assert (shown["deviceGroup"], shown["inheritedDevicegroup"]) == ("none", "false")
    await a.post("ltm/pool", {"name": "p", "partition": "Common", "subPath": "own"})
    await a.post("net/vlan", {"name": "v"})
    assert await status(a) == "In Sync"
    await add(a, "q")
    await sync(a)
    assert await pools(b) == ["q"] and "items" not in await b.get("net/vlan")
    assert (await a.get("sys/folder/~Common"))["deviceGroup"] == f"/Common/{GROUP}"
    await sync(b)
    assert await pools(a) == ["p", "q"]


async def test_device_groups_are_made_by_clients(clients: dict[str, Client]) -> None:
    a, b, c = clients["a"], clients["b"], clients["c"]
    for name in ("c", "d"):
        await a.delete(f"cm/device-group/{GROUP}/devices/{name}")
    await sync(a)
    await add(a, "p")
    await sync(a)
    assert await pools(b) == ["p"] and await pools(c) == []
    assert (await status(c), await status(a)) == ("In Sync", "In Sync")
    body = {"name": "g2", "type": "sync-only", "devices": [{"name": "/Common/a"}, {"name": "/Common/c"}]}
    await c.post("cm/device-group", body)
    await a.post("sys/folder", {"name": "shared", "partition": "Common", "deviceGroup": "/Common/g2"})
    await a.post("ltm/pool", {"name": "s", "partition": "Common", "subPath": "shared"})
    await sync(a, "to-group g2")
    assert await pools(c) == ["s"] and await pools(b) == ["p"]


async def test_traffic_groups_move_on_their_own(four: Emulator, clients: dict[str, Client], backend: Start) -> None:
    a, b = clients["a"], clients["b"]
    server, host = await backend("a"), "127.0.8.9"
    await a.post("cm/traffic-group", {"name": "tg2", "haOrder": ["/Common/b", "/Common/a"]})
    assert {name: device.failover_state for name, device in four.devices.items()} == {
        "a": "active",
        "b": "active",
        "c": "standby",
        "d": "standby",
    }
    port = free_port(host)
    for number, folder in ((1, "P"), (2, "Q")):
        await a.post("auth/partition", {"name": folder})
        await a.post("ltm/pool", {"name": "p", "partition": folder, "members": [f"/Common/127.0.0.1:{server.port}"]})
        where = f"127.0.8.{number}:{port}"
        body = {"name": "v", "partition": folder, "destination": where, "pool": "p", "profiles": ["http"]}
        await a.post("ltm/virtual", body)
    await a.patch("sys/folder/~Q", {"trafficGroup": "/Common/tg2"})
    assert (await a.get("ltm/virtual-address/~Q~127.0.8.2"))["trafficGroup"] == "/Common/tg2"
    assert (await fetch("127.0.8.1", port))[1] == "a"
    with pytest.raises(ConnectionError):
        await fetch("127.0.8.2", port)  # b has no such virtual server yet
    await sync(a)
    assert (await fetch("127.0.8.2", port))[1] == "a"
    await b.post("sys/failover", {"command": "run", "standby": True, "traffic-group": "tg2"})
    entries = (await a.get("cm/traffic-group/stats"))["entries"].values()
    found = [{k: v["description"] for k, v in each["nestedStats"]["entries"].items()} for each in entries]
    roles = {(one["trafficGroup"], one["deviceName"]): one["failoverState"] for one in found}
    assert roles["/Common/tg2", "/Common/a"] == "active" and roles["/Common/tg2", "/Common/b"] == "standby"
    assert [one["deviceName"] for one in found if one["nextActive"] == "true"].count("/Common/b") == 2
    assert (await fetch("127.0.8.2", port))[1] == "a"


async def test_an_offline_device_holds_nothing_until_it_is_back_online(
    four: Emulator, clients: dict[str, Client]
) -> None:
    a = clients["a"]
    await a.post("sys/failover", {"command": "run", "offline": True})
    [entry] = (await a.get("cm/failover-status"))["entries"].values()
    assert entry["nestedStats"]["entries"]["status"] == {"description": "FORCED OFFLINE"}
    assert four.devices["b"].failover_state == "active"
    await a.post("sys/failover", {"command": "run", "online": True})
    assert {device.failover_state for device in four.devices.values()} == {"active", "standby"}
    assert four.devices["a"].failover_state == "standby"


async def test_devices_at_addresses_of_their_own_show_them() -> None:
    specs = [DeviceSpec(f"bigip-{number}", host=f"127.0.8.{number}") for number in (1, 2)]
    async with Emulator(specs, ha="pair") as running:
        client = Client(running.devices["bigip-1"].url, running.ca_file)
        found = {item["name"]: item for item in (await client.get("cm/device"))["items"]}
        assert {name: item["managementIp"] for name, item in found.items()} == {
            "bigip-1": "127.0.8.1",
            "bigip-2": "127.0.8.2",
        }
        assert {name: item["selfDevice"] for name, item in found.items()} == {"bigip-1": "true", "bigip-2": "false"}
        await client.close()
