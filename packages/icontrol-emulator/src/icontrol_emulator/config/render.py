"""Objects in iControl REST's representation.

Field order is the device's: identity first, properties in alphabetical order, subcollection references last. Properties
with a leading underscore are internal and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator.config import references
from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import COMMON, camel, entry_path, to_segment
from icontrol_emulator.config.schema import Ref, Scope, TypeSpec

HOST = "https://localhost/mgmt/tm"


def item_uri(key: Key) -> str:
    """`ltm/pool/~P~x/members/~P~n:80`."""
    owner = key.owner
    if owner is None:
        return f"{key.type}/{to_segment(key.path)}" if key.path else key.type
    return f"{item_uri(owner)}/{key.type.rpartition('/')[2]}/{to_segment(key.path)}"


class Renderer:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.release = engine.registry.release
        self.version = self.release.version

    def link(self, uri: str, extra_query: str = "") -> str:
        query = f"{extra_query}&ver={self.version}" if extra_query else f"ver={self.version}"
        return f"{HOST}/{uri}?{query}"

    def item(self, obj: Obj, *, expand: bool = False, extra_query: str = "") -> dict[str, Any]:
        spec = self._engine.spec(obj.key.type)
        shown: dict[str, Any] = {"kind": f"{spec.kind}state"}
        if spec.scope is Scope.SINGLE:
            shown["selfLink"] = self.link(item_uri(obj.key), extra_query)
        else:
            shown |= self._identity(obj, extra_query)
        properties = self._properties(spec, obj)
        shown |= dict(sorted(properties.items()))
        for sub in spec.subs:
            shown[f"{camel(sub)}Reference"] = self._subcollection(spec, obj, sub, expand)
        return shown

    def collection(self, type_path: str, uri: str, items: list[dict[str, Any]], extra_query: str) -> dict[str, Any]:
        spec = self._engine.spec(type_path)
        shown: dict[str, Any] = {"kind": f"{spec.kind}collectionstate", "selfLink": self.link(uri, extra_query)}
        if items:
            shown["items"] = items
        return shown

    def _identity(self, obj: Obj, extra_query: str) -> dict[str, Any]:
        shown: dict[str, Any] = {"name": obj.name}
        if obj.partition:
            shown["partition"] = obj.partition
        if obj.sub_path:
            shown["subPath"] = obj.sub_path
        shown["fullPath"] = obj.key.path
        shown["generation"] = obj.generation
        shown["selfLink"] = self.link(item_uri(obj.key), extra_query)
        if obj.key.type == "ltm/virtual/profiles":
            shown["nameReference"] = self._reference("profile", obj.key.path)
        elif obj.key.type == "ltm/virtual/policies":
            shown["nameReference"] = self._reference("ltm/policy", obj.key.path)
        return shown

    def _properties(self, spec: TypeSpec, obj: Obj) -> dict[str, Any]:
        effective = self._engine.props(obj)
        shown = {name: value for name, value in effective.items() if name[0] != "_"}
        spec.rules.show(self._engine, obj, shown)
        for ref in spec.refs:
            if ref.shown and shown.get(ref.name) not in (None, "none"):
                self._double(ref, shown)
        parent = shown.get("defaultsFrom")
        if spec.inherits and isinstance(parent, str) and parent != "none":
            shown["defaultsFromReference"] = self._reference(spec.name_space, parent)
        if "persist" in shown:
            shown["persist"] = [self._persist(entry) for entry in shown["persist"]]
        return shown

    def _persist(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        path = entry_path(entry)
        return {**entry, "nameReference": self._reference("persistence", path)}

    def _double(self, ref: Ref, shown: dict[str, Any]) -> None:
        """Add `xReference` beside `x`; in dicts beside the inner property."""
        value = shown[ref.name]
        if ref.inner:
            many = isinstance(value, list)
            doubled = [self._double_inner(ref, item) for item in (value if many else [value])]
            shown[ref.name] = doubled if many else doubled[0]
        elif ref.many:
            shown[f"{ref.name}Reference"] = [self._reference(ref.family, path) for path in value]
        elif value not in references.NOT_A_PATH:
            shown[f"{ref.name}Reference"] = self._reference(ref.family, value)

    def _double_inner(self, ref: Ref, item: Any) -> Any:
        path = item.get(ref.inner) if isinstance(item, Mapping) else None
        if not isinstance(path, str) or path in references.NOT_A_PATH:
            return item
        return {**item, f"{ref.inner}Reference": self._reference(ref.family, path)}

    def _reference(self, family: str, path: str) -> dict[str, Any]:
        found = self._engine.store.find(Target(family, path))
        key = found.key if found else Key(family, "", path if path.startswith("/") else f"/{COMMON}/{path}")
        return {"link": self.link(item_uri(key))}

    def _subcollection(self, spec: TypeSpec, obj: Obj, sub: str, expand: bool) -> dict[str, Any]:
        uri = f"{item_uri(obj.key)}/{sub}"
        shown: dict[str, Any] = {"link": self.link(uri), "isSubcollection": True}
        if expand:
            store, type_path = self._engine.store, f"{spec.path}/{sub}"
            children = (
                store.top(type_path) if spec.scope is Scope.SINGLE else store.children(type_path, obj.key.as_parent)
            )
            items = [self.item(child, expand=True) for child in children]
            if items:
                shown["items"] = items
        return shown
