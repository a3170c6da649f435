"""Deploys declarations: each tenant by itself, with a result for each."""

from __future__ import annotations

import base64
import copy
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from icontrol_as3 import stored
from icontrol_as3.changes import TenantConfiguration
from icontrol_as3.errors import invalid
from icontrol_as3.schema.declaration import applications, errors_of, tenants
from icontrol_as3.translate.names import BadReference, Wanted
from icontrol_as3.translate.tenant import wanted_of
from icontrol_emulator.device import Device
from icontrol_emulator.errors import IControlError
from icontrol_emulator.rest.message import Reply

LOCK_KEY = "optimisticLockKey"
STALE_KEY = (
    "The hash you submitted does not match the hash on the current Tenant. This usually indicates there was a change "
    "to the Tenant since you pulled this hash. You will want to do a GET and see what the changes are."
)
"""The message of F5Networks/f5-appsvcs-extension, `audit.js`, which clients may look for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A declaration with how it is to be deployed."""

    declaration: dict[str, Any]
    dry_run: bool = False
    persist: bool = True
    show_hash: bool = False
    user: str = "admin"

    @property
    def id(self) -> str:
        return str(self.declaration.get("id", ""))

    @property
    def full_id(self) -> str:
        label = self.declaration.get("label")
        return f"{self.id}|{label}" if label else self.id


def hash_of(tenant: Mapping[str, Any]) -> str:
    """The optimistic lock's key of a tenant: the SHA-256, in base64, of its JSON in base64 (`hashUtil.js`)."""
    content = {name: value for name, value in tenant.items() if name != LOCK_KEY}
    return base64.b64encode(hashlib.sha256(base64.b64encode(msgspec.json.encode(content))).digest()).decode()


def with_hashes(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration with the optimistic lock's key of each tenant."""
    own = tenants(declaration)
    return {name: {**value, LOCK_KEY: hash_of(value)} if name in own else value for name, value in declaration.items()}


def check(order: Order, known: Mapping[str, Any]) -> dict[str, list[Wanted]]:
    """The wanted objects of each tenant; raises `Refused` if the declaration is invalid, with all its errors."""
    found = errors_of(order.declaration)
    if found:
        raise invalid(found, order.full_id)
    # what other tenants refer to may be in the stored declaration
    whole = {**tenants(known), **order.declaration}
    wanted: dict[str, list[Wanted]] = {}
    for name in tenants(order.declaration):
        try:
            wanted[name] = wanted_of(whole, name)
        except BadReference as error:
            found.append(str(error))
    if found:
        raise invalid(found, order.full_id)
    return wanted


def deploy(device: Device, order: Order) -> Reply:
    """Deploy all tenants of a declaration, and store what became of it."""
    known = stored.load(device)
    if order.declaration.get("updateMode", "selective") == "complete":
        for name in tenants(known):
            order.declaration.setdefault(name, {"class": "Tenant"})
    wanted = check(order, known)
    results = [_deploy_tenant(device, order, name, objects, known) for name, objects in wanted.items()]
    good = [result["tenant"] for result in results if result["code"] == 200]
    merged = _merged(known, order.declaration, good)
    if not order.dry_run:
        if merged != known and good:
            stored.save(device, merged)
        if order.persist:
            device.save()
    shown = {name: value for name, value in merged.items() if name not in tenants(known) or name in good}
    document: dict[str, Any] = {"results": results, "declaration": shown}
    if order.show_hash:
        document["declaration"] = with_hashes(document["declaration"])
    if order.dry_run:
        document["dryRun"] = True
    return Reply(status=_status(len(good), len(results)), document=document)


def _status(good: int, all_of_them: int) -> int:
    if good == all_of_them:
        return 200
    return 207 if good else 422


def _deploy_tenant(
    device: Device, order: Order, tenant: str, wanted: list[Wanted], known: Mapping[str, Any]
) -> dict[str, Any]:  # fmt: skip
    started = time.monotonic()
    outcome = _outcome(device, order, tenant, wanted, known)
    return {
        **outcome, "host": "localhost", "tenant": tenant, "runTime": round((time.monotonic() - started) * 1000),
        "declarationId": order.id,
    }  # fmt: skip


def _outcome(
    device: Device, order: Order, tenant: str, wanted: list[Wanted], known: Mapping[str, Any]
) -> dict[str, Any]:  # fmt: skip
    key = order.declaration[tenant].get(LOCK_KEY)
    if key and tenant in known and key != hash_of(known[tenant]):
        return {"code": 422, "message": STALE_KEY}
    configuration = TenantConfiguration(device, tenant, order.user)
    try:
        plan = configuration.plan(wanted)
        if not plan.count:
            return {"code": 200, "message": "no change"}
        if not order.dry_run:
            configuration.carry_out(plan)
    except IControlError as error:
        return {"code": 422, "message": "declaration failed", "response": error.message}
    return {"code": 200, "message": "success", "lineCount": plan.count}


def _merged(known: Mapping[str, Any], declaration: Mapping[str, Any], good: list[str]) -> dict[str, Any]:
    """The stored declaration after a deployment: tenants that failed or were not named stay as they were."""
    given = tenants(declaration)
    merged = {name: value for name, value in declaration.items() if name not in given}
    merged |= tenants(known)
    for name in good:
        if applications(given[name]):
            merged[name] = {own: copy.deepcopy(value) for own, value in given[name].items() if own != LOCK_KEY}
        else:
            merged.pop(name, None)
    return merged
