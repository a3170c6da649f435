"""Normalises request bodies: names in camelCase, values of their field's type, subcollections separated.

The result contains only fields that the type has, with `UNSET` where the client requested the default. Existence of
referenced objects is not checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from icontrol_emulator import errors
from icontrol_emulator.config.names import camel
from icontrol_emulator.config.schema import Scope, TypeSpec, names


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()

IDENTITY = names("name partition subPath")
SHOWN_ONLY = names("kind selfLink generation fullPath isSubcollection nameReference")
COMMON_OPTIONAL = names("description appService metadata locationSpecific")
_ON = (True, "true", "yes")
REFERENCE_SUFFIX = "Reference"


@dataclass(slots=True)
class ParsedBody:
    identity: dict[str, Any] = field(default_factory=dict)
    props: dict[str, Any] = field(default_factory=dict)
    subs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def named(self) -> frozenset[str]:
        return frozenset(self.props) | frozenset(self.subs)


def parse(spec: TypeSpec, body: Mapping[str, Any]) -> ParsedBody:
    parsed = ParsedBody()
    subs = {camel(sub): sub for sub in spec.subs}
    for raw_name, value in body.items():
        name = raw_name if raw_name in spec.defaults or raw_name in spec.optional else camel(raw_name)
        if name in IDENTITY:
            parsed.identity[name] = value
        elif name in SHOWN_ONLY or name in spec.read_only:
            continue
        elif name in subs:
            parsed.subs[subs[name]] = items_of(value)
        elif name.endswith(REFERENCE_SUFFIX):
            _parse_reference(spec, parsed, name, value)
        elif _known(spec, name):
            parsed.props[name] = _value(spec, name, value)
        else:
            raise errors.unknown_property(raw_name)
    return parsed


def items_of(value: Any) -> list[dict[str, Any]]:
    """A list of named items, in any of the accepted forms, as a list of bodies with a `name`."""
    if value is None or value in ("", "none"):
        return []
    if isinstance(value, str):
        return [{"name": word} for word in value.split()]
    if isinstance(value, Mapping):
        if "items" in value and isinstance(value["items"], list):
            return items_of(value["items"])
        return [{"name": name, **(props or {})} for name, props in value.items()]
    if not isinstance(value, list):
        raise errors.invalid_json()
    return [{"name": item} if isinstance(item, str) else dict(item) for item in value]


def _parse_reference(spec: TypeSpec, parsed: ParsedBody, name: str, value: Any) -> None:
    """`xReference` is read-only; but with `items` it is the subcollection itself."""
    sub = name.removesuffix(REFERENCE_SUFFIX)
    if sub in spec.subs and isinstance(value, Mapping) and isinstance(value.get("items"), list):
        parsed.subs.setdefault(sub, items_of(value["items"]))


def _known(spec: TypeSpec, name: str) -> bool:
    return (
        spec.open
        or name in spec.defaults
        or name in spec.optional
        or name in COMMON_OPTIONAL
        or any(name in pair for pair in spec.flags)
        or (spec.inherits and name == "defaultsFrom")
    )


def _value(spec: TypeSpec, name: str, value: Any) -> Any:
    if value is None:
        return UNSET
    if name not in spec.defaults:
        # an empty list of a child profile overrides its parent's; elsewhere a device omits empty lists
        empty: tuple[Any, ...] = ("", "none") if spec.inherits else ("", "none", [])
        return UNSET if value in empty else value
    if name in spec.word_lists and isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    default = spec.defaults[name]
    coerced = _coerce(name, default, value)
    choices = spec.choices.get(name)
    if choices is not None and coerced not in choices:
        raise errors.invalid_value(name, value)
    if name in spec.ranges and isinstance(coerced, int):
        least, most = spec.ranges[name]
        if not least <= coerced <= most:
            raise errors.invalid_value(name, value)
    return coerced


def _coerce(name: str, default: Any, value: Any) -> Any:
    if isinstance(default, bool):
        return bool(value)
    if isinstance(default, int) and isinstance(value, str):
        if not value.lstrip("-").isdigit():
            if value in ("indefinite", "immediate", "auto", "none", "pass-through"):
                return value
            raise errors.invalid_value(name, value)
        return int(value)
    if isinstance(default, str) and isinstance(value, bool):
        return _word_of(default, value)
    if isinstance(default, str) and isinstance(value, int):
        return str(value)
    if isinstance(default, int | str) and isinstance(value, list | dict):
        raise errors.invalid_value(name, value)
    return value


def _word_of(default: str, value: bool) -> str:
    for no, yes in (("disabled", "enabled"), ("no", "yes"), ("false", "true")):
        if default in (no, yes):
            return yes if value else no
    return "enabled" if value else "disabled"


def apply_flags(spec: TypeSpec, props: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Keep at most one of each pair of presence flags. A request may set one of them only, as F5's functional tests of
    f5-common-python (test_vlan.py) have it.
    """
    for first, second in spec.flags:
        if all(given.get(name, UNSET) in _ON for name in (first, second)):
            raise errors.not_together(second, first)
        for name, other in ((first, second), (second, first)):
            value = given.get(name, UNSET)
            if value is UNSET:
                continue
            on = value in _ON
            props.pop(first, None)
            props.pop(second, None)
            props[name if on else other] = True


def full_identity(spec: TypeSpec, identity: Mapping[str, Any]) -> dict[str, str]:
    """name, partition and subPath of a body, in whichever form they are given."""
    name = identity.get("name")
    if not isinstance(name, str) or not name:
        raise errors.missing_property("name")
    if spec.scope is not Scope.PARTITIONED:
        return {"name": name, "partition": "", "subPath": ""}
    if name.startswith("/"):
        partition, *middle, last = name.strip("/").split("/") if name.count("/") > 1 else ["", name.strip("/")]
        return {"name": last, "partition": partition, "subPath": "/".join(middle)}
    return {
        "name": name,
        "partition": str(identity.get("partition") or "Common").strip("/"),
        "subPath": str(identity.get("subPath") or "").strip("/"),
    }
