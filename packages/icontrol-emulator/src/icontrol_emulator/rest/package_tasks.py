"""/mgmt/shared/iapp/package-management-tasks: which iControl LX packages a device has. It has none, and takes none.

Fields and statuses as in clouddocs.f5.com's iControl LX REST API appendix and in answers that its labs show.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from icontrol_emulator.device import Device
from icontrol_emulator.errors import RestError
from icontrol_emulator.rest.message import Call, Reply

PATH = ["iapp", "package-management-tasks"]
TASKS_MAX = 200
_LINK = "https://localhost/mgmt/shared"
_KIND = "shared:iapp:package-management-tasks:iapppackagemanagementtask"


def handle(device: Device, call: Call, rest: list[str]) -> Reply:
    """``rest``: what follows the collection's path."""
    tasks = device.package_tasks
    if not rest and call.method == "POST":
        return _create(device, call)
    if not rest and call.method == "GET":
        link = f"{_LINK}/{'/'.join(PATH)}"
        items = list(tasks.values())
        return Reply(document={"items": items, "generation": 0, "kind": f"{_KIND}collectionstate", "selfLink": link})
    if len(rest) != 1 or rest[0] not in tasks or call.method not in ("GET", "DELETE"):
        raise RestError(404, f"URI path {call.path} not found.")
    return Reply(document=tasks.pop(rest[0]) if call.method == "DELETE" else tasks[rest[0]])


def _create(device: Device, call: Call) -> Reply:
    """A query is answered as one that is not done, and finished when it is read."""
    operation = call.body.get("operation")
    if operation in ("INSTALL", "UNINSTALL"):
        raise RestError(400, f"operation {operation}: not supported by this emulator")
    if operation != "QUERY":
        raise RestError(400, f"operation {str(operation)[:200]!r}: one of INSTALL, UNINSTALL, QUERY")
    number, now = str(uuid.uuid4()), device.clock()
    user = {"link": f"{_LINK}/authz/users/{call.user}"}
    created: dict[str, Any] = {
        "operation": operation, "id": number, "status": "CREATED", "userReference": user,
        "identityReferences": [user], "ownerMachineId": device.serial, "generation": 1,
        "lastUpdateMicros": int(now * 1_000_000), "kind": f"{_KIND}state",
        "selfLink": f"{_LINK}/{'/'.join(PATH)}/{number}",
    }  # fmt: skip
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
    while len(device.package_tasks) >= TASKS_MAX:
        del device.package_tasks[next(iter(device.package_tasks))]
    done = {"status": "FINISHED", "generation": 3, "startTime": at, "endTime": at, "queryResponse": []}
    device.package_tasks[number] = {**created, **done}
    return Reply(status=202, document=created)
