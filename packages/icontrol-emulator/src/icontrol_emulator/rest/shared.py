"""/mgmt/shared: logins, tokens, uploads and the readiness URIs of restjavad's workers."""

from __future__ import annotations

import hmac
import re
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.device import Device
from icontrol_emulator.errors import RestError
from icontrol_emulator.rest import package_tasks, tokens
from icontrol_emulator.rest.message import Call, Reply
from icontrol_emulator.uploads import CHUNK_BYTES_MAX, FOLDER, UNFINISHED

_BASE = "https://localhost/mgmt/shared"
DOWNLOADS = frozenset({"downloads", "bulk", "madm"})
"""Workers that hand files out. Here all have those that were uploaded, because folders are not distinguished."""
PROVIDER_ID = "1f44a60e-11a7-3c51-a49f-82983026b41b"
"""Id of the provider of local users, the same on all devices, as logins answer it."""
LOGIN = "/mgmt/shared/authn/login"
_RANGE = re.compile(r"(?:bytes[ =])?\s*(\d{1,12})-(\d{1,12})/(\d{1,12})")


def check_password(device: Device, user: str, password: str) -> bool:
    known = device.password_of(user)
    return known is not None and hmac.compare_digest(known.encode(), password.encode())


def login(device: Device, call: Call) -> Reply:
    user, password = str(call.body.get("username", "")), str(call.body.get("password", ""))
    if not user or not check_password(device, user, password):
        raise RestError(401, "Authentication failed.")
    token = device.tokens.issue(user, call.peer)
    document = {
        "username": user,
        "loginReference": {"link": f"https://localhost/mgmt/cm/system/authn/providers/tmos/{PROVIDER_ID}/login"},
        "loginProviderName": str(call.body.get("loginProviderName", "tmos")),
        "token": tokens.show(token),
        "generation": 0,
        "lastUpdateMicros": 0,
    }
    return Reply(document=document)


def login_providers(device: Device, rest: list[str]) -> Reply:
    """The provider of local users, with the id that all devices have, and its users."""
    link = f"https://localhost/mgmt/cm/system/authn/providers/tmos/{PROVIDER_ID}"
    if rest not in ([], [PROVIDER_ID], [PROVIDER_ID, "users"]):
        raise errors.uri_not_registered(f"/cm/system/authn/providers/tmos/{'/'.join(rest)}")
    if rest[1:] == ["users"]:
        items = [{**_user(device, name), "selfLink": f"{link}/users/{name}"} for name in device.objects("auth/user")]
        kind = "cm:system:authn:providers:tmos:users:userscollectionstate"
        return Reply(document={"items": items, "generation": 1, "kind": kind, "selfLink": f"{link}/users"})
    provider = {
        "id": PROVIDER_ID, "name": "tmos", "generation": 1,
        "kind": "cm:system:authn:providers:tmos:tmosauthproviderstate", "selfLink": link,
        "loginReference": {"link": f"{link}/login"},
        "userCollectionReference": {"link": f"{link}/users"},
    }  # fmt: skip
    if rest:
        return Reply(document=provider)
    kind = "cm:system:authn:providers:tmos:tmosauthprovidercollectionstate"
    return Reply(document={"items": [provider], "generation": 1, "kind": kind, "selfLink": link.rpartition("/")[0]})


def handle(device: Device, call: Call) -> Reply:
    """Handle everything below /mgmt/shared except the login itself."""
    rest = call.segments[1:]
    if rest[-1:] == ["available"]:
        return Reply(document={})
    if rest[:2] == ["authz", "tokens"]:
        return _tokens(device, call, rest[2:])
    if rest[:2] == ["authz", "users"] and call.method == "GET" and len(rest) <= 3:
        return Reply(document=_user(device, rest[2]) if len(rest) == 3 else _users(device))
    if rest[:1] == ["file-transfer"] and rest[1:2] and rest[1] in DOWNLOADS and len(rest) == 3 and call.method == "GET":
        return _download(device, call, rest[2])
    if rest[:2] == package_tasks.PATH:
        return package_tasks.handle(device, call, rest[2:])
    if rest == ["echo-query"] or rest[:1] == ["echo"]:
        return Reply(document={"stage": "STARTED", "kind": "shared:echo:echoworkerstate"})
    if rest[:2] == ["file-transfer", "uploads"] and len(rest) == 3 and call.method == "POST":
        return _upload(device, call, rest[2])
    if rest[:3] == ["identified-devices", "config", "device-info"]:
        return Reply(document=_device_info(device))
    raise errors.uri_not_registered(call.path.removeprefix("/mgmt"))


