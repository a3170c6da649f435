"""The extension: `info`, `declare` and `task` below /mgmt/shared/appsvcs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from icontrol_as3 import stored
from icontrol_as3.deploy import Order, check, deploy, with_hashes
from icontrol_as3.errors import Refused, invalid
from icontrol_as3.patch import checked, patched, tenants_of
from icontrol_as3.requests import As3Request, read_request
from icontrol_as3.schema.declaration import tenants
from icontrol_as3.tasks import TaskBook
from icontrol_emulator.device import Device
from icontrol_emulator.rest.message import Call, Reply

VERSION, RELEASE = "3.54.0", "7"
"""The release of AS3 whose documents this answers with."""


class As3:
    """AS3 on the devices of one emulator."""

    path = "shared/appsvcs"

    def __init__(self) -> None:
        self._tasks: defaultdict[str, TaskBook] = defaultdict(TaskBook)

    def answer(self, device: Device, call: Call) -> Reply:
        try:
            return self._answer(device, call)
        except Refused as refused:
            return refused.reply()

    def _answer(self, device: Device, call: Call) -> Reply:
        place, *rest = call.segments[2:] or [""]
        if place == "info" and not rest and call.method == "GET":
            document = {"version": VERSION, "release": RELEASE, "schemaCurrent": VERSION, "schemaMinimum": "3.0.0"}
            return Reply(document=document)
        if place == "task" and len(rest) < 2 and call.method == "GET":
            return self._tasks[device.name].show(*rest)
        if place != "declare":
            raise Refused(404, f"{call.method} {call.path} is not emulated: info, declare and task")
        return self._declare(device, read_request(call.method, rest, call.query.extra, call.raw), call.user)

    def _declare(self, device: Device, request: As3Request, user: str) -> Reply:
        if request.action == "retrieve":
            return _retrieve(device, request)
        order = _order(device, request, user)
        if request.wait:
            return deploy(device, order)
        # what is invalid is refused at once, what the device refuses is found by the task
        check(order, stored.load(device))
        return self._tasks[device.name].start(lambda: deploy(device, order), order.id)


def _order(device: Device, request: As3Request, user: str) -> Order:
    declaration = _declaration(device, request)
    if not isinstance(declaration, dict):
        raise invalid(["(root): should be object"])
    return Order(
        declaration=declaration, dry_run=request.dry_run, persist=request.persist, show_hash=request.show_hash,
        user=user,
    )  # fmt: skip


def _declaration(device: Device, request: As3Request) -> Any:
    if request.action == "patch":
        return _patched(device, request)
    if request.action == "remove":
        named = request.tenants or tuple(tenants(stored.load(device)))
        frame = {"class": "ADC", "schemaVersion": "3.0.0", "id": f"remove-{'-'.join(named)}"[:255]}
        return {**frame, **{name: {"class": "Tenant"} for name in named}}
    if request.tenants and isinstance(request.declaration, dict):
        return _named_only(request.declaration, request.tenants)
    return request.declaration


def _named_only(declaration: dict[str, Any], named: tuple[str, ...]) -> dict[str, Any]:
    """The declaration without tenants that the path does not name."""
    own = tenants(declaration)
    missing = [name for name in named if name not in own]
    if missing:
        raise Refused(404, f"specified Tenant(s) '{','.join(missing)}' not found in declaration")
    return {name: value for name, value in declaration.items() if name not in own or name in named}


def _patched(device: Device, request: As3Request) -> dict[str, Any]:
    operations = checked(request.patch)
    known = stored.load(device)
    changed = patched({"class": "ADC", "schemaVersion": "3.0.0", **known}, operations)
    touched = tenants_of(operations)
    declaration = {name: value for name, value in changed.items() if name not in tenants(known) or name in touched}
    # a tenant that the patch removes is one without applications
    return {**declaration, **{name: {"class": "Tenant"} for name in touched if name in known and name not in changed},
            "updateMode": "selective"}  # fmt: skip


def _retrieve(device: Device, request: As3Request) -> Reply:
    known = stored.load(device)
    own = tenants(known)
    if not own:
        if request.tenants:
            raise Refused(404, "declaration in specified path not found")
        return Reply(status=204)
    missing = [name for name in request.tenants if name not in own]
    if missing:
        raise Refused(404, f"specified Tenant(s) '{','.join(missing)}' not found in declaration")
    shown = {name: value for name, value in known.items() if name not in own or name in (request.tenants or tuple(own))}
    if request.show_hash:
        shown = with_hashes(shown)
    return Reply(document=shown)
