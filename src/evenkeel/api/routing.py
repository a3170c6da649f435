"""One declared map of routes: each entry says everything about an operation, for serving and for OpenAPI alike."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from evenkeel.api.answers import Answer
from evenkeel.api.style import OCTAVIA, ApiStyle
from evenkeel.core.values import Value

Handler = Callable[..., Awaitable[Answer]]
"""``(services, call)``, and the decoded body as third argument if the operation has one."""


class Parameter(Value):
    """A query parameter."""

    name: str
    description: str
    type: Any = str
    repeatable: bool = False


class Operation(Value):
    """What one method of one path does."""

    method: str
    path: str
    """With ``{name}`` for path parameters, below the map's prefix."""
    handle: Handler
    summary: str
    rule: str
    """Name of the policy rule that says who may; :data:`evenkeel.api.policy.names.PUBLIC`: everybody."""
    body: type[Any] | None = None
    answer: type[Any] | None = None
    """None: no content."""
    status: int = 200
    parameters: Sequence[Parameter] = ()
    partial: type[Any] | None = None
    """The type in the answer of which ``fields`` may choose attributes, so that none is sure to be there."""
    filters: bool = False
    """Any attribute may be a query parameter too."""
    errors: Sequence[int] = ()
    """Statuses it may answer beside the common ones."""
    hidden: bool = False
    """Not in the OpenAPI document."""


class RouteMap(Value):
    """Operations under the same prefixes; the first prefix is the one to document."""

    tag: str
    prefixes: tuple[str, ...]
    operations: tuple[Operation, ...]
    style: ApiStyle = OCTAVIA
    """How bodies are read and errors told."""
