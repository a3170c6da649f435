from __future__ import annotations

import pytest

from emulator_tests.client import Client
from emulator_tests.conftest import FakeClock
from icontrol_emulator import Emulator
from icontrol_emulator.rest.transactions import TransactionBook


async def test_open_transaction_shows_its_fields(device: Client) -> None:
    shown = await device.post("transaction", {})
    assert len(str(shown["transId"])) == 16
    assert shown["kind"] == "tm:transactionstate"
    assert (shown["state"], shown["timeoutSeconds"], shown["validateOnly"]) == ("STARTED", 120, False)
    listed = await device.get("transaction")
    assert listed["kind"] == "tm:transactioncollectionstate"
    assert [item["transId"] for item in listed["items"]] == [shown["transId"]]


async def test_commands_wait_until_committed_and_may_refer_forward(device: Client) -> None:
    number = await device.open_transaction()
    virtual = {"name": "v", "partition": "P", "destination": "10.0.0.1:80", "pool": "p", "profiles": ["http"]}
    queued = await device.post("ltm/virtual", virtual, transaction=number)
    assert queued["kind"] == "tm:transaction:commandsstate"
    assert (queued["commandId"], queued["evalOrder"], queued["method"]) == (1, 1, "POST")
    assert queued["body"] == virtual
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": ["10.1.0.1:80"]}, transaction=number)
    assert (await device.send("GET", "ltm/pool/~P~p", transaction=number)).status == 404
    committed = await device.commit(number)
    assert (committed.status, committed.document["state"]) == (200, "COMPLETED")
    assert (await device.get("ltm/virtual/~P~v"))["pool"] == "/P/p"
    profiles = (await device.get("ltm/virtual/~P~v/profiles"))["items"]
    assert [item["name"] for item in profiles] == ["http", "tcp"]
    assert (await device.commit(number)).status == 404


async def test_failed_commit_applies_nothing_and_ends_the_transaction(device: Client) -> None:
    number = await device.open_transaction()
    await device.post("ltm/pool", {"name": "p", "partition": "P"}, transaction=number)
    await device.patch("ltm/pool/~P~x", {"description": "d"}, transaction=number)
    answer = await device.commit(number)
    assert (answer.status, answer.document["apiError"]) == (400, 2)
    assert answer.message == "transaction failed:01020036:3: The requested Pool (/P/x) was not found."
    assert (await device.send("GET", "ltm/pool/~P~p")).status == 404
    assert (await device.send("GET", f"transaction/{number}")).status == 404


@pytest.mark.parametrize("method", ["DELETE", "PATCH"])
async def test_absent_member_fails_the_commit_with_mcpd_text(device: Client, method: str) -> None:
    await device.post("ltm/pool", {"name": "p", "partition": "P"})
    number = await device.open_transaction()
    body = {"ratio": 2} if method == "PATCH" else None
    await device.send(method, "ltm/pool/~P~p/members/~P~10.1.0.1:80", body, transaction=number)
    expected = "transaction failed:01020036:3: The requested Pool Member (/P/p /P/10.1.0.1 80) was not found."
    assert (await device.commit(number)).message == expected


async def test_name_is_free_again_after_its_deletion_in_the_same_transaction(device: Client) -> None:
    await device.post("ltm/pool", {"name": "p", "partition": "P", "description": "old"})
    await device.post("ltm/virtual", {"name": "v", "partition": "P", "destination": "10.0.0.1:80", "pool": "p"})
    address = await device.get("ltm/virtual-address/~P~10.0.0.1")
    number = await device.open_transaction()
    await device.send("DELETE", "ltm/pool/~P~p", transaction=number)
    await device.post("ltm/pool", {"name": "p", "partition": "P", "description": "new"}, transaction=number)
    await device.send("DELETE", "ltm/virtual/~P~v", transaction=number)
    body = {"name": "v", "partition": "P", "destination": "10.0.0.1:80", "pool": "p"}
    await device.post("ltm/virtual", body, transaction=number)
    assert (await device.commit(number)).status == 200
    assert (await device.get("ltm/pool/~P~p"))["description"] == "new"
    assert await device.get("ltm/virtual-address/~P~10.0.0.1") == address


