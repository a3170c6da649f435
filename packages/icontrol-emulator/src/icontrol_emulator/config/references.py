"""References between objects: qualified, collected, and found for rendering.

Unqualified names are looked up in the object's own folder, its partition, then Common. If none contains such an object,
they refer to the object's folder, so that a reference may precede its target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from icontrol_emulator.config.model import Obj, Target
from icontrol_emulator.config.names import COMMON
from icontrol_emulator.config.schema import Ref, TypeSpec
from icontrol_emulator.config.store import Store

NOT_A_PATH = frozenset({"", "none", "all", "default"})


def qualify(store: Store, family: str, partition: str, sub_path: str, name: str) -> str:
    """The full path of `name` in the body of an object in partition/sub_path."""
    if name.startswith("/") or name in NOT_A_PATH or family.startswith("flat:"):
        return name
    own = partition or COMMON
    folders = [f"/{own}/{sub_path}"] if sub_path else []
    folders += [f"/{own}", f"/{COMMON}"]
    for folder in folders:
        if store.find(Target(family, f"{folder}/{name}")) is not None:
            return f"{folder}/{name}"
    return f"{folders[0]}/{name}"


def rewrite(refs: tuple[Ref, ...], props: dict[str, Any], full: Callable[[str, str], str]) -> None:
    """Replace every reference in `props` by `full(family, name)`."""
    for ref in refs:
        value = props.get(ref.name)
        if not value:
            continue
        if ref.inner:
            props[ref.name] = _rewrite_inner(ref, value, full)
        elif ref.many:
            listed = value.split() if isinstance(value, str) else value
            props[ref.name] = [full(ref.family, item["name"] if isinstance(item, Mapping) else item) for item in listed]
        elif isinstance(value, str):
            props[ref.name] = full(ref.family, value)


def _rewrite_inner(ref: Ref, value: Any, full: Callable[[str, str], str]) -> Any:
    if isinstance(value, list):
        return [_rewrite_inner(ref, item, full) for item in value]
    inner = value.get(ref.inner) if isinstance(value, Mapping) else None
    if not isinstance(inner, str):
        return value
    return {**value, ref.inner: full(ref.family, inner)}


def targets(spec: TypeSpec, props: Mapping[str, Any]) -> Iterator[Target]:
    """All references in the properties."""
    for ref in spec.refs:
        for path in paths(ref, props):
            yield Target(ref.family, path)
    if spec.inherits:
        parent = props.get("defaultsFrom")
        if isinstance(parent, str) and parent not in NOT_A_PATH:
            yield Target(spec.name_space, parent)


def paths(ref: Ref, props: Mapping[str, Any]) -> Iterator[str]:
    value = props.get(ref.name)
    for item in value if isinstance(value, list) else [value]:
        path = item.get(ref.inner) if ref.inner and isinstance(item, Mapping) else item
        if isinstance(path, str) and path not in NOT_A_PATH:
            yield path


def folder_target(obj: Obj) -> Target:
    """The folder of a partitioned object."""
    return Target("sys/folder", f"/{obj.partition}/{obj.sub_path}" if obj.sub_path else f"/{obj.partition}")
