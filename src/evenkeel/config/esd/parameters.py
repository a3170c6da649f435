"""Parameters of enhanced services: numbers of a definition's parts that tenants may set within bounds. Pure.

Only whole numbers are parameters, so that nothing a tenant gives becomes text on a device.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, inspect

from evenkeel.config.esd.parts import Parts
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.enhanced_services import PARAMETER_WORDS, ServiceParameter, is_parameter_name

PARAMETERS = "parameters"
"""Name of the parameters' field in a definition, beside tags and parts."""
PARAMETERS_MAX = 16

_Bound = Annotated[int, Meta(ge=0, le=2_147_483_647)]


class _DeclaredParameter(Value):
    """A parameter in a definition's file. ``sets``: the field of a part that it sets, such as
    ``rate_limit.requests``.
    """

    sets: Annotated[str, Meta(max_length=80)]
    minimum: _Bound
    maximum: _Bound


def declared_parameters(content: Any, parts: Parts) -> dict[str, ServiceParameter]:
    """Parse the content of the field ``parameters`` of a definition with these parts; return ``{name:
    parameter}``. Raises :class:`ValueError`, naming field, value and what is allowed.
    """
    if not isinstance(content, dict) or len(content) > PARAMETERS_MAX:
        raise ValueError(f"an object of at most {PARAMETERS_MAX} parameters by name is allowed")
    return {name: _parse_parameter(name, declared, parts) for name, declared in content.items()}


def set_parameters(parts: Parts, known: Mapping[str, ServiceParameter], values: Mapping[str, int]) -> Parts:
    """Return a copy of the parts with the given values of parameters. Raises :class:`ValueError` for an
    unknown parameter or a value outside its bounds, and msgspec's ``ValidationError`` for one that the
    part cannot have.
    """
    content: dict[str, Any] = {name: msgspec.to_builtins(getattr(parts, name)) for name in parts.names}
    for name, value in values.items():
        parameter = known.get(name)
        if parameter is None:
            raise ValueError(f"{name}: no such parameter; allowed are {', '.join(known) or 'none'}")
        if problem := parameter.problem(value):
            raise ValueError(f"{name}: {problem}")
        part, _, field = parameter.sets.partition(".")
        content[part] = content[part] | {field: value} if field else value
    return msgspec.convert(content, Parts)


def _parse_parameter(name: str, content: Any, parts: Parts) -> ServiceParameter:
    if not is_parameter_name(name):
        raise ValueError(f"{name!r}: a name of {PARAMETER_WORDS} is allowed")
    try:
        declared = msgspec.convert(content, _DeclaredParameter)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {error}; sets, minimum and maximum are needed") from error
    default = _number_in_field(parts, declared.sets)
    if default is None:
        raise ValueError(
            f"{name}: sets: {declared.sets!r}: a number that the definition gives, as in"
            " rate_limit.requests, is allowed"
        )
    if not declared.minimum <= default <= declared.maximum:
        raise ValueError(
            f"{name}: minimum {declared.minimum} and maximum {declared.maximum}: bounds around the definition's value"
            f" {default} are allowed"
        )
    found = ServiceParameter(sets=declared.sets, minimum=declared.minimum, maximum=declared.maximum, default=default)
    for bound in (declared.minimum, declared.maximum):
        try:
            set_parameters(parts, {name: found}, {name: bound})
        except msgspec.ValidationError as error:
            raise ValueError(f"{name}: {bound}: not possible for {declared.sets} ({error})") from error
    return found


def _number_in_field(parts: Parts, path: str) -> int | None:
    """Return the number in the field ``path`` (``part`` or ``part.field``) of the parts; None if the field is
    missing, not set, or of a type with other values than whole numbers.
    """
    match = re.fullmatch(r"([a-z_]+)(?:\.([a-z_]+))?", path)
    if match is None or match[1] not in parts.names:
        return None
    owner: Any = parts
    name = match[1]
    if match[2]:
        owner, name = getattr(parts, match[1]), match[2]
    if not isinstance(owner, msgspec.Struct) or name not in owner.__struct_fields__:
        return None
    node = next(field.type for field in msgspec.structs.fields(type(owner)) if field.name == name)
    value = getattr(owner, name)
    return value if _is_number(inspect.type_info(node)) and isinstance(value, int) else None


def _is_number(node: inspect.Type) -> bool:
    """Whether the type of a field is a whole number, or a whole number or None; false for a choice among
    certain numbers.
    """
    types = node.types if isinstance(node, inspect.UnionType) else (node,)
    return any(isinstance(each, inspect.IntType) for each in types) and all(
        isinstance(each, inspect.IntType | inspect.NoneType) for each in types
    )
