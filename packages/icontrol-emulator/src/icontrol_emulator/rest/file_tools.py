"""unix-ls, unix-mv and unix-rm, for uploaded files.

Files are identified by the last segment of their path: there is only the upload directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.cluster import Cluster
from icontrol_emulator.device import Device
from icontrol_emulator.uploads import FOLDER


def ls(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    paths = _paths("unix-ls", body) or [FOLDER]
    return _answer("unix-ls", body, "".join(_listed(device, path) for path in paths))


def _listed(device: Device, path: str) -> str:
    if path.rstrip("/") == FOLDER:
        return "".join(f"{name}\n" for name in sorted(device.uploads.files))
    if _name(path) in device.uploads.files:
        return f"{path}\n"
    return f"/bin/ls: cannot access {path}: No such file or directory\n"


def mv(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    paths = _paths("unix-mv", body)
    if len(paths) < 2:
        shown = f" after `{paths[0]}'" if paths else ""
        return _answer("unix-mv", body, f"/bin/mv: missing destination file operand{shown}\n")
    source, target = paths[:2]
    content = device.uploads.files.pop(_name(source), None)
    if content is None:
        return _answer("unix-mv", body, f"/bin/mv: cannot stat `{source}': No such file or directory\n")
    device.uploads.files[_name(target) or _name(source)] = content
    return _answer("unix-mv", body, "")


def rm(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    for path in _paths("unix-rm", body):
        device.uploads.files.pop(_name(path), None)
    return _answer("unix-rm", body, "")


def _paths(tool: str, body: Mapping[str, Any]) -> list[str]:
    words = str(body.get("utilCmdArgs", "")).split()
    options = [word for word in words if word.startswith("-") and not word.lstrip("-").isalpha()]
    if options:
        text = f"{tool} does not support '{options[0]}'"
        raise errors.IControlError(400, text, errors.INVALID_VALUE_ERROR)
    return [word for word in words if not word.startswith("-")]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _answer(tool: str, body: Mapping[str, Any], result: str) -> dict[str, Any]:
    answer = {"kind": f"tm:util:{tool}:runstate", **body}
    return {**answer, "commandResult": result} if result else answer