def _tokens(device: Device, call: Call, rest: list[str]) -> Reply:
    if not rest:
        if call.method == "DELETE":
            device.tokens.end_all(call.user)
        mine = [tokens.show(token) for token in device.tokens.of(call.user)]
        link = "https://localhost/mgmt/shared/authz/tokens"
        kind = "shared:authz:tokens:authtokencollectionstate"
        return Reply(document={"items": mine, "generation": 1, "kind": kind, "selfLink": link})
    if device.tokens.get(rest[0]).user != call.user and call.user != "admin":
        raise RestError(404, f"URI path {call.path} not found.")
    if call.method == "PATCH":
        return Reply(document=tokens.show(device.tokens.prolong(rest[0], call.body.get("timeout"))))
    if call.method == "DELETE":
        return Reply(document=tokens.show(device.tokens.end(rest[0])))
    return Reply(document=tokens.show(device.tokens.get(rest[0])))


def _upload(device: Device, call: Call, name: str) -> Reply:
    match = _RANGE.fullmatch(call.headers.get("Content-Range", "").strip())
    if match is None:
        raise RestError(400, "Content-Range header is missing or invalid")
    start, end, total = map(int, match.groups())
    part = device.uploads.add(name, call.raw, start, end, total)
    document: dict[str, Any] = {
        "remainingByteCount": part.missing, "usedChunks": part.used, "totalByteCount": total,
        "localFilePath": f"{FOLDER}/{name}", "temporaryFilePath": f"{UNFINISHED}/{name}", "generation": 0,
        "lastUpdateMicros": int(device.clock() * 1_000_000),
    }  # fmt: skip
    return Reply(document=document)


def _user(device: Device, name: str) -> dict[str, Any]:
    if device.password_of(name) is None:
        raise RestError(404, f"URI path /mgmt/shared/authz/users/{name} not found.")
    return {
        "name": name, "displayName": name, "shell": "none", "generation": 1,
        "kind": "shared:authz:users:usersworkerstate", "selfLink": f"{_BASE}/authz/users/{name}",
    }  # fmt: skip


def _users(device: Device) -> dict[str, Any]:
    items = [_user(device, name) for name in device.objects("auth/user")]
    kind = "shared:authz:users:userscollectionstate"
    return {"items": items, "generation": 1, "kind": kind, "selfLink": f"{_BASE}/authz/users"}


def _download(device: Device, call: Call, name: str) -> Reply:
    """A part of an uploaded file, at most a chunk. The client names the range in its request; the total may be 0."""
    content = device.uploads.files.get(name)
    if content is None:
        raise RestError(404, f"File {FOLDER}/{name} does not exist.")
    match = _RANGE.fullmatch(call.headers.get("Content-Range", "").strip())
    start, end = (int(match[1]), int(match[2])) if match else (0, CHUNK_BYTES_MAX - 1)
    end = min(end, len(content) - 1, start + CHUNK_BYTES_MAX - 1)
    if start > end:
        raise RestError(400, f"Invalid Content-Range {start}-{end}/{len(content)}")
    return Reply(content=content[start : end + 1], content_range=f"{start}-{end}/{len(content)}")


def _device_info(device: Device) -> dict[str, Any]:
    release = device.renderer.release
    return {
        "hostname": f"{device.name}.localdomain", "machineId": device.serial, "product": "BIG-IP",
        "version": release.version, "build": release.build, "edition": release.edition,
        "platformMarketingName": "BIG-IP Virtual Edition", "managementAddress": "127.0.0.1",
        "kind": "shared:resolver:device-groups:deviceinfostate",
        "selfLink": "https://localhost/mgmt/shared/identified-devices/config/device-info", "generation": 0,
    }  # fmt: skip
