"""One guarded, ordered transaction: the device carries out all of it or nothing.

The first command always concerns the guard, so the device itself refuses a stale owner. Commands are queued one after
the other, because the device carries them out in the order in which it received them.

The outcome is one of three: committed; refused (:class:`DeviceRejected`, nothing changed); or unknown
(:class:`OutcomeUnknown`). After an unknown one, never repeat the transaction: read the device first.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import Secret
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectAbsent, hide_echo
from evenkeel.devices.bigip.naming import uri_segment
from evenkeel.devices.bigip.objects import MEMBER, POOL, ConfigOperation, Key, Verb

TRANSACTIONS_PATH = "/mgmt/tm/transaction"
_FAILED_PREFIX = "transaction failed:"


class OutcomeUnknown(DeviceUnavailable):
    """The commit was sent and no response came: it may have been carried out, or may still be."""


class Command(Value):
    """One HTTP request that a transaction queues."""

    method: str
    path: str
    body: Mapping[str, Any] = {}
    secrets: Mapping[str, Secret] = {}
    """Secret attributes of the body, which no error repeats."""


def operation_command(operation: ConfigOperation, partition: str, source: str = "") -> Command:
    """Build the request that carries out an operation. ``source``: the path to which a file's content was uploaded."""
    collection = collection_path(operation.key, partition)
    if operation.verb is Verb.CREATE:
        body = {**operation.body, "sourcePath": source} if source else operation.body
        return Command(method="POST", path=collection, body=body, secrets=operation.secrets)
    path = f"{collection}/{uri_segment(partition, operation.key.name)}"
    return Command(method=operation.verb.value, path=path, body=operation.body)


def collection_path(key: Key, partition: str) -> str:
    """Return the path of the collection in which an object of this type is created."""
    if key.type == MEMBER:
        return f"/mgmt/tm/{POOL}/{uri_segment(partition, key.pool)}/members"
    return f"/mgmt/tm/{key.type}"


async def commit_commands(
    device: IControl, commands: Iterable[Command], *, pending: set[str], timeout_seconds: float
) -> None:
    """Commit the commands, in their order, as one transaction.

    Raises :class:`DeviceRejected`, :class:`OutcomeUnknown`, :class:`DeviceUnavailable` (certainly not carried
    out). The transaction's number stays in ``pending`` while the device might still commit it, even if the
    caller is cancelled: call :func:`drop_pending_transactions` before planning again.
    """
    commands = tuple(commands)
    hidden = tuple(secret for command in commands for secret in command.secrets.values())
    opened = await device.write("POST", TRANSACTIONS_PATH, {})
    number = str(opened.get("transId", ""))
    if not number:
        raise DeviceUnavailable(device.host, "opened a transaction without a number")
    # before any command: a cancelled caller leaves the number behind for drop_pending_transactions()
    pending.add(number)
    try:
        for command in commands:
            body = None if command.method == "DELETE" else command.body
            await device.write(command.method, command.path, body, transaction=number, secrets=command.secrets)
    except Exception as error:
        # Not committed: delete the queued transaction, so that the device does not keep it open.
        with contextlib.suppress(DeviceUnavailable):
            await drop_pending_transactions(device, pending)
        # a 404 about the transaction itself: it expired, and nothing was carried out
        if isinstance(error, ObjectAbsent) and number in error.reason:
            raise DeviceUnavailable(device.host, "the transaction expired before it was committed") from error
        raise
    await _commit_transaction(device, number, pending, timeout_seconds, hidden)


async def _commit_transaction(
    device: IControl, number: str, pending: set[str], timeout_seconds: float, hidden: Sequence[Secret]
) -> None:
    path = f"{TRANSACTIONS_PATH}/{number}"
    try:
        answer = await device.write("PATCH", path, {"state": "VALIDATING"}, timeout_seconds=timeout_seconds)
    except DeviceRejected as error:
        pending.discard(number)
        # A 404 about an object begins with the text of a failed transaction; any other is about the transaction itself.
        if isinstance(error, ObjectAbsent) and not error.reason.startswith(_FAILED_PREFIX):
            raise DeviceUnavailable(device.host, "the transaction expired before it was committed") from error
        # the device judges the queued commands only now, so its reason may quote one of them
        reason = hide_echo(error.reason, [secret.reveal() for secret in hidden])
        raise DeviceRejected(device.host, reason.removeprefix(_FAILED_PREFIX).strip()) from error
    except DeviceUnavailable as error:
        # the number stays in pending: the device may still be carrying the transaction out
        raise OutcomeUnknown(device.host, f"commit: {error}") from error
    if answer.get("state") != "COMPLETED":
        raise OutcomeUnknown(device.host, f"commit answered state {answer.get('state')!r}")
    pending.discard(number)


async def drop_pending_transactions(device: IControl, pending: set[str]) -> None:
    """Ensure that the device commits none of these transactions later; each is taken out of the set when that is
    certain.

    Raises :class:`DeviceUnavailable` if the device does not respond.
    """
    for number in tuple(pending):
        # A refusal means that the transaction has ended: committed, refused or expired.
        with contextlib.suppress(DeviceRejected):
            await device.write("DELETE", f"{TRANSACTIONS_PATH}/{number}")
        pending.discard(number)
