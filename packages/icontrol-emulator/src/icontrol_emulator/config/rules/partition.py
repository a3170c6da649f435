"""Partitions and folders: two views of one tree, deletable only when empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.schema import Context, TypeRules
from icontrol_emulator.config.store import Store
from icontrol_emulator.errors import IControlError

FOLDER = "sys/folder"
INHERITED = {"deviceGroup": "inheritedDevicegroup", "trafficGroup": "inheritedTrafficGroup"}
DEFAULTS = {"deviceGroup": "none", "trafficGroup": "/Common/traffic-group-1"}
PARTITION = "auth/partition"


def folder_key(path: str) -> Key:
    return Key(FOLDER, "", path)


def partition_key(name: str) -> Key:
    return Key(PARTITION, "", name)


def _not_empty(name: str) -> IControlError:
    text = f"You must remove all objects from a partition before removing the partition ({name}), type ID (4032)"
    return errors.mcpd(400, "0107082a", text)


class PartitionRules(TypeRules):
    def after_put(self, ctx: Context, obj: Obj, old: Obj | None, named: frozenset[str]) -> None:
        if old is None and ctx.store.get(folder_key(f"/{obj.name}")) is None:
            ctx.create(FOLDER, None, {"name": obj.name, "partition": "/"})

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        if ctx.store.get(folder_key(f"/{obj.name}")) is not None:
            ctx.delete(folder_key(f"/{obj.name}"))

    def deletable(self, ctx: Context, obj: Obj) -> None:
        if obj.name == "Common":
            raise errors.mcpd(400, "01070829", "The Common partition may not be deleted.")


class FolderRules(TypeRules):
    def name(self, ctx: Context, parent: Obj | None, body: dict[str, Any]) -> None:
        own = str(body.get("name", "")).strip("/")
        if "/" in (body.get("partition"), body.get("subPath")) and body.get("partition") in (None, "", "/", own):
            body["name"] = f"/{own}"
            body.pop("partition", None)
            body.pop("subPath", None)

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        before = old.props if old is not None else {}
        for name, inherited in INHERITED.items():
            if name in props and props[name] != before.get(name) and props.get(inherited) == before.get(inherited):
                props[inherited] = "false"

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        above = obj.key.path.rpartition("/")[0]
        return [Target(FOLDER, above)] if above else []

    def after_put(self, ctx: Context, obj: Obj, old: Obj | None, named: frozenset[str]) -> None:
        is_top = not obj.partition and obj.key.path != "/"
        if is_top and ctx.store.get(partition_key(obj.name)) is None:
            ctx.create(PARTITION, None, {"name": obj.name})

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        if not obj.partition and ctx.store.get(partition_key(obj.name)) is not None:
            ctx.delete(partition_key(obj.name))

    def deletable(self, ctx: Context, obj: Obj) -> None:
        if obj.key.path in ("/", "/Common"):
            raise errors.mcpd(400, "01070829", "The Common partition may not be deleted.")

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        if obj.key.path.count("/") == 1:
            return _not_empty(obj.key.path.strip("/"))
        return errors.mcpd(400, "01070734", f"Configuration error: folder ({obj.key.path}) is not empty")

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        if not obj.partition:
            shown["subPath"] = "/"
        for name, inherited in INHERITED.items():
            shown[name] = effective(ctx.store, obj.key.path, name, inherited)


def effective(store: Store, path: str, name: str, inherited: str) -> str:
    """A folder's device group or traffic group: its own, or that of the nearest folder above that has one."""
    while path:
        folder = store.get(folder_key(path))
        if folder is not None and (path == "/" or folder.props.get(inherited) == "false"):
            return str(folder.props.get(name, DEFAULTS[name]))
        path = "" if path == "/" else path.rpartition("/")[0] or "/"
    return DEFAULTS[name]


def ensure_folder(ctx: Context, path: str) -> None:
    """Create a folder that the device creates implicitly, such as a partition's Drafts."""
    if ctx.store.get(folder_key(path)) is None:
        ctx.create(FOLDER, None, {"name": path})


def drop_folder_if_empty(ctx: Context, path: str) -> None:
    if ctx.store.get(folder_key(path)) is not None and not list(ctx.store.users(Target(FOLDER, path))):
        ctx.delete(folder_key(path))
