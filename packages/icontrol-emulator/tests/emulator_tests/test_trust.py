"""Device trust: from two devices on their own to a group that synchronises, and back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from emulator_tests.client import Client
from emulator_tests.test_clusters import add, pools, status, sync
from icontrol_emulator import Emulator

Clients = dict[str, Client]


@pytest.fixture
async def clients() -> AsyncIterator[Clients]:
    async with Emulator(["a", "b", "c"], data_plane=False) as running:
        opened = {name: Client(device.url, running.ca_file) for name, device in running.devices.items()}
        yield opened
        for client in opened.values():
            await client.close()


async def address(client: Client) -> str:
    (own,) = [item for item in (await client.get("cm/device"))["items"] if item["selfDevice"] == "true"]
    return str(own["managementIp"])


async def trusting(client: Client, other: Client, name: str, **changes: Any) -> dict[str, Any]:
    body = {"command": "run", "name": "Root", "caDevice": True, "device": await address(other), "deviceName": name}
    return {**body, "username": "admin", "password": "admin", **changes}


async def devices(client: Client) -> list[str]:
    return sorted(item["name"] for item in (await client.get("cm/device"))["items"])


async def test_devices_on_their_own_become_a_pair(clients: Clients) -> None:
    a, b = clients["a"], clients["b"]
    assert await address(a) != await address(b)
    answer = await a.post("cm/add-to-trust", await trusting(a, b, "b.localdomain"))
    assert answer["kind"] == "tm:cm:add-to-trust:runstate" and "admin" not in str(answer["password"])
    for client in (a, b):
        assert await devices(client) == ["a", "b"]
        assert (await client.get("cm/trust-domain/Root"))["caDevices"] == ["/Common/a", "/Common/b"]
        assert await status(client) == "In Sync"
    group = {"name": "pair", "type": "sync-failover", "devices": ["a", "b"]}
    await a.post("cm/device-group", group)
    assert await status(b) == "Awaiting Initial Sync"
    await sync(a, "to-group pair")
    await add(a, "web")
    assert await status(b) == "Changes Pending"
    await sync(a, "to-group pair")
    assert await pools(b) == ["web"] and await status(a) == "In Sync"
    roles = {item["name"]: item["failoverState"] for item in (await a.get("cm/device"))["items"]}
    assert sorted(roles.values()) == ["active", "standby"]
    assert await devices(clients["c"]) == ["c"]


async def test_a_removal_counts_where_it_was_asked_for(clients: Clients) -> None:
    a, b = clients["a"], clients["b"]
    await a.post("cm/add-to-trust", await trusting(a, b, "b"))
    await a.post("cm/device-group", {"name": "pair", "type": "sync-failover", "devices": ["a", "b"]})
    gone = await a.post("cm/remove-from-trust", {"command": "run", "name": "Root", "deviceName": "b"})
    assert gone["kind"] == "tm:cm:remove-from-trust:runstate"
    assert await devices(a) == ["a"] and await status(a) == "Standalone"
    assert await devices(b) == ["a", "b"] and await status(b) == "Disconnected"
    await b.post("cm/remove-from-trust", {"command": "run", "name": "Root", "deviceName": "a.localdomain"})
    assert await devices(b) == ["b"] and await status(b) == "Standalone"
    await add(a, "web")
    assert await pools(b) == []
    await b.post("cm/add-to-trust", await trusting(b, a, "a"))  # they may trust each other again
    assert await devices(a) == ["a", "b"]


async def test_refusals(clients: Clients) -> None:
    a, b, c = clients["a"], clients["b"], clients["c"]

    async def refused(**changes: Any) -> str:
        answer = await a.send("POST", "cm/add-to-trust", await trusting(a, b, "b", **changes))
        assert answer.status in (400, 409), answer
        return answer.message

    assert "Authentication" in await refused(password="wrong")
    assert "cannot be reached" in await refused(device="203.0.113.1")
    assert "cannot be reached" in await refused(device="127.0.0.1", deviceName="nobody")
    assert "nonCaDevice" in await refused(nonCaDevice=True)
    assert "username" in await refused(username="")
    assert await devices(a) == ["a"]
    await c.post("cm/add-to-trust", await trusting(c, b, "b"))
    assert "another trust domain" in await refused()
    assert (await a.send("POST", "cm/remove-from-trust", {"name": "Root", "deviceName": "b"})).status == 404
    assert (await a.send("POST", "cm/remove-from-trust", {"name": "Root", "deviceName": "a"})).status == 404
