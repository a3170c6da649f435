from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from emulator_tests.client import Backend, Client, exchange, fetch, free_port
from icontrol_emulator import Emulator
from tests.waiting import eventually

VIP = "127.0.8.2"
Start = Callable[..., Awaitable[Backend]]


async def configure(clients: tuple[Client, ...], server: Backend) -> int:
    """The same virtual server on every device."""
    port = free_port(VIP)
    for client in clients:
        body = {"name": "p", "partition": "P", "members": [f"127.0.0.1:{server.port}"]}
        await client.post("ltm/pool", body)
        virtual = {"name": "v", "partition": "P", "destination": f"{VIP}:{port}", "pool": "p", "profiles": ["http"]}
        await client.post("ltm/virtual", virtual)
    return port


async def roles(client: Client) -> dict[str, str]:
    return {item["name"]: item["failoverState"] for item in (await client.get("cm/device"))["items"]}


async def test_roles_are_told_by_both_devices(pair: Emulator, both: tuple[Client, Client]) -> None:
    first, second = both
    assert await roles(first) == await roles(second) == {"bigip-1": "active", "bigip-2": "standby"}
    await first.post("sys/failover", {"command": "run", "standby": True})
    assert await roles(first) == await roles(second) == {"bigip-1": "standby", "bigip-2": "active"}
    shown = await second.get("cm/failover-status")
    entry = shown["entries"]["https://localhost/mgmt/tm/cm/failover-status/0"]["nestedStats"]["entries"]
    assert entry["status"] == {"description": "ACTIVE"}
    refused = await first.send("POST", "sys/failover", {"command": "run", "standby": True, "offline": True})
    assert refused.status == 400


async def test_no_request_fails_while_roles_change_under_load(
    pair: Emulator, both: tuple[Client, Client], backend: Start
) -> None:
    port = await configure(both, await backend("a"))
    served = 0
    stopping = asyncio.Event()

    async def load() -> None:
        nonlocal served
        while not stopping.is_set():
            assert (await fetch(VIP, port))[1] == "a"
            served += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(load())
        for turn in range(10):
            await eventually(lambda goal=served + 20: served >= goal)
            await pair.failover(f"bigip-{turn % 2 + 1}")
        await eventually(lambda goal=served + 20: served >= goal)
        stopping.set()
    for client in both:
        [entry] = (await client.get("ltm/virtual/~P~v/stats"))["entries"].values()
        assert entry["nestedStats"]["entries"]["clientside.totConns"]["value"] > 0


async def test_planned_failover_lets_open_connections_finish(
    pair: Emulator, both: tuple[Client, Client], backend: Start
) -> None:
    port = await configure(both, await backend("a"))
    reader, writer = await asyncio.open_connection(VIP, port)
    await exchange(reader, writer)
    await pair.failover("bigip-1")
    assert (await exchange(reader, writer))[1] == "a"
    writer.close()


