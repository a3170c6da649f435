"""One write, applied inside the caller's unit of work. Used by direct writes and commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.rules.data_groups import edited
from icontrol_emulator.config.rules.files import CERT, KEY, Content, FileRules
from icontrol_emulator.config.rules.policy import publish
from icontrol_emulator.config.schema import Scope
from icontrol_emulator.device import Device
from icontrol_emulator.rest.message import Call
from icontrol_emulator.rest.route import Route, resolve
from icontrol_emulator.uploads import name_of

CRYPTO = {"sys/crypto/cert": CERT, "sys/crypto/key": KEY}


def route_of(device: Device, call: Call) -> Route:
    route = resolve(device.engine.registry, call.segments[1:])
    if route is None:
        raise errors.uri_not_registered(call.path.removeprefix("/mgmt"))
    return route


def apply_change(device: Device, call: Call) -> Key | None:
    """Apply the write; returns the key of the object to show, or None if the response has no object."""
    route = route_of(device, call)
    if route.suffix:
        raise errors.IControlError(405, f"Operation is not supported on {call.path}.", errors.ICRD_ERROR)
    if route.key is None:
        if call.method != "POST":
            raise errors.IControlError(405, "Operation is not supported on a collection.", errors.ICRD_ERROR)
        return _post(device, route, call)
    if call.method == "DELETE":
        _delete(device, route)
        return None
    body = _with_text(device, route, _with_options(device, route, call), call.user)
    if call.method == "PATCH":
        return device.engine.modify(route.key, body).key
    if call.method == "PUT":
        return device.engine.replace(route.key, body).key
    raise errors.IControlError(405, "POST is not supported on an item.", errors.ICRD_ERROR)


def _post(device: Device, route: Route, call: Call) -> Key | None:
    spec = route.spec
    if "command" in call.body:
        return _command(device, route, call)
    if not spec.creatable or spec.scope is Scope.SINGLE:
        raise errors.configuration_error(f"{spec.word} objects may not be created")
    body = _with_text(device, route, call.body, call.user)
    return device.engine.create(spec.path, route.parent, body).key


def _delete(device: Device, route: Route) -> None:
    if route.key is None or route.spec.scope is Scope.SINGLE:
        raise errors.IControlError(405, "DELETE is not supported here.", errors.ICRD_ERROR)
    key = route.key
    if route.spec.path in CRYPTO:
        key = Key(CRYPTO[route.spec.path], "", key.path)
    device.engine.delete(key)


def _command(device: Device, route: Route, call: Call) -> Key | None:
    body = call.body
    command = body.get("command")
    if route.spec.path == "ltm/policy" and command == "publish":
        publish(device.engine, str(body.get("name")))
        return None
    if route.spec.path in CRYPTO and command == "install":
        return _install_file(device, CRYPTO[route.spec.path], body, call.user)
    raise errors.invalid_value("command", command)


def _install_file(device: Device, type_path: str, body: Mapping[str, Any], user: str) -> Key:
    name = str(body.get("name", ""))
    source = str(body.get("from-local-file") or body.get("fromLocalFile") or "")
    given: dict[str, Any] = {"sourcePath": f"file:{source}", "content": _content(device, source, user)}
    if body.get("passphrase") and type_path == KEY:
        given["passphrase"] = body["passphrase"]
    key = Key(type_path, "", name if name.startswith("/") else f"/{body.get('partition', 'Common')}/{name}")
    if device.engine.store.get(key) is not None:
        return device.engine.modify(key, given).key
    return device.engine.create(type_path, None, {"name": key.path, **given}).key


def _content(device: Device, path: str, user: str) -> Content:
    """The content of an uploaded file."""
    content = device.uploads.files.get(name_of(path))
    if content is None:
        raise errors.mcpd(400, "01070712", f"Caught configuration exception (0), Failed! source file {path} not found.")
    return Content(content.decode(errors="replace"), user)


def _with_text(device: Device, route: Route, body: Mapping[str, Any], user: str) -> Mapping[str, Any]:
    """Resolve the upload from which a certificate, key or revocation list is created.

    In a transaction, this happens at the commit. A file object sent back as it was read keeps its content.
    """
    if not isinstance(route.spec.rules, FileRules):
        return body
    own = {name: value for name, value in body.items() if name != "content"}
    source = body.get("sourcePath") or body.get("source-path")
    if not isinstance(source, str):
        return own
    existing = device.engine.store.get(route.key) if route.key else None
    uploaded = name_of(source) in device.uploads.files
    if existing is not None and source == existing.props.get("sourcePath") and not uploaded:
        return own
    return {**own, "content": _content(device, source, user)}


DATA_GROUP = "ltm/data-group/internal"


def _with_options(device: Device, route: Route, call: Call) -> Mapping[str, Any]:
    """The value of `?options=` is tmsh's: `records add { k { data v } }` edits single records of a data group,
    `create-draft` copies a published policy, as clouddocs.f5.com's page of `ltm policy` says.
    """
    text = call.query.options.strip()
    if not text or route.key is None:
        return call.body
    if route.spec.path == "ltm/policy" and text == "create-draft":
        return {**call.body, "createDraft": True}
    if route.spec.path != DATA_GROUP:
        raise errors.IControlError(400, f'"{text[:200]}" unexpected argument', errors.INVALID_VALUE_ERROR)
    return {**call.body, "records": edited(text, device.engine.require(route.key))}
