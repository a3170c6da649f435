"""All objects of one device, with indexes for frequent queries and an undo log.

A read costs at most the number of objects returned; `rollback` restores every index as it was at `begin`; objects are
replaced, never modified, so a snapshot is a shallow copy. Independent of types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from icontrol_emulator.config.model import Key, Obj, Target


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The configuration at one moment."""

    objects: dict[Key, Obj]
    generation: int


@dataclass(slots=True)
class ChangeSet:
    """The changes of one unit of work: key to the previous object (None: it was new)."""

    before: dict[Key, Obj | None] = field(default_factory=dict)


class Store:
    def __init__(self, family_of: Callable[[str], str]) -> None:
        self._family_of = family_of
        self._objects: dict[Key, Obj] = {}
        self._top: dict[str, dict[str, dict[Key, Obj]]] = {}
        self._children: dict[tuple[str, str], dict[Key, Obj]] = {}
        self._named: dict[Target, Key] = {}
        self._users: dict[Target, dict[Key, None]] = {}
        self._claims: dict[Target, dict[Key, None]] = {}
        self._log: list[tuple[Key, Obj | None]] | None = None
        self._mark = 0
        self.generation = 1

    # -- reading

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: Key) -> Obj | None:
        return self._objects.get(key)

    def find(self, target: Target) -> Obj | None:
        """The top-level object that a reference refers to."""
        key = self._named.get(target)
        return None if key is None else self._objects[key]

    def top(self, type_path: str, partition: str | None = None) -> list[Obj]:
        """Top-level objects of a type (of one partition), sorted by path."""
        by_partition = self._top.get(type_path, {})
        groups = by_partition.values() if partition is None else [by_partition.get(partition, {})]
        return sorted((obj for group in groups for obj in group.values()), key=_by_path)

    def children(self, type_path: str, parent: str) -> list[Obj]:
        return sorted(self._children.get((type_path, parent), {}).values(), key=_by_path)

    def users(self, target: Target) -> Iterable[Key]:
        """Objects that refer to the target."""
        return self._users.get(target, {}).keys()

    def claimants(self, unique: Target) -> Iterable[Key]:
        """Objects that have the same unique value."""
        return self._claims.get(unique, {}).keys()

    # -- changing

    def begin(self) -> None:
        if self._log is not None:
            raise RuntimeError("a unit of work is already open")
        self._log = []
        self._mark = self.generation

    def put(self, obj: Obj) -> None:
        self._record(obj.key)
        self._set(obj.key, obj)

    def remove(self, key: Key) -> None:
        self._record(key)
        self._set(key, None)

    def next_generation(self) -> int:
        self.generation += 1
        return self.generation

    def touched(self) -> list[Key]:
        """Keys changed since `begin`, in order of their first change."""
        return list(dict.fromkeys(key for key, _ in self._log or ()))

    def removed(self) -> list[Key]:
        """Keys of objects that were removed since `begin`, even if they exist again."""
        removed = {key for key, old in self._log or () if old is None}
        return [key for key, old in self.all_before().items() if old and (key in removed or key not in self._objects)]

    def before(self, key: Key) -> Obj | None:
        """The object as it was at `begin`."""
        return next((old for changed, old in self._log or () if changed == key), None)

    def all_before(self) -> dict[Key, Obj | None]:
        """Each changed object as it was at `begin`."""
        found: dict[Key, Obj | None] = {}
        for key, old in self._log or ():
            found.setdefault(key, old)
        return found

    def commit(self) -> ChangeSet:
        changes = ChangeSet(self.all_before())
        self._log = None
        return changes

    def rollback(self) -> None:
        for key, old in reversed(self._log or ()):
            self._set(key, old)
        self._log = None
        self.generation = self._mark

    def snapshot(self) -> Snapshot:
        return Snapshot(dict(self._objects), self.generation)

    def restore(self, snapshot: Snapshot, keep: Callable[[Key], bool] = lambda key: False) -> None:
        """Restore the snapshot, except for the keys that `keep` selects, inside or outside a unit of work."""
        for key in [key for key in self._objects if key not in snapshot.objects and not keep(key)]:
            self._change(key, None)
        for key, obj in snapshot.objects.items():
            if not keep(key) and self._objects.get(key) is not obj:
                self._change(key, obj)

    def _change(self, key: Key, obj: Obj | None) -> None:
        if self._log is not None:
            self._record(key)
        self._set(key, obj)

    def _record(self, key: Key) -> None:
        if self._log is None:
            raise RuntimeError("no unit of work is open")
        self._log.append((key, self._objects.get(key)))

    def _set(self, key: Key, obj: Obj | None) -> None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._unindex(old)
        if obj is not None:
            self._objects[key] = obj
            self._index(obj)

    def _index(self, obj: Obj) -> None:
        key = obj.key
        if key.parent:
            self._children.setdefault((key.type, key.parent), {})[key] = obj
        else:
            self._top.setdefault(key.type, {}).setdefault(obj.partition, {})[key] = obj
            self._named[Target(self._family_of(key.type), key.path)] = key
        for ref in obj.refs:
            self._users.setdefault(ref, {})[key] = None
        for unique in obj.uniques:
            self._claims.setdefault(unique, {})[key] = None

    def _unindex(self, obj: Obj) -> None:
        key = obj.key
        if key.parent:
            siblings = self._children[key.type, key.parent]
            del siblings[key]
            if not siblings:
                del self._children[key.type, key.parent]
        else:
            del self._top[key.type][obj.partition][key]
            self._named.pop(Target(self._family_of(key.type), key.path), None)
        for index, targets in ((self._users, obj.refs), (self._claims, obj.uniques)):
            for target in set(targets):
                del index[target][key]
                if not index[target]:
                    del index[target]


def _by_path(obj: Obj) -> str:
    return obj.key.path
