"""Shared parts of the operators' handlers: authorization and query parameters."""

from collections.abc import Iterable, Mapping, Sequence

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Handler
from evenkeel.api.responses.answers import Answer
from evenkeel.api.responses.errors import Forbidden, InvalidQuery
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus

VALUES_NAMED_MAX = 50
"""Most allowed values that an error names."""
STATUSES: Mapping[str, tuple[str, ...]] = {
    "provisioning_status": tuple(ProvisioningStatus),
    "operating_status": tuple(OperatingStatus),
}
"""Values that a filter by a status can have, by its query parameter."""


def operator_only(handler: Handler) -> Handler:
    """Return a handler that raises :class:`Forbidden` unless the caller may see all projects, independent of
    policy files, because operators see all tenants' objects.
    """

    async def refuse_others(services: Services, call: Call, *body: object) -> Answer:
        if call.caller.scope is not None:
            raise Forbidden
        return await handler(services, call, *body)

    return refuse_others


def query_options(call: Call, allowed: tuple[str, ...]) -> Mapping[str, str]:
    """Return the values of the query parameters by name. Raises :class:`InvalidQuery` for one that is not among
    ``allowed`` or is repeated.
    """
    options: dict[str, str] = {}
    for name, value in call.query:
        if name not in allowed or name in options:
            raise InvalidQuery(f"Invalid query parameter '{name[:64]}'. Allowed, once each: {', '.join(allowed)}.")
        options[name] = value
    return options


def parse_number_within(name: str, given: str, low: int, high: int) -> int:
    if given.isdecimal() and len(given) <= 19 and low <= int(given) <= high:
        return int(given)
    raise invalid_parameter(name, given, f"Value should be an integer from {low} to {high}.")


def invalid_parameter(name: str, given: str, rule: str) -> InvalidQuery:
    """Build the error for the value of a query parameter; ``rule``: a sentence about allowed values."""
    return InvalidQuery(f"Invalid input for query parameter {name}. Value: '{given[:64]}'. {rule}")


def not_allowed_value(name: str, given: str, allowed: Sequence[str], more: str = "") -> InvalidQuery:
    """Build the error for a value of a query parameter that is not among ``allowed``, of which at most
    :data:`VALUES_NAMED_MAX` are named; ``more``: text about what may follow a value.
    """
    cut = f", … ({len(allowed)})" if len(allowed) > VALUES_NAMED_MAX else ""
    named = ", ".join(allowed[:VALUES_NAMED_MAX]) or "none exists yet"
    return invalid_parameter(name, given, f"Allowed: {named}{cut}{more}.")


async def check_environment(services: Services, found: Iterable[object], given: str | None) -> None:
    """Raise :class:`InvalidQuery` if nothing was found because no environment has the given name (None: none was
    given); pass if something was found.
    """
    if given is None or any(True for _ in found):
        return
    names = [row.name for row in await services.operators.environments()]
    if given not in names:
        raise not_allowed_value("environment", given, names)


def check_statuses(query: ListQuery) -> None:
    """Raise :class:`InvalidQuery` for a filter by a status that does not exist; Octavia's own API finds nothing
    then.
    """
    for name, statuses in STATUSES.items():
        for given in query.filters.get(name, ()):
            if given not in statuses:
                raise not_allowed_value(name, str(given), statuses)
