"""The values that a device's configuration consists of.

An `Obj` is immutable: a modification stores a new one, so that undo logs, snapshots and rendering need no locks.
Properties whose name starts with `_` are internal to the emulator and never shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SEPARATOR = "\0"


class Key(NamedTuple):
    """Identity of an object: its type path, its owner (empty at the top level), its full path or flat name."""

    type: str
    parent: str
    path: str

    @property
    def as_parent(self) -> str:
        return f"{self.parent}{SEPARATOR}{self.path}" if self.parent else self.path

    @property
    def owner(self) -> Key | None:
        if not self.parent:
            return None
        above, _, path = self.parent.rpartition(SEPARATOR)
        return Key(self.type.rpartition("/")[0], above, path)

    @property
    def top(self) -> Key:
        owner = self.owner
        return self if owner is None else owner.top


class Target(NamedTuple):
    """The target of a reference: a family of types that share a name space, and a path in it."""

    family: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Obj:
    """One configuration object; `props` contains only what was set, defaults come from its type."""

    key: Key
    name: str
    partition: str = ""
    sub_path: str = ""
    props: Mapping[str, Any] = field(default_factory=dict)
    generation: int = 0
    refs: tuple[Target, ...] = ()
    uniques: tuple[Target, ...] = ()
