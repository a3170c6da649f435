"""Request bodies in Neutron's style: numbers and booleans may be text, and errors have Neutron's texts."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import inspect

from evenkeel.api.http.bodies import Request, check_names_unique
from evenkeel.api.http.lists import is_integer
from evenkeel.api.neutron.errors import NeutronRefusal, bad_request
from evenkeel.api.neutron.fields import UUID_PATTERN
from evenkeel.api.responses.decode_errors import DecodeFailure, decode_failure, shown_value
from evenkeel.api.responses.errors import shorten
from evenkeel.api.responses.flags import LaxDecoder
from evenkeel.api.usecases.parents import HasProject
from evenkeel.core.kit.errors import Invalid

T = TypeVar("T")


class NeutronNew(Request):
    """Base of create requests of the Neutron APIs."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id"})
    """Names of attributes that responses show but requests must not contain."""


class NeutronChange(Request):
    """Base of change requests of the Neutron APIs."""

    READ_ONLY: ClassVar[frozenset[str]] = frozenset({"id", "tenant_id", "project_id"})
    """Names of attributes that responses show but changes must not contain."""


class NeutronReader(Generic[T]):
    """Decoder of bodies of one type: a struct that wraps the object in one attribute. If the type has a
    second attribute, with a list of objects to create together, a body must have exactly one of both.
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._names: tuple[str, ...] = kind.__struct_fields__
        self._decode: Callable[[bytes], Any] = LaxDecoder(kind).decode

    def decode_body(self, raw: bytes) -> T:
        """Decode a body. Raises :class:`NeutronRefusal` (400), with Neutron's error type and text, for a body
        that the type does not allow.
        """
        if not raw:
            raise bad_request("Resource body required")
        try:
            body: Any = self._decode(raw)
            check_names_unique(raw)
        except msgspec.ValidationError as error:
            raise self._body_refusal(error, raw) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _malformed_body_error(error) from error
        except Invalid as error:
            raise bad_request(str(error), "MalformedRequestBody") from error
        if len(self._names) > 1:
            self._check_body_has_one_object(body)
        found: T = body
        return found

    def _check_body_has_one_object(self, body: Any) -> None:
        given = [name for name in self._names if getattr(body, name) is not None]
        if not given:
            raise _missing_object_error(self._names[0])
        if len(given) > 1:
            raise bad_request(f"Only one of {', '.join(given)} may be in the request body")

    def _body_refusal(self, error: msgspec.ValidationError, raw: bytes) -> NeutronRefusal:
        try:
            body = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as broken:
            return _malformed_body_error(broken)
        if not isinstance(body, dict):
            return bad_request("Resource body required")
        name = self._names[0]
        if not body.keys() & set(self._names):
            return (
                bad_request("Bulk operation not supported")
                if _plural_name(name) in body
                else _missing_object_error(name)
            )
        try:
            return _explain_refusal(str(error), body, self._kind)
        except (LookupError, TypeError, AttributeError):  # a duplicate name: the decoder used the other one
            return _malformed_body_error(error)


def _explain_refusal(text: str, body: Any, kind: type[Any]) -> NeutronRefusal:
    at = decode_failure(text, body, kind)
    if text.startswith(("Object contains unknown field", "Object missing required field")):
        return _attributes_not_allowed_error(at)
    return _bad_value_error(at)


def _malformed_body_error(error: Exception) -> NeutronRefusal:
    return bad_request(f"Malformed request body: {error}.", "MalformedRequestBody")


def _missing_object_error(name: str) -> NeutronRefusal:
    return bad_request(f"Unable to find '{name}' in request body")


def _plural_name(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _attributes_not_allowed_error(at: DecodeFailure) -> NeutronRefusal:
    """Build the error for unknown, forbidden or missing attributes; unknown attributes come first."""
    node = [part for part in at.allowed if isinstance(part, inspect.StructType)][0]  # noqa: RUF015
    fields = {field.encode_name: field.required for field in node.fields}
    given = at.value.keys()
    not_allowed: Iterable[str] = getattr(node.cls, "NOT_ALLOWED", ())
    read_only: Iterable[str] = getattr(node.cls, "READ_ONLY", ())
    if unknown := sorted(given - fields.keys() - set(not_allowed) - set(read_only)):
        return bad_request(f"Unrecognized attribute(s) '{shorten(', '.join(unknown))}'")
    for name in given - fields.keys():
        if name in read_only:
            return bad_request(f"Cannot update read-only attribute {name}")
        return bad_request(f"Attribute '{name}' not allowed in POST")
    missing = [name for name, required in fields.items() if required and name not in given]
    return bad_request(f"Failed to parse request. Required attribute '{missing[0]}' not specified")


def _bad_value_error(at: DecodeFailure) -> NeutronRefusal:
    value = shorten(shown_value(at.value))
    if _is_uuid_expected(at):
        return invalid_value(at.field, f"'{_neutron_notation(at)}' is not a valid UUID.")
    if _is_unconvertible_integer(at):
        return bad_request(f"Invalid input for operation: '{_neutron_notation(at)}' is not an integer.", "InvalidInput")
    if any(isinstance(part, inspect.BoolType) for part in at.allowed):
        return bad_request(
            f"Invalid input for operation: '{value}' cannot be converted to boolean ({at.field}).", "InvalidInput"
        )
    return invalid_value(at.field, f"'{value}' is not allowed. {at.rule}")


def _is_uuid_expected(at: DecodeFailure) -> bool:
    return any(isinstance(part, inspect.StrType) and part.pattern == UUID_PATTERN for part in at.allowed)


def _is_unconvertible_integer(at: DecodeFailure) -> bool:
    """Whether the place wants an integer that Neutron converts before it checks the range, and the value
    cannot be converted: it is null, a list, or a text that is no number.
    """
    if at.field in _UNCONVERTED or not any(isinstance(part, inspect.IntType) for part in at.allowed):
        return False
    value = at.value
    return isinstance(value, list | None) or (isinstance(value, str) and not is_integer(value))


def _neutron_notation(at: DecodeFailure) -> str:
    """Return the value in Neutron's notation."""
    return "None" if at.value is None else shorten(shown_value(at.value))


_UNCONVERTED = frozenset({"weight"})
"""Names of integers that Neutron checks without conversion."""


def check_tenant(scope: str | None, wanted: HasProject) -> None:
    """Check that only an operator (``scope`` None) names another project. Raises :class:`NeutronRefusal` (400)."""
    if scope is not None and {wanted.tenant_id or scope, wanted.project_id or scope} != {scope}:
        raise bad_request(
            "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or"
            " advsvc privileges"
        )


def invalid_value(field: str, reason: str) -> NeutronRefusal:
    """Build the error (400) for a value of ``field`` that is not allowed."""
    return bad_request(f"Invalid input for {field}. Reason: {reason}")
