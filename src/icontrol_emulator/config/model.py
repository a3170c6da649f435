"""The values a device's configuration is made of.

An `Obj` never changes: a modification stores a new one. That is what makes undo logs, snapshots and rendering
without locks possible. Properties whose name starts with `_` are the emulator's own and are never shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SEPARATOR = "\0"


class Key(NamedTuple):
    """Identity of an object: its type path, its owner (empty at the top), its full path or flat name."""

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
    """What a reference points to: a family of types sharing one name space, and a path in it."""

    family: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Obj:
    """One configuration object; `props` holds only what was set, defaults come from its type."""

    key: Key
    name: str
    partition: str = ""
    sub_path: str = ""
    props: Mapping[str, Any] = field(default_factory=dict)
    generation: int = 0
    refs: tuple[Target, ...] = ()
    uniques: tuple[Target, ...] = ()