async def test_reboot_resets_connections_and_moves_traffic(
    pair: Emulator, both: tuple[Client, Client], backend: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, looked = pair._servers["bigip-1"], asyncio.Event()
    up = server.up

    async def up_later() -> None:
        await looked.wait()
        await up()

    monkeypatch.setattr(server, "up", up_later)
    port = await configure(both, await backend("a"))
    reader, writer = await asyncio.open_connection(VIP, port)
    await exchange(reader, writer)
    await pair.reboot("bigip-1", seconds=0.01, lose_unsaved=False)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await exchange(reader, writer)
    assert (await fetch(VIP, port))[1] == "a"
    assert (await roles(both[1]))["bigip-1"] == "offline"
    looked.set()
    await eventually(lambda: pair.devices["bigip-1"].failover_state == "standby")
    await both[0].get("ltm/virtual/~P~v")
    assert await roles(both[0]) == {"bigip-1": "standby", "bigip-2": "active"}
    writer.close()


async def test_virtual_the_new_active_device_does_not_have_stops_listening(
    pair: Emulator, both: tuple[Client, Client], backend: Start
) -> None:
    port = await configure(both[:1], await backend("a"))
    await fetch(VIP, port)
    await pair.failover("bigip-1")
    with pytest.raises(ConnectionError):
        await fetch(VIP, port)
    await pair.failover("bigip-2")
    assert (await fetch(VIP, port))[1] == "a"


SHELL = {"command": "run"}
SAVES = [
    ("sys/config", {"command": "save"}),
    ("sys/config", {"command": "save", "partitions": ["P"]}),
    ("util/bash", {**SHELL, "utilCmdArgs": "-c 'tmsh save sys config'"}),
    ("util/bash", {**SHELL, "utilCmdArgs": '-c "tmsh save /sys config partitions all"'}),
    ("util/bash", {**SHELL, "utilCmdArgs": "-c 'echo now; tmsh -q save sys config && true'"}),
    ("util/bash", {**SHELL, "utilCmdArgs": "-c \"tmsh -c 'save sys config'\""}),
    ("util/bash", {**SHELL, "utilCmdArgs": "-c '/usr/bin/tmsh save sys config > /dev/null 2>&1'"}),
]
NOT_SAVES = [
    ("sys/config", {"command": "save", "options": [{"file": "copy.scf"}]}),
    ("util/bash", {**SHELL, "utilCmdArgs": "-c 'tmsh save sys config file copy.scf'"}),
    ("util/bash", {**SHELL, "utilCmdArgs": "-c 'echo tmsh save sys config'"}),
    ("util/bash", {**SHELL, "utilCmdArgs": "-c 'tmsh save sys ucs copy'"}),
]


@pytest.mark.parametrize(("path", "body"), SAVES)
async def test_reboot_loses_what_was_not_saved(
    device: Client, emulator: Emulator, path: str, body: dict[str, object]
) -> None:
    await device.post("ltm/pool", {"name": "kept", "partition": "P"})
    await device.post(path, body)
    await device.post("ltm/pool", {"name": "lost", "partition": "P"})
    number = await device.open_transaction()
    await emulator.reboot("bigip-1", seconds=0.05)
    await eventually(lambda: emulator.devices["bigip-1"].failover_state == "active")
    assert emulator.devices["bigip-1"].objects("ltm/pool", "P") == ["/P/kept"]
    # settled: a reboot forgets transactions before it ends
    assert (await device.send("GET", f"transaction/{number}")).status == 404


@pytest.mark.parametrize(("path", "body"), NOT_SAVES)
async def test_copies_are_not_what_a_device_boots_from(
    device: Client, emulator: Emulator, path: str, body: dict[str, object]
) -> None:
    await device.post("sys/config", {"command": "save"})
    await device.post("ltm/pool", {"name": "lost", "partition": "P"})
    await device.post(path, body)
    await emulator.reboot("bigip-1", seconds=0.05)
    await eventually(lambda: emulator.devices["bigip-1"].failover_state == "active")
    assert emulator.devices["bigip-1"].objects("ltm/pool", "P") == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("sys/config", {"command": "load"}),
        ("util/bash", {**SHELL, "utilCmdArgs": "-c 'tmsh load sys config'"}),
        ("util/bash", {**SHELL, "utilCmdArgs": "-c 'tmsh load sys config partitions all'"}),
    ],
)
async def test_load_returns_to_what_was_saved(device: Client, path: str, body: dict[str, object]) -> None:
    await device.post("ltm/pool", {"name": "kept", "partition": "P"})
    await device.post("sys/config", {"command": "save"})
    await device.post("ltm/pool", {"name": "lost", "partition": "P"})
    await device.post(path, body)
    assert [item["name"] for item in (await device.get("ltm/pool"))["items"]] == ["kept"]


async def test_tasks_are_started_and_looked_at(device: Client) -> None:
    task = await device.post("task/sys/config", {"command": "save"})
    started = await device.send("PUT", f"task/sys/config/{task['_taskId']}", {"_taskState": "VALIDATING"})
    assert started.status == 202
    assert (await device.get(f"task/sys/config/{task['_taskId']}"))["_taskState"] == "COMPLETED"
