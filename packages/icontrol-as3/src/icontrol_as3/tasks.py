"""Asynchronous requests: one is carried out after its answer was sent, and its task has the outcome."""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from icontrol_as3.errors import Refused
from icontrol_emulator.rest.message import Reply

TASKS_MAX = 25
_LINK = "https://localhost/mgmt/shared/appsvcs/task"


@dataclass(slots=True)
class Record:
    id: str
    declaration_id: str
    outcome: Reply | None = None

    def show(self) -> dict[str, Any]:
        results, declaration = _pending("in progress", self.declaration_id), {}
        if self.outcome is not None:
            results = self.outcome.document.get("results", [self.outcome.document])
            declaration = without_secrets(self.outcome.document.get("declaration", {}))
        return {"id": self.id, "results": results, "declaration": declaration, "selfLink": f"{_LINK}/{self.id}"}


class TaskBook:
    """The latest asynchronous requests of one device."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, Record] = OrderedDict()

    def start(self, carry_out: Callable[[], Reply], declaration_id: str) -> Reply:
        """Accept a request; it is carried out in the event loop's next turn."""
        record = Record(str(uuid.uuid4()), declaration_id)
        self._records[record.id] = record
        while len(self._records) > TASKS_MAX:
            self._records.popitem(last=False)

        def run() -> None:
            try:
                record.outcome = carry_out()
            except Refused as refused:
                record.outcome = refused.reply()

        asyncio.get_running_loop().call_soon(run)
        shown = {**record.show(), "results": _pending("Declaration successfully submitted", declaration_id)}
        return Reply(status=202, document=shown)

    def show(self, number: str = "") -> Reply:
        """One task, or all, the newest first."""
        if not number:
            return Reply(document={"items": [each.show() for each in reversed(self._records.values())]})
        record = self._records.get(number)
        if record is None:
            raise Refused(404, f"No record found with ID of {number}")
        return Reply(document=record.show())


def _pending(message: str, declaration_id: str) -> list[dict[str, Any]]:
    result = {"message": message, "tenant": "", "host": "", "runTime": 0, "code": 0}
    return [{**result, "declarationId": declaration_id} if declaration_id else result]


def without_secrets(declaration: Any) -> Any:
    """The declaration as tasks show it: without private keys and passphrases."""
    if isinstance(declaration, Mapping):
        return {
            name: "********" if name in ("privateKey", "ciphertext") else without_secrets(value)
            for name, value in declaration.items()
        }
    return [without_secrets(each) for each in declaration] if isinstance(declaration, list) else declaration