async def test_partition_and_its_content_go_together(device: Client) -> None:
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": ["10.1.0.1:80"]})
    number = await device.open_transaction()
    for path in ("auth/partition/P", "ltm/pool/~P~p", "ltm/node/~P~10.1.0.1"):
        await device.send("DELETE", path, transaction=number)
    assert (await device.commit(number)).status == 200
    assert "P" not in [item["name"] for item in (await device.get("auth/partition"))["items"]]


async def test_conflict_between_commands_is_found(device: Client) -> None:
    number = await device.open_transaction()
    for name in ("a", "b"):
        body = {"name": name, "partition": "P", "destination": "10.0.0.1:80"}
        await device.post("ltm/virtual", body, transaction=number)
    answer = await device.commit(number)
    assert answer.message.startswith("transaction failed:01070333:3: Virtual Server /P/")


async def test_empty_patch_in_a_transaction(device: Client) -> None:
    await device.post("ltm/pool", {"name": "p", "partition": "P"})
    number = await device.open_transaction()
    await device.patch("ltm/pool/~P~p", {}, transaction=number)
    assert (await device.commit(number)).message == "transaction failed:one or more properties must be specified"


async def test_empty_transaction_cannot_be_committed(device: Client) -> None:
    answer = await device.commit(await device.open_transaction())
    assert (answer.status, answer.message) == (404, "there is no command to commit in the transaction.")
    assert answer.document["apiError"] == 1


async def test_validate_only_changes_nothing(device: Client) -> None:
    number = await device.open_transaction()
    await device.post("ltm/pool", {"name": "p", "partition": "P"}, transaction=number)
    answer = await device.commit(number, validateOnly=True)
    assert (answer.status, answer.document["validateOnly"]) == (200, True)
    assert (await device.send("GET", "ltm/pool/~P~p")).status == 404


async def test_commands_are_listed_reordered_and_removed(device: Client) -> None:
    number = await device.open_transaction()
    for name in ("a", "b", "c"):
        await device.post("ltm/pool", {"name": name, "partition": "P"}, transaction=number)
    await device.patch(f"transaction/{number}/commands/3", {"evalOrder": 1})
    await device.delete(f"transaction/{number}/commands/2")
    listed = await device.get(f"transaction/{number}/commands")
    assert listed["kind"] == "tm:transaction:commandscollectionstate"
    assert [item["body"]["name"] for item in listed["items"]] == ["c", "a"]
    await device.delete(f"transaction/{number}")
    assert (await device.send("GET", f"transaction/{number}")).status == 404


async def test_number_of_open_transactions_is_limited() -> None:
    async with Emulator(["d"], open_transactions_max=2) as emulator:
        client = Client(emulator.devices["d"].url, emulator.ca_file)
        await client.open_transaction()
        await client.open_transaction()
        assert (await client.send("POST", "transaction", {})).status == 400
        await client.close()


def test_idle_transactions_vanish(clock: FakeClock) -> None:
    book = TransactionBook(clock, 5)
    one = book.open(None)
    clock.now += 100
    assert book.get(str(one.id)) is one
    clock.now += 119
    assert len(book) == 1
    clock.now += 1
    assert len(book) == 0


@pytest.mark.parametrize("detaches", [False, True])
async def test_monitor_in_use_is_not_made_anew_in_one_transaction(device: Client, detaches: bool) -> None:
    await device.post("ltm/monitor/http", {"name": "m", "partition": "P"})
    await device.post("ltm/pool", {"name": "p", "partition": "P", "monitor": "/P/m"})
    number = await device.open_transaction()
    if detaches:
        await device.patch("ltm/pool/~P~p", {"monitor": ""}, transaction=number)
    assert (await device.send("DELETE", "ltm/monitor/http/~P~m", transaction=number)).status == 200
    await device.post("ltm/monitor/http", {"name": "m", "partition": "P"}, transaction=number)
    answer = await device.commit(number)
    assert (answer.status, answer.message) == (400, "transaction failed:01070083:3: Monitor /P/m is in use.")
    assert (await device.get("ltm/pool/~P~p"))["monitor"].strip() == "/P/m"
