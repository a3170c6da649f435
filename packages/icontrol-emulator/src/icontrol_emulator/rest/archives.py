"""sys/ucs: archives of the whole configuration on the device. They live in memory as snapshots, not as files.

Fields as recorded from 14.1.2.6 in f5devcentral's VS Code extension.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.cluster import Cluster
from icontrol_emulator.config.store import Snapshot
from icontrol_emulator.device import Device

FOLDER = "/var/local/ucs"
ARCHIVES_MAX = 50
PATH = "sys/ucs"


@dataclass(frozen=True, slots=True)
class Archive:
    """A saved configuration; `objects` stands in for its size."""

    snapshot: Snapshot
    created: float
    objects: int


def run(device: Device, cluster: Cluster, body: Mapping[str, Any]) -> dict[str, Any]:
    """`save` or `load` of an archive by name."""
    command, name = body.get("command"), _file_name(str(body.get("name", "")))
    if command == "save":
        if len(device.archives) >= ARCHIVES_MAX:
            raise errors.disk_full()
        device.check_disk()
        device.archives[name] = Archive(device.engine.store.snapshot(), device.clock(), len(device.engine.store))
    elif command == "load":
        found = device.archives.get(name)
        if found is None:
            raise errors.IControlError(400, f"UCS file {name} does not exist.", errors.ICRD_ERROR)
        device.replace(found.snapshot)
    else:
        raise errors.invalid_value("command", command)
    return {"kind": f"tm:sys:ucs:{command}state", **body}


def listing(device: Device) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": "tm:sys:ucs:ucscollectionstate", "selfLink": device.renderer.link(PATH)}
    items = [_item(device, name, archive) for name, archive in sorted(device.archives.items())]
    return {**shown, "items": items} if items else shown


def _item(device: Device, name: str, archive: Archive) -> dict[str, Any]:
    created = datetime.fromtimestamp(archive.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    release = device.renderer.release
    facts = {
        "base_build": release.build, "build": release.build, "edition": release.edition, "encrypted": "no",
        "file_created_date": created, "file_size": f"{1000 * archive.objects} (in bytes)",
        "filename": f"{FOLDER}/{name}", "product": "BIG-IP", "version": release.version,
    }  # fmt: skip
    return {"kind": "tm:sys:ucs:ucsstate", "generation": 0, "apiRawValues": facts}


def _file_name(text: str) -> str:
    name = text.rpartition("/")[2]
    if not name:
        raise errors.missing_property("name")
    return name if name.endswith(".ucs") else f"{name}.ucs"
