"""Commands: save and load, failover, config-sync, bash, and their asynchronous forms."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from icontrol_emulator import errors, trust
from icontrol_emulator.cluster import Cluster
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.names import split_path
from icontrol_emulator.device import OFFLINE, STANDBY, Device, Task
from icontrol_emulator.rest import archives, bash, file_tools
from icontrol_emulator.rest.message import Call, Reply
from icontrol_emulator.uploads import FOLDER, name_of

TASKS_MAX = 200
Command = Callable[[Device, Cluster, Mapping[str, Any]], dict[str, Any]]


def _config(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    command = body.get("command")
    to_file = any("file" in option for option in body.get("options") or () if isinstance(option, Mapping))
    if command == "save":
        if not to_file:
            device.save()
    elif command == "load":
        if not body.get("options"):
            device.load(device.saved)
    else:
        raise errors.invalid_value("command", command)
    return {"kind": f"tm:sys:config:{command}state", **body}


def _failover(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    words = str(body.get("utilCmdArgs", "")).split()
    wants = {word for word in ("standby", "offline", "online") if body.get(word) or word in words}
    if "standby" in wants and len(wants) > 1:
        raise errors.configuration_error("standby may not be specified with offline or online")
    if "standby" in wants:
        cluster.stand_by(device.name, STANDBY, _traffic_group(body, words))
    elif "offline" in wants:
        cluster.stand_by(device.name, OFFLINE)
        device.forced_offline = True
    elif "online" in wants:
        cluster.come_back(device.name)
    return {"kind": "tm:sys:failover:runstate", **body}


def _traffic_group(body: Mapping[str, Any], words: list[str]) -> str:
    """The full path of the traffic group that a failover is about; empty: all."""
    name = str(body.get("traffic-group") or body.get("trafficGroup") or "")
    if "traffic-group" in words[:-1]:
        name = words[words.index("traffic-group") + 1]
    return name if not name or name.startswith("/") else f"/Common/{name}"


def _cm(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    words = str(body.get("utilCmdArgs", "")).split()
    if words[:1] != ["config-sync"]:
        raise errors.invalid_value("utilCmdArgs", body.get("utilCmdArgs"))
    cluster.sync_of(device.name).command(device.name, words[1:])
    return {"kind": "tm:cm:runstate", **body}


def _config_sync_task(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    words = str(body.get("utilCmdArgs", "")).split()
    cluster.sync_of(device.name).command(device.name, words)
    return {"kind": "tm:cm:config-sync:runstate", **body}


def _bash(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    try:
        words = shlex.split(str(body.get("utilCmdArgs", "")))
    except ValueError as error:
        raise errors.IControlError(400, "quotes are not balanced", errors.INVALID_VALUE_ERROR) from error
    result = bash.script(words[1], _Host(device)) if words[:1] == ["-c"] and len(words) > 1 else ""
    answer = {"kind": "tm:util:bash:runstate", **body}
    return {**answer, "commandResult": result} if result else answer


class _Host:
    """A device as its shell shows it: uploaded files, and the version."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def tmsh(self, words: list[str]) -> str:
        return _tmsh(self._device, words)

    def read(self, path: str) -> str | None:
        release = self._device.renderer.release
        if path == "/VERSION":
            return f"Product: BIG-IP\nVersion: {release.version}\nBuild: {release.build}\n"
        content = self._device.uploads.files.get(name_of(path)) if path.startswith(f"{FOLDER}/") else None
        return None if content is None else content.decode(errors="replace")

    def uptime(self) -> str:
        now = datetime.fromtimestamp(self._device.clock(), UTC)
        return f" {now:%H:%M:%S} up 1 day,  2:03,  1 user,  load average: 0.10, 0.08, 0.05\n"


def _tmsh(device: Device, words: list[str]) -> str:
    """`save sys config` and `load sys config`, also inside `-c`; `show sys version`; other commands have no output and
    no effect."""
    given = [word for word in words if word in ("-c", "-q", "-a") or not word.startswith("-")]
    if "-c" in given:
        given = " ".join(given[given.index("-c") + 1 :]).split()
    given = [word for word in given if word not in ("-q", "-a")]
    verb, *what = given or [""]
    if verb == "show" and [word.lstrip("/") for word in what[:2]] == ["sys", "version"]:
        return _version(device)
    if verb == "modify" and [word.lstrip("/") for word in what[:3]] == ["ltm", "monitor", "external"]:
        return _set_variables(device, what[3:])
    if [word.lstrip("/") for word in what[:2]] != ["sys", "config"]:
        return ""
    options = set(what[2:])
    if verb == "save" and "file" not in options:
        try:
            device.save()
        except errors.IControlError as error:
            return f"{error.message}\n"
        return "Saving running configuration...\n  /config/bigip.conf\n  /config/bigip_base.conf\n"
    if verb == "load" and not options & {"file", "merge", "verify", "default"}:
        device.load(device.saved)
        return "Loading system configuration...\n"
    return ""


