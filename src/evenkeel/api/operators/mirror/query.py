"""Query parameters of the mirror."""

import re
from collections.abc import Mapping

from evenkeel.api.http.call import Call
from evenkeel.api.responses.errors import InvalidQuery
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.names import MAX_ENVIRONMENT_NAME_CHARACTERS

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_SECONDS_PATTERN = re.compile(r"[0-9]{1,11}(?:\.[0-9]{1,9})?")


def path_id(call: Call) -> LoadBalancerId:
    """Return the load balancer's id in the path. Raises :class:`Invalid` unless it is a UUID in lower case."""
    given = call.params["id"]
    if not UUID.fullmatch(given):
        raise Invalid("Invalid input for field/attribute id. Value should be a UUID in lower case.")
    return LoadBalancerId(given)


def parse_provider(options: Mapping[str, str]) -> str:
    """Return the query parameter ``provider``, which is required. Raises :class:`InvalidQuery` if it is absent or
    too long.
    """
    provider = options.get("provider", "")
    if not 1 <= len(provider) <= MAX_ENVIRONMENT_NAME_CHARACTERS:
        raise InvalidQuery(
            "Invalid input for query parameter provider. Value should be the name of an environment, of 1 to "
            f"{MAX_ENVIRONMENT_NAME_CHARACTERS} characters."
        )
    return provider


def parse_snapshot(options: Mapping[str, str]) -> float:
    """Return the query parameter ``snapshot``, a time in seconds, which is required. Raises :class:`InvalidQuery`
    if it is absent or no such number.
    """
    given = options.get("snapshot", "")
    if not _SECONDS_PATTERN.fullmatch(given):
        raise InvalidQuery("Invalid input for query parameter snapshot. Value should be a time in seconds.")
    return float(given)


def parse_older_seconds(options: Mapping[str, str]) -> float:
    """Return the query parameter ``older``, an age in seconds that ports must have; 0 if it is absent. Raises
    :class:`InvalidQuery`.
    """
    given = options.get("older", "0")
    if not _SECONDS_PATTERN.fullmatch(given):
        raise InvalidQuery("Invalid input for query parameter older. Value should be an age in seconds.")
    return float(given)


def parse_marker(options: Mapping[str, str]) -> str:
    """Return the query parameter ``marker``, a load balancer's id; empty if it is absent. Raises
    :class:`InvalidQuery` for another value.
    """
    marker = options.get("marker", "")
    if marker and not UUID.fullmatch(marker):
        raise InvalidQuery("Invalid input for query parameter marker. Value should be the id of a load balancer.")
    return marker
