"""Errors of refused bodies: the decoder's error in Octavia's words, with field, value and what is allowed.

Only refused bodies are processed here, so speed does not matter. The decoder gives the location; the allowed values
there are derived from the type, so that texts and checks cannot diverge.
"""

import re
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from evenkeel.api.responses.errors import invalid_input, shorten
from evenkeel.core.kit.errors import Invalid, RequestError

_AT_PATTERN = re.compile(r" - at (?:`key` in )?`(?P<path>\$[^`]*)`$")
_STEP_PATTERN = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")
# The client chooses the name of an unknown field, so it may contain line breaks.
_UNKNOWN_PATTERN = re.compile(r"^Object contains unknown field `(?P<name>.*?)`(?: - at `\$[^`]*`)?$", re.DOTALL)
_MISSING_PATTERN = re.compile(r"^Object missing required field `(?P<name>[^`]*)`")

REFUSAL = "refusal"
"""Key in the ``extra`` of an attribute's type: Octavia's sentence about a wrong value."""
HIDDEN = "(hidden)"
"""Text that replaces a value that may contain a secret."""

Step = str | int | None
"""One step of a path: a field name, a list index, or None for any value of a mapping."""


_ARGUMENTS = {
    "loadbalancer": "load_balancer",
    "healthmonitor": "health_monitor_",
    "flavorprofile": "flavor_profile_",
    "quota": "quotas",
}
"""Octavia's names of whole bodies, by the attribute that wraps the object; for other bodies the name is that
attribute's name with ``_``.
"""


def wrapper_name(kind: type[Any]) -> str:
    """Return the name of the attribute that wraps the object in a request's body, such as ``loadbalancer``:
    the first attribute of the body's type.
    """
    return str(inspect.type_info(kind).fields[0].encode_name)  # type: ignore[attr-defined]


def octavia_body_name(kind: type[Any]) -> str:
    """Return the name of a whole body in Octavia's error texts, such as ``load_balancer`` or ``pool_``."""
    name = wrapper_name(kind)
    return _ARGUMENTS.get(name, f"{name}_")


def explain_decode_error(
    error: msgspec.ValidationError, raw: bytes, kind: type[Any], *, octavia: bool = False
) -> RequestError:
    """Build the error for a body that is not a ``kind``, with field, value and allowed values. ``octavia``:
    places and null values are worded like in Octavia. Raises :class:`msgspec.DecodeError` if ``raw`` is
    not valid JSON.
    """
    text = str(error)
    path = _parse_path(text)
    if unknown := _UNKNOWN_PATTERN.match(text):
        name = unknown["name"]
        if octavia:
            names = [octavia_body_name(kind), *(step for step in path if isinstance(step, str))]
            return _unknown_attribute(".".join(names), name, _attributes_of_type(kind, _argument_name(path)))
        if _argument_name(path) == "body":
            return Invalid(f'Unknown argument: "{shorten(name, 64)}"')
        return _unknown_attribute(_argument_name(path), name, _attributes_of_type(kind, _argument_name(path)))
    if missing := _MISSING_PATTERN.match(text):
        if not path:
            return Invalid(f'Missing argument: "{missing["name"]}"')
        return invalid_input(missing["name"], None, "Mandatory field missing.")
    at = decode_failure(text, msgspec.json.decode(raw), kind)
    # Octavia has a text of its own for null (its exception InvalidOption).
    if octavia and at.value is None and path != [wrapper_name(kind)]:
        return Invalid(f"None is not a valid option for {at.field}. {at.rule}")
    return _bad_value_error(at)


class DecodeFailure(NamedTuple):
    """The place in a body that does not fit its type, with the value there and the allowed types."""

    field: str
    """Innermost named part of the path; ``body`` if no part has a name."""
    value: Any
    allowed: list[inspect.Type]
    """Allowed types, except null."""
    secret: bool
    """True: the value may contain a secret, so that texts must not show it."""

    @property
    def rule(self) -> str:
        """A sentence about the values that the field allows."""
        return " or ".join(_describe_allowed(kind, self.value) for kind in self.allowed) or "Value should be null."


def decode_failure(text: str, body: Any, kind: type[Any]) -> DecodeFailure:
    """Find the place in the decoded ``body`` that the decoder's error ``text`` names; the whole body if
    ``text`` names none.
    """
    path = _parse_path(text)
    node: inspect.Type = inspect.type_info(kind)
    value = body
    for step in path:
        node = _descend_step(node, step)
        if step is not None:
            value = value[step]
    allowed = [part for part in _leaf_types(node) if not isinstance(part, inspect.NoneType)]
    return DecodeFailure(_argument_name(path), value, allowed, _holds_secret(node))


def _parse_path(text: str) -> list[Step]:
    found = _AT_PATTERN.search(text)
    if not found:
        return []
    steps: list[Step] = []
    for step in _STEP_PATTERN.finditer(found["path"]):
        if step["name"] is not None:
            steps.append(step["name"])
        else:
            steps.append(None if step["index"] == "..." else int(step["index"]))
    return steps


def _argument_name(path: list[Step]) -> str:
    """Return the innermost named part of the path; ``body`` if no part has a name."""
    return next((step for step in reversed(path) if isinstance(step, str)), "body")


def _unknown_attribute(argument: str, name: str, allowed: list[str]) -> RequestError:
    hint = f" Allowed: {', '.join(allowed)}." if allowed else ""
    return Invalid(f"Unknown attribute for argument {argument}: {shorten(name, 64)}.{hint}")


