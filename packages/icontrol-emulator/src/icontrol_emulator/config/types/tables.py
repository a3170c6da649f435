"""Short forms for types that need no rules of their own, used by the tables of rarely used types.

They are `open`: properties that a table does not list are accepted and returned as given, because their full lists were
not found in recordings of devices.
"""

from __future__ import annotations

from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Ref, Scope, TypeRules, TypeSpec, names


def open_type(
    path: str, word: str = "", *, optional: str = "", required: tuple[str, ...] = (), refs: tuple[Ref, ...] = (),
    scope: Scope = Scope.PARTITIONED, creatable: bool = True, family: str = "",
    flags: tuple[tuple[str, str], ...] = (), rules: TypeRules | None = None, **defaults: object,
) -> TypeSpec:  # fmt: skip
    return TypeSpec(
        path=path, word=word or path.rpartition("/")[2].replace("-", " "), scope=scope, rules=rules or BuiltInRules(),
        defaults=defaults, optional=names(optional), required=required, refs=refs, creatable=creatable, open=True,
        family=family, flags=flags,
    )  # fmt: skip


def settings(path: str, *, subs: tuple[str, ...] = (), **defaults: object) -> TypeSpec:
    """An object of which each device has exactly one."""
    word = path.rpartition("/")[2].replace("-", " ")
    return TypeSpec(path=path, word=word, scope=Scope.SINGLE, defaults=defaults, open=True, subs=subs)
