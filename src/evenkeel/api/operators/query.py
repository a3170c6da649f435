"""Shared parts of the operators' handlers: authorization and query parameters."""

from collections.abc import Mapping

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Handler
from evenkeel.api.responses.answers import Answer
from evenkeel.api.responses.errors import BadList, Forbidden


def operator_only(handler: Handler) -> Handler:
    """Return a handler that requires a caller who may see all projects, independent of policy files, because operators
    see all tenants' objects.
    """

    async def handle(services: Services, call: Call, *body: object) -> Answer:
        if call.caller.scope is not None:
            raise Forbidden
        return await handler(services, call, *body)

    return handle


def options_of(call: Call, allowed: tuple[str, ...]) -> Mapping[str, str]:
    """Return the query parameters, each known and present at most once. Raises :class:`BadList`."""
    options: dict[str, str] = {}
    for name, value in call.query:
        if name not in allowed or name in options:
            raise BadList(f"Invalid query parameter '{name[:64]}'. Allowed, once each: {', '.join(allowed)}.")
        options[name] = value
    return options


def number_of(name: str, given: str, low: int, high: int) -> int:
    if given.isdecimal() and len(given) <= 19 and low <= int(given) <= high:
        return int(given)
    raise BadList(
        f"Invalid input for query parameter {name}. Value: '{given[:64]}'. Value should be an integer from "
        f"{low} to {high}."
    )
