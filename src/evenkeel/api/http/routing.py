"""Declarations of routes: each entry describes an operation completely, for serving and for OpenAPI."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from evenkeel.api.http.style import OCTAVIA, ApiStyle
from evenkeel.api.responses.answers import Answer
from evenkeel.core.kit.values import Value

Handler = Callable[..., Awaitable[Answer]]
"""Function called with ``(services, call)``, and the decoded body as third argument if the operation has one."""


class Parameter(Value):
    """A query parameter of a route. ``type``: str, int or bool, for the OpenAPI document; handlers parse
    values themselves.
    """

    name: str
    description: str
    type: Any = str
    repeatable: bool = False


class Operation(Value):
    """The operation of one method of one path."""

    method: str
    path: str
    """Path below the map's prefix, with ``{name}`` for path parameters."""
    handle: Handler
    summary: str
    rule: str
    """Name of the policy rule; :data:`evenkeel.api.policy.names.PUBLIC`: without authentication."""
    body: type[Any] | None = None
    body_bytes: int = 0
    """Size in bytes up to which bodies are accepted, if that is more than the configured limit of all operations."""
    answer: type[Any] | None = None
    """Type of the response's body; None: no content."""
    status: int = 200
    parameters: Sequence[Parameter] = ()
    partial: type[Any] | None = None
    """The type in the response whose attributes ``fields`` may select, so that none is required; None: all are sent."""
    streams: bool = False
    """True: a client that accepts ``text/event-stream`` gets server-sent events."""
    filters: bool = False
    """True: any attribute of the listed objects may be a query parameter, besides ``parameters``."""
    errors: Sequence[int] = ()
    """Error statuses of this route besides those that follow from its declaration: 400, 404, 406, 500 and 503; with a
    body 408, 413 and 415; with authentication 401, 403 and 429.
    """
    refused: Callable[[], Answer] | None = None
    """Function that builds the response to callers whom the rule does not allow; None: 403."""
    audited: bool = True
    """False: the audit trail leaves requests out, because they change no object, whatever their method; those refused
    with 401 or 403 stay in it.
    """
    act: str = ""
    """Name of the operators' act in :data:`evenkeel.core.control.acts.OPERATOR_ACTION_EFFECTS`; empty: the operation
    is no act that a dashboard offers.
    """
    hidden: bool = False
    """True: the route is left out of the OpenAPI document."""


class RouteMap(Value):
    """Operations below the same prefixes; documents show the first prefix."""

    tag: str
    prefixes: tuple[str, ...]
    operations: tuple[Operation, ...]
    style: ApiStyle = OCTAVIA
    """The API style by which the map's routes read bodies and format errors."""
