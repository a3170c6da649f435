"""Makes a tenant's configuration what its declaration says, by the writes of the device's own REST API.

First all writes are tried in a unit of work that is undone: this finds what differs, and what the device refuses. Then
those that change something are carried out in one unit of work. Monitors and policies are deleted in a second one: a
device does not delete what the same transaction detaches (F5Networks/f5-appsvcs-extension issues 2, 15 and 110).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from icontrol_as3.translate.names import COMMON, Wanted
from icontrol_as3.translate.tenant import FOLDER, PARTITION
from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.names import split_path, to_segment
from icontrol_emulator.device import Device
from icontrol_emulator.rest.changes import apply_change
from icontrol_emulator.rest.message import Call
from icontrol_emulator.uploads import FOLDER as UPLOADS

POLICY = "ltm/policy"
_VOLATILE = frozenset(
    {"_created", "_created_by", "_index", "_modified", "_revision", "_updated", "_updated_by", "sourcePath"}
)
"""Properties that each write changes."""
_MANAGED_PREFIXES = ("ltm/profile/", "ltm/persistence/", "ltm/monitor/", "ltm/cipher/")
_MANAGED = frozenset(
    {"ltm/virtual", "ltm/virtual-address", "ltm/pool", "ltm/node", POLICY, "ltm/rule", "ltm/data-group/internal",
     "ltm/snatpool", "ltm/snat-translation", "sys/file/ssl-cert", "sys/file/ssl-key"}
)  # fmt: skip
"""Types whose objects in a tenant's partition are deleted unless its declaration has them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes that make the configuration what is wanted."""

    writes: tuple[Wanted, ...]
    deletions: tuple[Key, ...]
    late: tuple[Key, ...]
    """Deletions that need a transaction of their own, after the others."""

    @property
    def count(self) -> int:
        return len(self.writes) + len(self.deletions) + len(self.late)


class TenantConfiguration:
    """One tenant's configuration on one device."""

    def __init__(self, device: Device, tenant: str, user: str) -> None:
        self._device = device
        self._store = device.engine.store
        self._tenant = tenant
        self._user = user

    def plan(self, wanted: list[Wanted]) -> Plan:
        """Find what differs; raises `IControlError` for what the device refuses. The configuration is not changed."""
        with self._files(wanted), self._device.engine.unit(keep=False):
            # files and addresses come before what uses them, so that no object is created on the way
            writes = tuple(each for each in wanted if self._changes(each))
            unwanted = self._unwanted(wanted)
            late = frozenset(key for key in unwanted if wanted and _is_late(key))
            deletions = tuple(key for key in unwanted if key not in late and self._delete(key))
        return Plan(writes, deletions, tuple(key for key in unwanted if key in late))

    def carry_out(self, plan: Plan) -> None:
        if plan.writes or plan.deletions:
            with self._files(plan.writes), self._device.engine.unit():
                for each in plan.writes:
                    self._write(each)
                for key in plan.deletions:
                    self._delete(key)
        if plan.late:
            with self._device.engine.unit():
                for key in plan.late:
                    self._delete(key)

    # -- differences

    def _changes(self, wanted: Wanted) -> bool:
        key = _key(wanted)
        before = self._state(key)
        self._write(wanted)
        return bool(before != self._state(key))

    def _state(self, key: Key) -> Any:
        obj = self._store.get(key)
        return None if obj is None else self._tree(obj)

    def _tree(self, obj: Obj) -> tuple[Mapping[str, Any], list[Any]]:
        spec = self._device.engine.spec(obj.key.type)
        below = [
            (child.key.path, sub, self._tree(child))
            for sub in spec.subs
            for child in self._store.children(f"{spec.path}/{sub}", obj.key.as_parent)
        ]
        return {name: value for name, value in obj.props.items() if name not in _VOLATILE}, below

    def _unwanted(self, wanted: list[Wanted]) -> list[Key]:
        """The tenant's objects that its declaration does not have, those that use others first."""
        kept = {_key(each) for each in wanted}
        found = [key for key in self._managed_keys() if key not in kept]
        found.sort(key=lambda key: (key.type != "ltm/virtual", key.type != "ltm/pool", -key.path.count("/")))
        folders = sorted((key for key in self._folders() if key not in kept), key=lambda key: -key.path.count("/"))
        found += folders
        partition = Key(PARTITION, "", self._tenant)
        if not wanted and self._tenant != COMMON and self._store.get(partition) is not None:
            found.append(partition)
        return found

    def _managed_keys(self) -> Iterator[Key]:
        for type_path in (spec.path for spec in self._device.engine.registry):
            if type_path in _MANAGED or type_path.startswith(_MANAGED_PREFIXES):
                for obj in self._store.top(type_path, self._tenant):
                    if self._tenant != COMMON or obj.sub_path.split("/")[0] == "Shared":
                        yield obj.key

    def _folders(self) -> Iterator[Key]:
        for obj in self._store.top(FOLDER):
            path = f"{obj.key.path}/"
            inside = path.startswith(f"/{self._tenant}/") and path != f"/{self._tenant}/"
            if inside and (self._tenant != COMMON or path.startswith("/Common/Shared/")):
                yield obj.key

    # -- writes

    def _write(self, wanted: Wanted) -> None:
        exists = self._store.get(_key(wanted)) is not None
        if wanted.kept and exists:
            return
        if wanted.type == POLICY:
            self._write_policy(wanted, exists=exists)
            return
        body = dict(wanted.body)
        if wanted.text is not None:
            body["sourcePath"] = f"file:{UPLOADS}/{_file_name(wanted)}"
        self._send(wanted.type, wanted.path, body, exists=exists)

    def _write_policy(self, wanted: Wanted, *, exists: bool) -> None:
        """Edit a draft and publish it."""
        parts = split_path(wanted.path)
        draft = f"{parts.folder}/Drafts/{parts.name}"
        if exists:
            self._call("PATCH", f"{POLICY}/{to_segment(wanted.path)}", {"createDraft": True})
        self._send(POLICY, draft, wanted.body, exists=exists)
        self._call("POST", POLICY, {"command": "publish", "name": draft})

    def _send(self, type_path: str, path: str, body: Mapping[str, Any], *, exists: bool) -> None:
        if exists:
            self._call("PUT", f"{type_path}/{to_segment(path)}", body)
        else:
            self._call("POST", type_path, {"name": path, **body})

    def _call(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        apply_change(self._device, Call(method=method, path=f"/mgmt/tm/{path}", body=body, user=self._user))

    def _delete(self, key: Key) -> bool:
        """Delete an object unless it has gone with another one."""
        if self._store.get(key) is None:
            return False
        self._call("DELETE", f"{key.type}/{to_segment(key.path)}", {})
        return True

    @contextmanager
    def _files(self, wanted: Iterable[Wanted]) -> Iterator[None]:
        """Upload the files for as long as they are read."""
        files = self._device.uploads.files
        names = {_file_name(each): each.text.encode() for each in wanted if each.text is not None}
        files.update(names)
        try:
            yield
        finally:
            for name in names:
                files.pop(name, None)


def _is_late(key: Key) -> bool:
    return key.type.startswith("ltm/monitor/") or key.type in (POLICY, FOLDER)


def _file_name(wanted: Wanted) -> str:
    return wanted.path.replace("/", "_")


def _key(wanted: Wanted) -> Key:
    return Key(wanted.type, "", wanted.path)
