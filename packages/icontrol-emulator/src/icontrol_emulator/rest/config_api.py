"""Reading and writing configuration objects below /mgmt/tm."""

from __future__ import annotations

from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.render import item_uri
from icontrol_emulator.config.schema import Scope, TypeSpec
from icontrol_emulator.device import Device
from icontrol_emulator.rest.changes import CRYPTO, apply_change, route_of
from icontrol_emulator.rest.crypto_view import crypto_item
from icontrol_emulator.rest.message import Call, Query, Reply
from icontrol_emulator.rest.route import Route

NESTED_NOT_FOUND = frozenset(
    {"ltm/pool/members", "ltm/virtual/profiles", "ltm/virtual/policies", "ltm/policy/rules",
     "ltm/policy/rules/actions", "ltm/policy/rules/conditions"}
)  # fmt: skip


def read(device: Device, call: Call, route: Route) -> Reply:
    if route.suffix == "available":
        return Reply(document={})
    if route.suffix == "example":
        return Reply(document=_example(device, route))
    if route.key is None:
        return Reply(document=read_collection(device, route, call.query))
    obj = find(device, route.key)
    return Reply(document=_selected(_item(device, route, obj, call.query, call.query.extra), call.query))


def _item(device: Device, route: Route, obj: Obj, query: Query, extra: str = "") -> dict[str, Any]:
    if route.spec.path in CRYPTO:
        return crypto_item(device, obj, extra)
    return device.renderer.item(obj, expand=query.expand, extra_query=extra)


def write(device: Device, call: Call) -> Reply:
    """One write outside a transaction, in its own unit of work."""
    route = route_of(device, call)
    if route.key is not None:
        find(device, route.key)
    with device.engine.unit():
        key = apply_change(device, call)
    obj = device.engine.store.get(key) if key is not None else None
    if obj is None:
        return _echo(route, call)
    return Reply(document=device.renderer.item(obj, extra_query=call.query.extra))


def _echo(route: Route, call: Call) -> Reply:
    """Responses to deletions are empty; commands return their own body."""
    if call.method == "DELETE":
        return Reply()
    command = str(call.body.get("command", "run"))
    return Reply(document={"kind": f"tm:{route.spec.path.replace('/', ':')}:{command}state", **call.body})


def find(device: Device, key: Key) -> Obj:
    """The object, or the 404 of an item addressed directly."""
    store = device.engine.store
    if key.type in CRYPTO:
        key = Key(CRYPTO[key.type], "", key.path)
    obj = store.get(key)
    if obj is not None:
        return obj
    owner = key.owner
    if owner is not None and store.get(owner) is None:
        raise device.engine.absent(owner)
    if key.type in NESTED_NOT_FOUND:
        raise errors.object_not_found(key.path)
    raise device.engine.absent(key)


def read_collection(device: Device, route: Route, query: Query) -> dict[str, Any]:
    objects = _listed(device, route, query)
    uri = f"{item_uri(route.parent)}/{route.spec.segment}" if route.parent else route.spec.path
    page = objects[query.skip : query.skip + query.top] if query.top is not None else objects[query.skip :]
    items = [_selected(_item(device, route, obj, query), query) for obj in page]
    shown = device.renderer.collection(route.spec.path, uri, items, query.extra)
    if query.top is not None:
        _count(device, shown, uri, query, len(objects), len(page))
    return shown


def _listed(device: Device, route: Route, query: Query) -> list[Obj]:
    spec = route.spec
    type_path = CRYPTO.get(spec.path, spec.path)
    if route.parent is not None:
        find(device, route.parent)
        objects = device.engine.store.children(type_path, route.parent.as_parent)
        return [obj for obj in objects if query.partition in (None, obj.partition)]
    if query.partition is not None and spec.scope is Scope.PARTITIONED:
        return device.engine.store.top(type_path, query.partition)
    return device.engine.store.top(type_path)


def _count(device: Device, shown: dict[str, Any], uri: str, query: Query, total: int, here: int) -> None:
    """A page contains its number. Unlike a whole collection, one without objects has `items`: `bigip_device_info` of
    F5's `f5_modules` 1.32 reads pages until it gets an empty list.
    """
    top = query.top or 1
    shown.setdefault("items", [])
    shown |= {
        "currentItemCount": here,
        "itemsPerPage": top,
        "pageIndex": query.skip // top + 1,
        "startIndex": query.skip + 1,
        "totalItems": total,
        "totalPages": -(-total // top),
    }
    if query.skip + here < total and here:
        paging = f"$top={top}&$skip={query.skip + here}"
        shown["nextLink"] = device.renderer.link(uri, f"{query.base}&{paging}" if query.base else paging)


def _selected(shown: dict[str, Any], query: Query) -> dict[str, Any]:
    if not query.select:
        return shown
    return {name: value for name, value in shown.items() if name in query.select}


def _example(device: Device, route: Route) -> dict[str, Any]:
    spec: TypeSpec = route.spec
    template = {"name": "", **spec.defaults, "propertyDescriptions": {}}
    uri = f"{spec.path}/example"
    return {
        "kind": f"{spec.kind}collectionstate",
        "selfLink": device.renderer.link(uri),
        "items": [template],
    }
