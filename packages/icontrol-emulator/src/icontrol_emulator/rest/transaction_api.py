"""/mgmt/tm/transaction: creates, fills, orders and commits transactions.

A commit is one unit of work of the engine, so devices never show a partial batch, and commits never interleave.
"""

from __future__ import annotations

from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.device import Device
from icontrol_emulator.errors import IControlError
from icontrol_emulator.rest.changes import apply_change, route_of
from icontrol_emulator.rest.message import Call, Reply
from icontrol_emulator.rest.transactions import LINK, Transaction, show, show_command

NOT_IN_TRANSACTIONS = ("/mgmt/tm/util/", "/mgmt/tm/sys/config", "/mgmt/tm/sys/failover", "/mgmt/tm/cm")


def enqueue(device: Device, call: Call) -> Reply:
    """Queue a write with a transaction's id instead of running it."""
    transaction = device.transactions.get(call.transaction_id)
    if call.path.startswith(NOT_IN_TRANSACTIONS) and call.path.count("/") < 5:
        raise errors.IControlError(400, f"{call.path} is not supported in a transaction", errors.ICRD_ERROR)
    route_of(device, call)
    command = transaction.add(call)
    return Reply(document=show_command(transaction, command, device.renderer.version))


def handle(device: Device, call: Call) -> Reply:
    version = device.renderer.version
    rest = call.segments[2:]
    if not rest:
        return _collection(device, call, version)
    transaction = device.transactions.get(rest[0])
    if len(rest) > 1:
        return _commands(device, transaction, rest[1:], call)
    if call.method == "GET":
        return Reply(document=show(transaction, version))
    if call.method == "DELETE":
        device.transactions.drop(transaction)
        return Reply()
    if call.body.get("state") == "VALIDATING":
        return _commit(device, transaction, validate_only=call.body.get("validateOnly") is True)
    if isinstance(call.body.get("timeoutSeconds"), int):
        transaction.timeout = call.body["timeoutSeconds"]
    return Reply(document=show(transaction, version))


def _collection(device: Device, call: Call, version: str) -> Reply:
    if call.method == "POST":
        timeout = call.body.get("timeoutSeconds")
        transaction = device.transactions.open(timeout if isinstance(timeout, int) else None)
        return Reply(document=show(transaction, version))
    if call.method != "GET":
        raise IControlError(405, f"{call.method} is not supported here.", errors.ICRD_ERROR)
    shown: dict[str, Any] = {"kind": "tm:transactioncollectionstate", "selfLink": f"{LINK}?ver={version}"}
    items = [show(each, version) for each in device.transactions.all()]
    return Reply(document={**shown, "items": items} if items else shown)


def _commands(device: Device, transaction: Transaction, rest: list[str], call: Call) -> Reply:
    version = device.renderer.version
    if rest[0] != "commands" or len(rest) > 2:
        raise errors.uri_not_registered(call.path.removeprefix("/mgmt"))
    if len(rest) == 1:
        items = [show_command(transaction, command, version) for command in transaction.in_order()]
        shown = {
            "kind": "tm:transaction:commandscollectionstate",
            "selfLink": f"{LINK}/{transaction.id}/commands?ver={version}",
        }
        return Reply(document={**shown, "items": items} if items else shown)
    command = transaction.command(rest[1])
    if call.method == "DELETE":
        transaction.commands.remove(command)
        return Reply()
    if call.method == "PATCH" and isinstance(call.body.get("evalOrder"), int):
        transaction.reorder(command, call.body["evalOrder"])
    return Reply(document=show_command(transaction, command, version))


def _commit(device: Device, transaction: Transaction, *, validate_only: bool) -> Reply:
    if not transaction.commands:
        raise errors.nothing_to_commit()
    device.transactions.drop(transaction)
    try:
        with device.engine.unit(keep=not validate_only):
            for command in transaction.in_order():
                apply_change(device, command.call)
    except IControlError as error:
        raise errors.transaction_failed(error) from error
    return Reply(document=show(transaction, device.renderer.version, state="COMPLETED", validateOnly=validate_only))
