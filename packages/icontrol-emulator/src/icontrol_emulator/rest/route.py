"""Maps URI segments below /mgmt/tm to objects and collections."""

from __future__ import annotations

from dataclasses import dataclass

from icontrol_emulator.config.engine import key_of
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.registry import Registry
from icontrol_emulator.config.schema import Scope, TypeSpec

TYPE_DEPTH_MAX = 5
SUFFIXES = frozenset({"stats", "example", "available"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The object of a URI: an item (`key`), or a collection (`key` None) of `spec` below `parent`."""

    spec: TypeSpec
    parent: Key | None = None
    key: Key | None = None
    suffix: str = ""


def resolve(registry: Registry, segments: list[str]) -> Route | None:
    """The route of decoded segments after `tm`, or None if no type matches."""
    for depth in range(min(TYPE_DEPTH_MAX, len(segments)), 0, -1):
        spec = registry.get("/".join(segments[:depth]))
        if spec is not None and not spec.owner:
            return _route_below(registry, spec, None, segments[depth:])
    return None


def _route_below(registry: Registry, spec: TypeSpec, parent: Key | None, rest: list[str]) -> Route | None:
    if spec.scope is Scope.SINGLE:
        return Route(spec=spec, key=Key(spec.path, "", "")) if not rest else None
    if not rest:
        return Route(spec=spec, parent=parent)
    if rest[0] in SUFFIXES and len(rest) == 1:
        return Route(spec=spec, parent=parent, suffix=rest[0])
    key = key_of(spec, parent, rest[0])
    if len(rest) == 1:
        return Route(spec=spec, parent=parent, key=key)
    if len(rest) == 2 and rest[1] in SUFFIXES:
        return Route(spec=spec, parent=parent, key=key, suffix=rest[1])
    if rest[1] not in spec.subs:
        return None
    return _route_below(registry, registry[f"{spec.path}/{rest[1]}"], key, rest[2:])
