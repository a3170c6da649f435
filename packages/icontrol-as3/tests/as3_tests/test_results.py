"""What clients are told: results of tenants, trials, locks, tasks, and the stored declaration."""

from __future__ import annotations

import copy
from typing import Any

from as3_tests.declarations import (
    APPLICATION,
    DECLARE,
    LISTENER,
    POOL,
    TENANT,
    VIP,
    adc,
    application,
    declare,
    deployed,
    framed,
    one,
    service,
    tenant,
)
from emulator_tests.client import Client
from icontrol_as3 import As3
from icontrol_emulator import Emulator
from tests.waiting import eventually

TASKS = "/mgmt/shared/appsvcs/task"
OTHER_VIP = "127.0.8.4"
EMPTY_POOL = {"class": "Pool"}


def listener(port: int = 8080, address: str = VIP) -> dict[str, Any]:
    return {LISTENER: {**service("Service_HTTP", port), "virtualAddresses": [address]}, POOL: EMPTY_POOL}


def two(**second: Any) -> dict[str, Any]:
    first = tenant(web=application(**listener(8080)))
    return framed(adc(one=first, two=tenant(web=application(**(second or listener(8081, OTHER_VIP))))))


async def partitions(device: Client) -> list[str]:
    return sorted(each["name"] for each in (await device.get("auth/partition"))["items"])


async def test_tenants_have_results_of_their_own(device: Client) -> None:
    answer = await declare(device, two())
    shown = [(each["tenant"], each["code"], each["message"]) for each in answer.document["results"]]
    assert (answer.status, shown) == (200, [("one", 200, "success"), ("two", 200, "success")])
    result = answer.document["results"][0]
    assert result["host"] == "localhost" and result["declarationId"] == "urn:uuid:1"
    assert isinstance(result["runTime"], int) and result["lineCount"] > 0
    assert await partitions(device) == ["Common", "one", "two"]


async def test_a_tenant_that_fails_leaves_the_other_its_result(device: Client) -> None:
    bad = {**listener(8081, OTHER_VIP), "rule": {"class": "iRule", "iRule": "when NOTHING { }"}}
    answer = await declare(device, two(**bad))
    shown = [(each["tenant"], each["code"]) for each in answer.document["results"]]
    assert (answer.status, shown) == (207, [("one", 200), ("two", 422)])
    assert answer.document["results"][1]["response"]
    assert await partitions(device) == ["Common", "one"]
    assert list(await stored_tenants(device)) == ["one"]


async def stored_tenants(device: Client) -> dict[str, Any]:
    document = await device.get(DECLARE)
    return {name: value for name, value in document.items() if isinstance(value, dict) and name != "controls"}


async def test_dry_run_says_what_would_be_and_changes_nothing(device: Client) -> None:
    body = {**two(), "action": "dry-run"}
    answer = await declare(device, body)
    assert (answer.status, answer.document["dryRun"]) == (200, True)
    assert [each["message"] for each in answer.document["results"]] == ["success", "success"]
    answer = await declare(device, two(), "?controls.dryRun=true")
    assert answer.document["dryRun"]
    assert await partitions(device) == ["Common"]
    assert (await device.send("GET", DECLARE)).status == 204


async def test_selective_mode_leaves_other_tenants_and_complete_mode_removes_them(device: Client) -> None:
    await declare(device, two())
    alone = adc(one=tenant(web=application(**listener(8080))))
    assert await deployed(device, framed(alone)) == "no change"
    assert await partitions(device) == ["Common", "one", "two"]
    answer = await declare(device, framed({**alone, "updateMode": "complete"}))
    shown = {each["tenant"]: each["message"] for each in answer.document["results"]}
    assert shown == {"one": "no change", "two": "success"}
    assert await partitions(device) == ["Common", "one"]


async def test_a_stale_lock_is_refused_and_a_current_one_is_not(device: Client) -> None:
    await deployed(device, one(**listener(8080)))
    declaration = await device.get(f"{DECLARE}?showHash=true")
    assert await deployed(device, framed(declaration)) == "no change"
    stale = copy.deepcopy(declaration)
    await deployed(device, one(**listener(8081)))
    stale[TENANT][APPLICATION][LISTENER]["virtualPort"] = 8082
    answer = await declare(device, framed(stale))
    [result] = answer.document["results"]
    assert (answer.status, result["code"]) == (422, 422)
    assert "The hash you submitted does not match" in result["message"]
    virtual = await device.get(f"ltm/virtual/~{TENANT}~{APPLICATION}~{LISTENER}")
    assert virtual["destination"].endswith(":8081")


async def test_changes_by_hand_are_put_right(device: Client) -> None:
    await deployed(device, one(**listener(8080)))
    path = f"ltm/virtual/~{TENANT}~{APPLICATION}~{LISTENER}"
    await device.patch(path, {"connectionLimit": 5})
    await device.post("ltm/pool", {"name": "stray", "partition": TENANT})
    assert await deployed(device, one(**listener(8080))) == "success"
    assert (await device.get(path))["connectionLimit"] == 0
    assert [each["name"] for each in (await device.get("ltm/pool"))["items"]] == [POOL]