def _version(device: Device) -> str:
    """The output of `show sys version`; its layout is from memory."""
    release = device.renderer.release
    facts = {
        "Product": "BIG-IP", "Version": release.version, "Build": release.build, "Edition": release.edition,
        "Date": release.date,
    }  # fmt: skip
    lines = "".join(f"  {name:<11} {value}\n" for name, value in facts.items())
    return f"\nSys::Version\nMain Package\n{lines}\n"


def _set_variables(device: Device, words: list[str]) -> str:
    """`NAME user-defined KEY VALUE …`: the variables of an external monitor, which REST itself cannot set."""
    key = Key("ltm/monitor/external", "", split_path(words[0]).full) if words else Key("", "", "")
    monitor = device.engine.store.get(key)
    if monitor is None:
        return f"01020036:3: The requested monitor ({key.path}) was not found.\n"
    variables = dict(monitor.props.get("apiRawValues", {}))
    rest = words[1:]
    while len(rest) >= 2 and rest[0] == "user-defined":
        name, value = rest[1], rest[2] if len(rest) > 2 else "none"
        variables.pop(f"userDefined {name}", None)
        if value != "none":
            variables[f"userDefined {name}"] = value
        rest = rest[3:]
    with device.engine.unit():
        device.engine.modify(key, {"apiRawValues": variables})
    return ""


def _run_dig(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    """A query to a name server that does not answer: the emulator sends none."""
    result = "\n;; connection timed out; no servers could be reached\n"
    return {"kind": "tm:util:dig:runstate", **body, "commandResult": result}


COMMANDS: dict[str, Command] = {
    "sys/config": _config,
    "sys/failover": _failover,
    "cm": _cm,
    "cm/config-sync": _config_sync_task,
    "cm/add-to-trust": trust.add,
    "cm/remove-from-trust": trust.remove,
    archives.PATH: archives.run,
    "util/bash": _bash,
    "util/dig": _run_dig,
    "util/unix-ls": file_tools.ls,
    "util/unix-mv": file_tools.mv,
    "util/unix-rm": file_tools.rm,
}


def run(device: Device, cluster: Cluster, path: str, call: Call) -> Reply:
    return Reply(document=COMMANDS[path](device, cluster, call.body))


def task(device: Device, cluster: Cluster, call: Call) -> Reply:
    """/mgmt/tm/task/<command>[/ID[/result]]: created, started by PUT, finished when read."""
    rest = call.segments[2:]
    name = "/".join(rest)
    if name in COMMANDS and call.method == "POST":
        while len(device.tasks) >= TASKS_MAX:
            del device.tasks[next(iter(device.tasks))]
        number = int(device.clock() * 1000) + len(device.tasks)
        device.tasks[number] = Task(number, name, dict(call.body))
        return Reply(document=_show_task(device, device.tasks[number]))
    number_text = rest[-2] if rest[-1:] == ["result"] and len(rest) > 1 else rest[-1] if rest else ""
    found = device.tasks.get(int(number_text)) if number_text.isdigit() else None
    if found is None:
        raise errors.not_found("task", number_text)
    if call.method == "PUT" and call.body.get("_taskState") == "VALIDATING":
        _run_task(device, cluster, found)
        return Reply(status=202, document={"_taskId": found.id, "message": "Task will execute asynchronously."})
    if call.method == "DELETE":
        del device.tasks[found.id]
        return Reply()
    return Reply(document=_show_task(device, found))


def _run_task(device: Device, cluster: Cluster, found: Task) -> None:
    try:
        COMMANDS[found.path](device, cluster, found.body)
        found.state = "COMPLETED"
    except errors.IControlError:
        found.state = "FAILED"


def _show_task(device: Device, found: Task) -> dict[str, Any]:
    link = device.renderer.link(f"task/{found.path}/{found.id}")
    own = {"_taskId": found.id, "_taskState": found.state, "selfLink": link}
    return {"kind": f"tm:{found.path.replace('/', ':')}:taskstate", **found.body, **own}
