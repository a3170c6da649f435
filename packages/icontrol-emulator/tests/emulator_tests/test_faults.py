from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp
import pytest

from emulator_tests.client import Client
from icontrol_emulator import Emulator, Fault
from tests.waiting import eventually

POOL = {"name": "p", "partition": "P"}
LOST = (aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError)


async def control(emulator: Emulator, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
    async with aiohttp.ClientSession() as session, session.request(
        method, emulator.control_url + path, json=body
    ) as response:  # fmt: skip
        return response.status, await response.json()


async def test_busy_device_refuses_so_many_times(device: Client, emulator: Emulator) -> None:
    emulator.faults.add(Fault(kind="busy", method="POST", path="/ltm/pool", count=2, skip=1))
    statuses = [(await device.send("POST", "ltm/pool", {**POOL, "name": f"p{n}"})).status for n in range(4)]
    assert statuses == [200, 503, 503, 200]
    assert len(emulator.faults) == 0


async def test_error_bodies(device: Client, emulator: Emulator) -> None:
    emulator.faults.add(Fault(kind="busy", count=1))
    answer = await device.send("POST", "ltm/pool", POOL)
    assert answer.document == {
        "code": 503, "message": "There is an active asynchronous task executing.", "errorStack": [],
        "apiError": 32964609,
    }  # fmt: skip
    emulator.faults.add(Fault(kind="mcpd_lost", count=1))
    assert (await device.send("GET", "ltm/pool")).message == "The connection to mcpd has been lost, try again."
    emulator.faults.add(Fault(kind="unregistered", count=1))
    answer = await device.send("GET", "ltm/pool")
    assert (answer.status, "wait for /available suffix" in answer.message) == (404, True)


@pytest.mark.parametrize(("kind", "exists"), [("drop_before", 404), ("drop_after", 200), ("refuse", 404)])
async def test_dropped_connections(device: Client, emulator: Emulator, kind: str, exists: int) -> None:
    number = emulator.faults.add(Fault(kind=kind, method="POST", path="/ltm/pool"))
    with pytest.raises(LOST):
        await device.send("POST", "ltm/pool", POOL)
    emulator.faults.remove(number)
    assert (await device.send("GET", "ltm/pool/~P~p")).status == exists


@pytest.mark.parametrize(("kind", "meanwhile"), [("hold", 404), ("hold_after", 200)])
async def test_held_requests_are_visible_and_go_on_when_released(
    device: Client, emulator: Emulator, kind: str, meanwhile: int
) -> None:
    emulator.faults.add(Fault(kind=kind, method="POST", count=1))
    request = asyncio.create_task(device.send("POST", "ltm/pool", POOL))
    await eventually(lambda: [each for each in emulator.write_log.in_flight() if each["held"]])
    [shown] = emulator.write_log.in_flight()
    assert (shown["method"], shown["path"], shown["user"]) == ("POST", "/mgmt/tm/ltm/pool", "admin")
    assert (await device.send("GET", "ltm/pool/~P~p")).status == meanwhile
    await control(emulator, "POST", "/release", {})
    assert (await request).status == 200
    await eventually(lambda: emulator.write_log.in_flight() == [])


async def test_unreachable_device_never_answers(device: Client, emulator: Emulator) -> None:
    number = emulator.faults.add(Fault(kind="unreachable", device="bigip-1"))
    request = asyncio.create_task(device.send("POST", "ltm/pool", POOL))
    await eventually(lambda: emulator.write_log.in_flight())
    emulator.faults.remove(number)
    with pytest.raises(LOST):
        await request
    assert (await device.send("GET", "ltm/pool/~P~p")).status == 404


async def test_faults_choose_by_user(device: Client, emulator: Emulator) -> None:
    emulator.faults.add(Fault(kind="busy", user="bob"))
    assert (await device.send("POST", "ltm/pool", POOL)).status == 200


async def test_write_log(device: Client, emulator: Emulator) -> None:
    start = emulator.write_log.last_seq
    await device.post("ltm/pool", POOL, **{"User-Agent": "someone"})
    await device.send("DELETE", "ltm/pool/~P~x")
    number = await device.open_transaction()
    await device.patch("ltm/pool/~P~p", {"description": "d"}, transaction=number)
    await device.commit(number)
    await device.post("auth/user", {"name": "eve", "password": "pw"})
    await device.get("ltm/pool")
    status, shown = await control(emulator, "GET", f"/writes?after={start}&device=bigip-1")
    assert status == 200
    entries = shown["entries"]
    assert isinstance(entries, list)
    assert [entry["event"] for entry in entries] == [
        "write", "write", "transaction_opened", "transaction_queued", "transaction_committed", "write",
    ]  # fmt: skip
    first, second, opened, queued, committed, user = entries
    assert (first["user"], first["user_agent"], first["status"], first["body"]) == ("admin", "someone", 200, POOL)
    assert (second["status"], second["error"]) == (
        404,
        "01020036:3: The requested Pool (/P/x) was not found.",
    )
    assert {each["transaction_id"] for each in (opened, queued, committed)} == {str(number)}
    uri = "/mgmt/tm/ltm/pool/~P~p"
    assert committed["body"] == {"commands": [{"method": "PATCH", "uri": uri, "body": {"description": "d"}}]}
    assert user["body"] == {"name": "eve", "password": "***"}
    assert (await control(emulator, "GET", f"/writes?after={user['seq']}"))[1]["entries"] == []


async def test_refused_commit_is_logged(device: Client, emulator: Emulator) -> None:
    number = await device.open_transaction()
    await device.send("DELETE", "ltm/pool/~P~x", transaction=number)
    await device.commit(number)
    last = emulator.write_log.entries()[-1]
    assert (last["event"], last["status"]) == ("transaction_refused", 400)
    assert last["error"].startswith("transaction failed:01020036")


async def test_counters(device: Client, emulator: Emulator) -> None:
    emulator.reset_counts()
    await device.get("ltm/pool")
    await device.get("ltm/pool/stats")
    await device.post("ltm/pool", POOL)
    await device.post("/mgmt/shared/authn/login", {"username": "bob", "password": "secret"})
    _, shown = await control(emulator, "GET", "/counters")
    assert shown == {"bigip-1": {"reads": 1, "writes": 1, "logins": 1, "tokens": 0, "stats": 1}}


async def test_old_backup_is_restored(device: Client, emulator: Emulator) -> None:
    await device.post("ltm/pool", POOL)
    assert (await control(emulator, "POST", "/snapshot", {"device": "bigip-1", "name": "old"}))[0] == 200
    await device.patch("ltm/pool/~P~p", {"description": "new"})
    await device.post("ltm/pool", {**POOL, "name": "q"})
    assert (await control(emulator, "POST", "/restore", {"device": "bigip-1", "name": "old"}))[0] == 200
    assert "description" not in await device.get("ltm/pool/~P~p")
    assert (await device.send("GET", "ltm/pool/~P~q")).status == 404
    assert (await control(emulator, "POST", "/restore", {"device": "bigip-1", "name": "none"}))[0] == 404


async def test_a_restored_or_wiped_device_boots_as_such(device: Client, emulator: Emulator) -> None:
    await device.post("ltm/pool", {"name": "old", "partition": "P"})
    await control(emulator, "POST", "/snapshot", {"device": "bigip-1", "name": "old"})
    await device.post("ltm/pool", {"name": "new", "partition": "P"})
    await device.post("sys/config", {"command": "save"})
    for way, left in ((("/restore", {"name": "old"}), ["/P/old"]), (("/wipe", {}), [])):
        path, body = way
        assert (await control(emulator, "POST", path, {"device": "bigip-1", **body}))[0] == 200
        assert emulator.devices["bigip-1"].objects("ltm/pool", "P") == left
        await emulator.reboot("bigip-1", seconds=0)
        await eventually(lambda: emulator.devices["bigip-1"].failover_state == "active")
        # settled: a reboot reads its configuration before it ends
        assert emulator.devices["bigip-1"].objects("ltm/pool", "P") == left
    assert (await control(emulator, "POST", "/wipe", {"device": "none"}))[0] == 404


async def test_each_device_has_a_serial_number_of_its_own() -> None:
    def serials(emulator: Emulator) -> set[str]:
        return {device.serial for device in emulator.devices.values()}

    first, second = (Emulator(["a", "b"], data_plane=False) for _ in range(2))
    assert len(serials(first) | serials(second)) == 4
    again = [Emulator(["a"], data_plane=False, state_dir="/nonexistent") for _ in range(2)]
    assert len(serials(again[0]) | serials(again[1])) == 1


async def test_control_api_for_faults(emulator: Emulator, device: Client) -> None:
    status, added = await control(emulator, "POST", "/faults", {"kind": "busy", "method": "POST"})
    assert status == 200
    _, listed = await control(emulator, "GET", "/faults")
    assert [fault["kind"] for fault in listed["faults"]] == ["busy"]  # type: ignore[attr-defined]
    assert (await device.send("POST", "ltm/pool", POOL)).status == 503
    assert (await control(emulator, "DELETE", f"/faults/{added['id']}"))[0] == 200
    assert (await control(emulator, "POST", "/faults", {"kind": "nonsense"}))[0] == 400
    assert (await control(emulator, "POST", "/failover", {"device": "nobody"}))[0] == 404
    _, shown = await control(emulator, "GET", "/status")
    assert shown["devices"][0]["failover_state"] == "active"  # type: ignore[index]


async def test_request_held_over_a_reboot_is_lost(device: Client, emulator: Emulator) -> None:
    await device.post("sys/config", {"command": "save"})
    number = emulator.faults.add(Fault(kind="hold", method="POST", path="/ltm/pool"))
    request = asyncio.create_task(device.send("POST", "ltm/pool", POOL))
    await eventually(lambda: emulator.write_log.in_flight())
    await emulator.reboot("bigip-1", seconds=0.05)
    with pytest.raises(LOST):
        await request
    await eventually(lambda: emulator.devices["bigip-1"].failover_state == "active")
    emulator.faults.remove(number)
    await eventually(lambda: not emulator.write_log.in_flight())
    assert (await device.send("GET", "ltm/pool/~P~p")).status == 404  # settled: nothing is written any more


async def test_a_full_disk_refuses_to_save_and_keeps_what_was_saved(device: Client, emulator: Emulator) -> None:
    await device.post("sys/config", {"command": "save"})
    emulator.fill_disk("bigip-1", full=True)
    await device.post("ltm/pool", {"name": "p", "partition": "P"})
    for path, body in (("sys/config", {"command": "save"}), ("sys/ucs", {"command": "save", "name": "a.ucs"})):
        answer = await device.send("POST", path, body)
        assert (answer.status, "No space left on device" in answer.message) == (400, True)
    body = {"command": "run", "utilCmdArgs": "-c 'tmsh save sys config'"}
    assert "No space left" in (await device.post("util/bash", body))["commandResult"]
    emulator.fill_disk("bigip-1", full=False)
    await device.post("sys/config", {"command": "load"})
    assert (await device.send("GET", "ltm/pool/~P~p")).status == 404


async def test_restarts_of_daemons(device: Client, emulator: Emulator, skip: Callable[[float], None]) -> None:
    transaction = await device.open_transaction()
    await emulator.restart("bigip-1", "mcpd", seconds=30)
    answer = await device.send("GET", "ltm/pool")
    assert (answer.status, answer.document["apiError"]) == (500, 32768001)
    skip(31)
    await eventually(lambda: has_status(device, 200))
    # settled: a restart forgets transactions before it ends
    assert (await device.send("GET", f"transaction/{transaction}")).status == 404
    await emulator.restart("bigip-1", "restjavad", seconds=60)
    answer = await device.send("GET", "auth/partition/P")
    assert (answer.status, "Configuration Utility restarting" in answer.text) == (503, True)
    skip(31)
    await eventually(lambda: has_status(device, 404))
    assert "wait for /available suffix" in (await device.send("GET", "auth/partition/P")).message
    skip(31)
    await eventually(lambda: has_status(device, 200))


async def has_status(device: Client, status: int) -> bool:
    return (await device.send("GET", "auth/partition/P")).status == status


async def test_refused_transactions_and_token_limits(device: Client, emulator: Emulator) -> None:
    emulator.faults.add(Fault(kind="refuse_transaction", method="PATCH", path="/transaction/", count=1))
    transaction = await device.open_transaction()
    await device.post("ltm/pool", {"name": "p", "partition": "P"}, transaction=transaction)
    answer = await device.commit(transaction)
    assert (answer.status, answer.document["apiError"]) == (400, 2)
    assert (await device.send("GET", f"transaction/{transaction}")).status == 404
    assert (await device.send("GET", "ltm/pool/~P~p")).status == 404
    emulator.faults.add(Fault(kind="token_limit", path="/authn/login", count=1))
    body = {"username": "bob", "password": "secret", "loginProviderName": "tmos"}
    answer = await device.send("POST", "/mgmt/shared/authn/login", body)
    assert (answer.status, "maximum active login tokens" in answer.message) == (400, True)