def _attributes_of_type(kind: type[Any], argument: str) -> list[str]:
    """Return the attribute names of the first struct called ``argument`` below ``kind``, breadth first; empty
    if there is none.
    """
    waiting = [inspect.type_info(kind)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, inspect.StructType):
            for field in node.fields:
                if field.encode_name == argument:
                    for struct in _struct_types(field.type):
                        return [inner.encode_name for inner in struct.fields]
            waiting += [field.type for field in node.fields]
        else:
            waiting += _inner_types(node)
    return []


def _struct_types(node: inspect.Type) -> list[inspect.StructType]:
    if isinstance(node, inspect.StructType):
        return [node]
    return [struct for part in _inner_types(node) for struct in _struct_types(part)]


def _inner_types(node: inspect.Type) -> list[inspect.Type]:
    if isinstance(node, inspect.UnionType):
        return list(node.types)
    if isinstance(node, inspect.ListType):
        return [node.item_type]
    if isinstance(node, inspect.Metadata):
        return [node.type]
    return []


def _bad_value_error(at: DecodeFailure) -> RequestError:
    return invalid_input(at.field, HIDDEN if at.secret else shown_value(at.value), at.rule)


def shown_value(value: Any) -> str:
    """Return a string of a body unchanged, and any other value as JSON text."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _holds_secret(node: inspect.Type) -> bool:
    """Whether the type is, or contains, a :data:`SecretText`."""
    if isinstance(node, inspect.Metadata) and (node.extra_json_schema or {}).get("writeOnly"):
        return True
    below = [field.type for field in node.fields] if isinstance(node, inspect.StructType) else _inner_types(node)
    return any(map(_holds_secret, below))


def _descend_step(node: inspect.Type, step: Step) -> inspect.Type:
    for part in _leaf_types(node):
        if isinstance(part, inspect.StructType) and isinstance(step, str):
            return next(field.type for field in part.fields if field.encode_name == step)
        if isinstance(part, inspect.ListType) and isinstance(step, int):
            return part.item_type
        if isinstance(part, inspect.DictType):
            return part.value_type
    return node


def _leaf_types(node: inspect.Type) -> list[inspect.Type]:
    if isinstance(node, inspect.UnionType | inspect.Metadata) and not _type_description(node):
        return [leaf for part in _inner_types(node) for leaf in _leaf_types(part)]
    return [node]


def _type_description(node: inspect.Type) -> str:
    if not isinstance(node, inspect.Metadata):
        return ""
    return str((node.extra_json_schema or {}).get("description", ""))


def _describe_allowed(node: inspect.Type, value: Any) -> str:
    """Describe the allowed values at the place of ``value``: first the rule that the value breaks, in Octavia's words
    if there are any.
    """
    if description := _type_description(node):
        words = _violated_text_rule(node, value) or _refusal_text(node)
        if words and words != f"Value should be {description.removeprefix('a ')}":
            return f"{words}: {description}."
        return f"Value should be: {description}."
    if isinstance(node, inspect.IntType | inspect.FloatType):
        word = "an integer" if isinstance(node, inspect.IntType) else "a number"
        return f"Value should be {_violated_bound_text(node, value)}{word}{_range_text(node.ge, node.le)}."
    if isinstance(node, inspect.StrType):
        return _describe_string(node, value)
    if isinstance(node, inspect.LiteralType):
        return f"Value should be one of: {', '.join(map(str, node.values))}."
    if isinstance(node, inspect.ListType):
        limit = "" if node.max_length is None else f" of at most {node.max_length} items"
        return f"Value should be a list{limit}."
    if isinstance(node, inspect.BoolType):
        return "Value should be true or false."
    return "Value should be an object."


def _range_text(low: float | None, high: float | None) -> str:
    if low is None:
        return "" if high is None else f", lower or equal to {high}"
    return f", greater or equal to {low}" if high is None else f" from {low} to {high}"


def _violated_bound_text(node: inspect.IntType | inspect.FloatType, value: Any) -> str:
    number = _parse_number(value)
    if number is None:
        return ""
    if node.ge is not None and number < node.ge:
        return f"greater or equal to {node.ge}: "
    return f"lower or equal to {node.le}: " if node.le is not None and number > node.le else ""


def _parse_number(value: Any) -> float | None:
    try:
        # float() would take a bool for 0 or 1; it reads texts, too, which Neutron's APIs accept as numbers.
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _describe_string(node: inspect.StrType, value: Any) -> str:
    pattern = "" if node.pattern is None or "x00" in node.pattern else f" that matches {node.pattern}"
    nul = ", without NUL characters" if node.pattern and "x00" in node.pattern else ""
    least = f" of at least {node.min_length}" if node.min_length else ""
    most = f" of at most {node.max_length}" if node.max_length else ""
    length = f"{least}{' and' if least and most else ''}{most}{' characters' if least or most else ''}"
    whole = f"string{length}{pattern}{nul}."
    words = _violated_text_rule(node, value)
    return f"{words}: a {whole}" if words and isinstance(value, str) else f"Value should be {whole}"


def _violated_text_rule(node: inspect.Type, value: Any) -> str:
    """Describe a wrong type or length of a text in Octavia's words; empty if both are right, or if Octavia's
    sentence about the attribute's format applies instead.
    """
    text = node.type if isinstance(node, inspect.Metadata) else node
    if not isinstance(text, inspect.StrType):
        return ""
    if not isinstance(value, str):
        return "" if _refusal_text(node).endswith("format") else "Value should be string"
    if text.max_length and len(value) > text.max_length and not _refusal_text(node).endswith("format"):
        return f"Value should have a maximum character requirement of {text.max_length}"
    if len(value) < (text.min_length or 0) and not _refusal_text(node):
        return f"Value should have a minimum character requirement of {text.min_length}"
    return ""


def _refusal_text(node: inspect.Type) -> str:
    return str((node.extra or {}).get(REFUSAL, "")) if isinstance(node, inspect.Metadata) else ""
