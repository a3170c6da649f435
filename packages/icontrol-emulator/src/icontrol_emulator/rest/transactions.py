"""Open transactions of a device: their commands are queued until the commit."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from icontrol_emulator.errors import IControlError, mcpd
from icontrol_emulator.rest.message import Call

IDLE_TIMEOUT_SECONDS = 120
LINK = "https://localhost/mgmt/tm/transaction"


@dataclass(slots=True)
class Command:
    id: int
    call: Call
    order: int


@dataclass(slots=True)
class Transaction:
    id: int
    used: float
    timeout: int = IDLE_TIMEOUT_SECONDS
    commands: list[Command] = field(default_factory=list)
    last_id: int = 0

    def in_order(self) -> list[Command]:
        return sorted(self.commands, key=lambda command: command.order)

    def add(self, call: Call) -> Command:
        self.last_id += 1
        command = Command(self.last_id, call, len(self.commands) + 1)
        self.commands.append(command)
        return command

    def command(self, number: str) -> Command:
        found = next((command for command in self.commands if str(command.id) == number), None)
        if found is None:
            raise mcpd(404, "01020036", f"The requested transaction command ({self.id} {number}) was not found.")
        return found

    def reorder(self, command: Command, order: int) -> None:
        rest = [other for other in self.in_order() if other is not command]
        rest.insert(max(0, order - 1), command)
        for place, each in enumerate(rest, start=1):
            each.order = place


class TransactionBook:
    def __init__(self, clock: Callable[[], float], open_max: int) -> None:
        self._clock = clock
        self._open_max = open_max
        self._open: dict[int, Transaction] = {}
        self._random = random.Random()  # noqa: S311  # transaction ids, which every user may list

    def __len__(self) -> int:
        self._sweep()
        return len(self._open)

    def _sweep(self) -> None:
        now = self._clock()
        for one in [one for one in self._open.values() if one.used + one.timeout <= now]:
            del self._open[one.id]

    def open(self, timeout: int | None) -> Transaction:
        self._sweep()
        if len(self._open) >= self._open_max:
            raise IControlError(400, "too many active transactions", 1)
        while (number := self._random.randrange(10**15, 10**16)) in self._open:
            pass
        one = Transaction(number, self._clock(), timeout or IDLE_TIMEOUT_SECONDS)
        self._open[number] = one
        return one

    def get(self, number: str) -> Transaction:
        self._sweep()
        one = self._open.get(int(number)) if number.isdigit() else None
        if one is None:
            raise mcpd(404, "01020036", f"The requested transaction ({number}) was not found.")
        one.used = self._clock()
        return one

    def commands_of(self, number: str) -> list[Command]:
        """Commands of an open transaction, in order; empty if it does not exist. Does not reset its timeout."""
        one = self._open.get(int(number)) if number.isdigit() else None
        return one.in_order() if one else []

    def all(self) -> list[Transaction]:
        self._sweep()
        return sorted(self._open.values(), key=lambda one: one.id)

    def drop(self, one: Transaction) -> None:
        self._open.pop(one.id, None)

    def forget_everything(self) -> None:
        self._open.clear()


def show(one: Transaction, version: str, **changes: Any) -> dict[str, Any]:
    return {
        "transId": one.id,
        "state": "STARTED",
        "timeoutSeconds": one.timeout,
        "asyncExecution": False,
        "validateOnly": False,
        "executionTimeout": 300,
        "executionTime": 0,
        "failureReason": "",
        "kind": "tm:transactionstate",
        "selfLink": f"{LINK}/{one.id}?ver={version}",
        **changes,
    }


def show_command(one: Transaction, command: Command, version: str) -> dict[str, Any]:
    call = command.call
    query = f"?{call.query.extra}" if call.query.extra else ""
    return {
        "method": call.method,
        "uri": f"https://localhost{call.path}{query}",
        "body": dict(call.body),
        "evalOrder": command.order,
        "commandId": command.id,
        "kind": "tm:transaction:commandsstate",
        "selfLink": f"{LINK}/{one.id}/commands/{command.id}?ver={version}",
    }
