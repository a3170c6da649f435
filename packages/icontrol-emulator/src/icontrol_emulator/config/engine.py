"""Creates, changes and deletes objects, alone or as a batch, so that a device's configuration is always valid.

A unit of work applies its steps in order, lets types apply side effects, and only then validates everything it touched:
references may precede their targets, and names may be reused within it. An error undoes all of it. The engine is
synchronous: units of work never interleave, so commits are serial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config import references
from icontrol_emulator.config.body import UNSET, ParsedBody, apply_flags, full_identity, items_of, parse
from icontrol_emulator.config.model import SEPARATOR, Key, Obj, Target
from icontrol_emulator.config.names import COMMON, split_path
from icontrol_emulator.config.registry import Registry
from icontrol_emulator.config.rules import domains
from icontrol_emulator.config.schema import Scope, StatusSource, TypeSpec
from icontrol_emulator.config.store import ChangeSet, Store
from icontrol_emulator.config.validation import validate

INHERITANCE_DEPTH_MAX = 20


class Engine:
    def __init__(
        self,
        registry: Registry,
        clock: Callable[[], float],
        status: StatusSource,
        on_commit: Callable[[ChangeSet], None] = lambda changes: None,
    ) -> None:
        self.registry = registry
        self.version = registry.release.version
        self.store = Store(registry.family)
        self.status = status
        self.deletes_detached = False
        """Whether a unit of work may delete a monitor or policy that it detaches from an object that stays."""
        self._clock = clock
        self._on_commit = on_commit
        self._settling: dict[Key, Obj] = {}
        self._numbers: dict[str, int] = {}

    # -- units of work

    @contextmanager
    def unit(self, *, keep: bool = True) -> Iterator[None]:
        """A unit of work: all changes inside it are applied, or, on an error or with `keep=False`, none."""
        self.store.begin()
        self._settling.clear()
        try:
            yield
            self._settle()
            validate(self, self.registry)
        except BaseException:
            self.store.rollback()
            raise
        if not keep:
            self.store.rollback()
            return
        self.announce(self.store.commit())

    def announce(self, changes: ChangeSet) -> None:
        """Notify the observers of this configuration of the changes."""
        self._on_commit(changes)

    def _settle(self) -> None:
        while self._settling:
            key, obj = self._settling.popitem()
            self.spec(key.type).rules.settle(self, obj)

    # -- the interface for rules of types

    def now(self) -> float:
        return self._clock()

    def spec(self, type_path: str) -> TypeSpec:
        return self.registry[type_path]

    def settle_later(self, key: Key) -> None:
        obj = self.store.get(key)
        if obj is not None:
            self._settling[key] = obj

    def next_number(self, name: str) -> int:
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return self._numbers[name]

    def props(self, obj: Obj) -> dict[str, Any]:
        """The effective properties: own values override inherited ones, which override defaults."""
        spec = self.spec(obj.key.type)
        layers: list[Mapping[str, Any]] = [obj.props]
        if spec.inherits:
            layers += self._inherited(spec, obj)
        effective = dict(spec.defaults)
        for layer in reversed(layers):
            effective.update(layer)
        for first, second in spec.flags:
            if first not in effective and second not in effective:
                effective[first] = True
        return effective

    def _inherited(self, spec: TypeSpec, obj: Obj) -> Iterator[Mapping[str, Any]]:
        parent: Obj | None = obj
        for _ in range(INHERITANCE_DEPTH_MAX):
            path = parent.props.get("defaultsFrom", "") if parent else ""
            parent = self.store.get(Key(spec.path, "", path)) if path else None
            if parent is None:
                return
            yield {name: value for name, value in parent.props.items() if name[0] != "_"}

    # -- operations, each inside a unit of work

    def create(self, type_path: str, parent: Key | None, body: Mapping[str, Any]) -> Obj:
        spec = self.spec(type_path)
        owner = self._owner(parent)
        body = dict(body)
        spec.rules.name(self, owner, body)
        parsed = parse(spec, body)
        identity = full_identity(spec, parsed.identity)
        draft = self._draft(spec, parent, identity)
        self._refuse_duplicate(spec, draft)
        for name in spec.required:
            if parsed.props.get(name, UNSET) is UNSET:
                raise errors.missing_property(name)
        if spec.inherits and spec.root and parsed.props.get("defaultsFrom", UNSET) is UNSET:
            parsed.props["defaultsFrom"] = spec.root
        return self._write(spec, draft, {}, parsed, None)

    def modify(self, key: Key, body: Mapping[str, Any]) -> Obj:
        spec = self.spec(key.type)
        old = self.require(key)
        parsed = parse(spec, body)
        for name, commands in spec.not_in_modify.items():
            if name in parsed.props:
                raise errors.not_in_modify(name, commands)
        if not parsed.props and not parsed.subs:
            raise errors.nothing_to_change()
        return self._write(spec, old, dict(old.props), parsed, old)

    def replace(self, key: Key, body: Mapping[str, Any]) -> Obj:
        spec = self.spec(key.type)
        old = self.require(key)
        parsed = parse(spec, body)
        kept_names = spec.create_only | spec.read_only | frozenset(spec.required)
        kept = {
            name: value
            for name, value in old.props.items()
            if name[0] == "_" or name in kept_names or name == "defaultsFrom"
        }
        if parsed.props.get("defaultsFrom") is UNSET:
            del parsed.props["defaultsFrom"]
        return self._write(spec, old, kept, parsed, old)

    def delete(self, key: Key) -> None:
        obj = self.require(key)
        rules = self.spec(key.type).rules
        rules.deletable(self, obj)
        self._remove_tree(obj)

    def require(self, key: Key) -> Obj:
        obj = self.store.get(key)
        if obj is None:
            raise self.absent(key)
        return obj

    def absent(self, key: Key) -> errors.IControlError:
        spec = self.spec(key.type)
        return errors.not_found(spec.word, _shown(spec, key))

    # -- internals

    def _owner(self, parent: Key | None) -> Obj | None:
        if parent is None:
            return None
        owner = self.store.get(parent)
        if owner is None:
            raise errors.not_found(self.spec(parent.type).word.lower(), parent.path)
        return owner

    def _draft(self, spec: TypeSpec, parent: Key | None, identity: Mapping[str, str]) -> Obj:
        above = parent.as_parent if parent else ""
        if spec.scope is not Scope.PARTITIONED:
            return Obj(key=Key(spec.path, above, identity["name"]), name=identity["name"])
        partition, sub_path, name = identity["partition"], identity["subPath"], identity["name"]
        folder = f"/{partition}" if partition else ""
        path = f"{folder}/{sub_path}/{name}" if sub_path else f"{folder}/{name}"
        return Obj(key=Key(spec.path, above, path), name=name, partition=partition, sub_path=sub_path)

    def _refuse_duplicate(self, spec: TypeSpec, draft: Obj) -> None:
        exists = self.store.get(draft.key)
        if exists is None and not draft.key.parent:
            exists = self.store.find(Target(spec.name_space, draft.key.path))
        if exists is None:
            return
        raise errors.already_exists(spec.word, _shown(spec, draft.key), draft.partition)

    def _write(self, spec: TypeSpec, draft: Obj, base: dict[str, Any], parsed: ParsedBody, old: Obj | None) -> Obj:
        props = base
        apply_flags(spec, props, parsed.props)
        flagged = {name for pair in spec.flags for name in pair}
        for name, value in parsed.props.items():
            if name in flagged:
                continue
            if value is UNSET:
                props.pop(name, None)
            elif isinstance(value, Mapping) and isinstance(spec.defaults.get(name), Mapping):
                props[name] = {**spec.defaults[name], **props.get(name, {}), **value}
            else:
                props[name] = value
        references.rewrite(spec.refs, props, lambda family, name: self._full(draft, family, name))
        if isinstance(props.get("defaultsFrom"), str):
            props["defaultsFrom"] = self._full(draft, spec.name_space, props["defaultsFrom"])
        spec.rules.normalise(self, draft, props, old)
        obj = self._put(spec, draft, props)
        for sub, items in parsed.subs.items():
            self._replace_children(f"{spec.path}/{sub}", obj, items)
        spec.rules.after_put(self, obj, old, parsed.named)
        return obj

    def _full(self, draft: Obj, family: str, name: str) -> str:
        top = draft if not draft.key.parent else (self.store.get(draft.key.top) or draft)
        return references.qualify(self.store, family, top.partition or COMMON, top.sub_path, name)

    def _put(self, spec: TypeSpec, draft: Obj, props: dict[str, Any]) -> Obj:
        effective = {**spec.defaults, **props}
        refs = list(references.targets(spec, props))
        refs += spec.rules.extra_refs(self, draft, effective)
        refs += domains.needed(spec.path, props)
        if spec.scope is Scope.PARTITIONED and not draft.key.parent and spec.path != "sys/folder":
            refs.append(references.folder_target(draft))
        obj = Obj(
            key=draft.key, name=draft.name, partition=draft.partition, sub_path=draft.sub_path, props=props,
            generation=self.store.next_generation(), refs=tuple(refs),
            uniques=tuple(spec.rules.uniques(self, draft, effective)),
        )  # fmt: skip
        self.store.put(obj)
        return obj

    def _replace_children(self, type_path: str, owner: Obj, items: list[dict[str, Any]]) -> None:
        spec = self.spec(type_path)
        wanted: dict[Key, dict[str, Any]] = {}
        for item in items_of(items):
            if spec.scope is Scope.PARTITIONED and not str(item.get("name", "")).startswith("/"):
                item.setdefault("partition", owner.partition or COMMON)
            spec.rules.name(self, owner, item)
            key = self._draft(spec, owner.key, full_identity(spec, item)).key
            if key in wanted:
                raise errors.already_exists(spec.word, _shown(spec, key), owner.partition)
            wanted[key] = item
        for child in self.store.children(type_path, owner.key.as_parent):
            if child.key not in wanted:
                self._remove_tree(child)
        for key, item in wanted.items():
            if self.store.get(key) is None:
                self.create(type_path, owner.key, item)
            else:
                self.replace(key, item)

    def _remove_tree(self, obj: Obj) -> None:
        spec = self.spec(obj.key.type)
        for sub in spec.subs:
            for child in self.store.children(f"{spec.path}/{sub}", obj.key.as_parent):
                self._remove_tree(child)
        self.store.remove(obj.key)
        spec.rules.after_remove(self, obj)


def _shown(spec: TypeSpec, key: Key) -> str:
    """The path by which errors name an object: that of a sub-object follows its owner's."""
    if spec.path == "ltm/pool/members":
        return f"{key.parent} {' '.join(key.path.rsplit(':', 1))}"
    return key.as_parent.replace(SEPARATOR, " ") if spec.scope is Scope.FLAT else key.path


def key_of(spec: TypeSpec, parent: Key | None, text: str) -> Key:
    """The key that a URI refers to: a bare name is in /Common."""
    above = parent.as_parent if parent else ""
    if spec.scope is not Scope.PARTITIONED:
        return Key(spec.path, above, text)
    return Key(spec.path, above, text if text.startswith("/") else split_path(text).full)
