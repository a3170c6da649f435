"""Descriptions of object types, and the hooks by which a type extends the generic engine.

A `TypeSpec` is data: fields with defaults, references, subcollections. Other behaviour is in a `TypeRules` subclass,
which uses the engine only through `Context`. This module has no behaviour of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from icontrol_emulator import errors
from icontrol_emulator.config.model import SEPARATOR, Key, Obj, Target
from icontrol_emulator.config.store import Store
from icontrol_emulator.errors import IControlError


class Scope(Enum):
    PARTITIONED = "partitioned"  # lives in a folder: /P/sub/name
    FLAT = "flat"  # has a name only: auth/partition, policy rules
    SINGLE = "single"  # exactly one: sys/global-settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """A property that holds the path(s) of another object. `inner` names a property inside a dict or list of dicts."""

    name: str
    family: str
    many: bool = False
    inner: str = ""
    shown: bool = True  # rendered twice, also as xReference


class StatusSource(Protocol):
    """States of pool members found by probes: `up`, `down`, `checking`."""

    def monitor_state(self, member: Obj) -> str | None:
        """The state found by monitors, or None for a member without monitors."""
        ...

    def node_state(self, node: Obj) -> str | None: ...


class Context(Protocol):
    """The engine's interface for a type's rules."""

    store: Store
    status: StatusSource
    deletes_detached: bool
    version: str

    def now(self) -> float: ...

    def spec(self, type_path: str) -> TypeSpec: ...

    def props(self, obj: Obj) -> dict[str, Any]: ...

    def create(self, type_path: str, parent: Key | None, body: Mapping[str, Any]) -> Obj: ...

    def modify(self, key: Key, body: Mapping[str, Any]) -> Obj: ...

    def delete(self, key: Key) -> None: ...

    def settle_later(self, key: Key) -> None: ...

    def next_number(self, name: str) -> int: ...


class TypeRules:
    """The generic engine's behaviour for a type without rules of its own."""

    def name(self, ctx: Context, parent: Obj | None, body: dict[str, Any]) -> None:
        """May change `name`, `partition` and `subPath` of a new object's body."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        """May change the properties before they are stored. `draft` has the identity, not yet the properties."""

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        """Values that no other object may have."""
        return []

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        """References that the properties' table does not describe."""
        return []

    def after_put(self, ctx: Context, obj: Obj, old: Obj | None, named: frozenset[str]) -> None:
        """Side effects of a change; `named` are the properties in the request."""

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        """Side effects of a deletion."""

    def settle(self, ctx: Context, obj: Obj) -> None:
        """Runs once at the end of a unit of work for objects handed to `settle_later`."""

    def check(self, ctx: Context, obj: Obj) -> None:
        """Raise an error if the finished configuration is not valid."""

    def clash(self, ctx: Context, obj: Obj, other: Obj, unique: Target) -> IControlError:
        """Two objects have the same unique value."""
        return errors.already_exists(ctx.spec(obj.key.type).word, obj.key.path, obj.partition)

    def deletable(self, ctx: Context, obj: Obj) -> None:
        """Raise an error if the object may not be deleted."""

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        """The object was removed while `user` still refers to it."""
        top = user if ctx.spec(user.key.type).is_user else ctx.store.get(user.key.top) or user
        path = user.key.as_parent.replace(SEPARATOR, " ") if top is user else top.key.path
        return errors.in_use(ctx.spec(obj.key.type).word, obj.key.path, ctx.spec(top.key.type).word, path)

    def missing(self, ctx: Context, obj: Obj, target: Target, word: str) -> IControlError:
        """`obj` refers to something that does not exist."""
        return errors.not_found(word, target.path)

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        """May change the object as it is rendered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSpec:
    path: str
    word: str
    scope: Scope = Scope.PARTITIONED
    family: str = ""
    plural: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    read_only: frozenset[str] = frozenset()
    create_only: frozenset[str] = frozenset()
    not_in_modify: Mapping[str, str] = field(default_factory=dict)
    """Properties that a PATCH may not name, as tmsh refuses them: the commands that may."""
    required: tuple[str, ...] = ()
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # least and greatest allowed number
    word_lists: frozenset[str] = frozenset()  # shown as one string; a list of words is accepted too
    flags: tuple[tuple[str, str], ...] = ()  # presence flags; the first is the default
    refs: tuple[Ref, ...] = ()
    subs: tuple[str, ...] = ()
    inherits: bool = False  # unset values are inherited through `defaultsFrom`
    root: str = ""  # the built-in object at the root of the inheritance
    open: bool = False  # accepts properties that are not listed
    creatable: bool = True
    rules: TypeRules = field(default_factory=TypeRules)
    owner: str = ""  # type path of the parent, for subcollections
    is_user: bool = False  # errors about references name this sub-object, not the object that it belongs to

    @property
    def name_space(self) -> str:
        return self.family or self.path

    @property
    def segment(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def kind(self) -> str:
        return f"tm:{self.path.replace('/', ':')}:{self.segment}"


def names(text: str) -> frozenset[str]:
    """A set of words written as one string."""
    return frozenset(text.split())