async def test_tasks_of_asynchronous_requests(device: Client) -> None:
    answer = await declare(device, two(), "?async=true")
    [submitted] = answer.document["results"]
    assert (answer.status, submitted["message"]) == (202, "Declaration successfully submitted")
    assert [each["id"] for each in (await device.get(TASKS))["items"]] == [answer.document["id"]]

    async def messages() -> list[str]:
        return [each["message"] for each in (await device.get(f"{TASKS}/{answer.document['id']}"))["results"]]

    async def is_done() -> bool:
        return await messages() == ["success", "success"]

    await eventually(is_done)


async def test_requests_of_the_ansible_modules(device: Client) -> None:
    """`bigip_as3_deploy` of F5's collections posts to its tenant and deletes it, and polls the task of each request."""
    answer = await declare(device, one(**listener())["declaration"], f"/{TENANT}?async=true")
    tasks = [str(answer.document["id"])]

    async def last() -> list[str]:
        return [each["message"] for each in (await device.get(f"{TASKS}/{tasks[-1]}"))["results"]]

    async def is_done() -> bool:
        return await last() == ["success"]

    await eventually(is_done)
    answer = await device.send("DELETE", f"{DECLARE}/{TENANT}?async=true")
    tasks.append(str(answer.document["id"]))
    await eventually(is_done)


async def test_an_invalid_declaration_gets_no_task(device: Client) -> None:
    answer = await declare(device, one(stray=1), "?async=true")
    assert (answer.status, answer.message) == (422, "declaration is invalid")
    assert (await device.get(TASKS))["items"] == []


async def test_patches_change_the_stored_declaration(device: Client) -> None:
    await declare(device, two())
    path = f"/one/web/{LISTENER}/virtualPort"
    answer = await device.send("PATCH", DECLARE, [{"op": "replace", "path": path, "value": 8088}])
    assert answer.status == 200, answer.text
    assert [(each["tenant"], each["message"]) for each in answer.document["results"]] == [("one", "success")]
    assert (await device.get(f"ltm/virtual/~one~web~{LISTENER}"))["destination"].endswith(":8088")
    answer = await device.send("PATCH", DECLARE, [{"op": "remove", "path": "/two"}])
    assert answer.status == 200, answer.text
    assert await partitions(device) == ["Common", "one"]
    new = tenant(web=application(**listener(8081, OTHER_VIP)))
    answer = await device.send("PATCH", DECLARE, [{"op": "add", "path": "/three", "value": new}])
    assert answer.status == 200, answer.text
    assert await partitions(device) == ["Common", "one", "three"]


async def test_patches_that_do_not_fit_change_nothing(device: Client) -> None:
    await declare(device, two())
    for operation in (
        {"op": "test", "path": "/one", "value": 1},
        {"op": "remove", "path": "/nobody/web"},
        {"op": "replace", "path": f"/one/web/{LISTENER}/virtualAddresses/7", "value": VIP},
        {"op": "add", "path": "/updateMode", "value": "complete"},
        {"op": "add", "path": "/one/web/stray"},
    ):
        assert (await device.send("PATCH", DECLARE, [operation])).status == 422, operation
    assert await partitions(device) == ["Common", "one", "two"]


async def test_delete_of_all_tenants(device: Client) -> None:
    await declare(device, two())
    answer = await device.send("DELETE", DECLARE)
    assert [each["message"] for each in answer.document["results"]] == ["success", "success"]
    assert await partitions(device) == ["Common"]


async def test_the_declaration_is_saved_and_lost_with_the_configuration(emulator: Emulator, device: Client) -> None:
    await declare(device, {**two(), "persist": True})
    await deployed(device, one(**listener(8083, "127.0.8.5")))
    emulator.devices["bigip-1"].boot()
    assert list(await stored_tenants(device)) == ["one", "two"]
    assert await partitions(device) == ["Common", "one", "two"]


async def test_a_peer_has_the_declaration_after_a_sync() -> None:
    async with Emulator(["bigip-1", "bigip-2"], ha="pair", extensions=[As3]) as pair:
        clients = [Client(each.url, pair.ca_file) for each in pair.devices.values()]
        await declare(clients[0], two())
        groups = (await clients[0].get("cm/device-group"))["items"]
        name = next(each["name"] for each in groups if each["type"] == "sync-failover")
        await clients[0].post("cm", {"command": "run", "utilCmdArgs": f"config-sync to-group /Common/{name}"})
        answer = await declare(clients[1], two())
        assert [each["message"] for each in answer.document["results"]] == ["no change", "no change"]
        for each in clients:
            await each.close()
