"""One API request: its caller, parameters and headers."""

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import parse_qsl

from evenkeel.api.identity.caller import Headers
from evenkeel.api.policy.policy import AdmittedCaller
from evenkeel.api.responses.errors import InvalidQuery
from evenkeel.api.responses.flags import FLAG_WORDS
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value

Query = list[tuple[str, str]]


MAX_QUERY_PARAMETERS = 100


NO_CALLER = AdmittedCaller(project_id=ProjectId(""), scope=ProjectId(""))
"""The caller of a public route. No project has the empty id, so no tenant's object is accessible."""


class RequestLimits(Value):
    """Limits of one request. Types limit the lists in bodies."""

    body_bytes: int = 1 << 20
    page_items: int = 1000
    """Default and largest value of the ``limit`` parameter."""
    applied_seconds: float = 0.0
    """Longest time that the answer to a write waits until devices have applied the write; 0: no answer waits."""


class Permissions(Protocol):
    """Answers further questions about a request's caller by the policy, which has admitted the request already."""

    def permits(self, rule: str) -> bool:
        """Whether the rule allows the caller for every project."""
        ...

    def roles_of(self, rule: str) -> tuple[str, ...]:
        """Return the roles that the rule and the rules it refers to name."""
        ...


class Call:
    """One API request. ``headers`` has lower-case names, ``params`` the path's parameters; ``prefix`` is the
    path below which a proxy offers the API; ``permissions`` is None for a public route.
    """

    __slots__ = (
        "_query",
        "_query_string",
        "caller",
        "headers",
        "params",
        "path",
        "permissions",
        "prefix",
        "request_id",
        "scheme",
    )

    def __init__(
        self,
        *,
        caller: AdmittedCaller,
        headers: Headers,
        params: Mapping[str, str],
        path: str,
        query_string: bytes,
        request_id: str,
        scheme: str,
        prefix: str = "",
        permissions: Permissions | None = None,
    ) -> None:
        self.caller = caller
        self.permissions = permissions
        self.headers = headers
        self.params = params
        self.path = path
        self.request_id = request_id
        self.scheme = scheme
        self.prefix = prefix
        self._query_string = query_string
        self._query: Query | None = None

    @property
    def query(self) -> Query:
        """Query parameters in order, as pairs of name and value, parsed at the first access. Raises
        :class:`InvalidQuery` for too many of them or NUL characters.
        """
        if self._query is None:
            self._query = parsed_query(self._query_string) if self._query_string else []
        return self._query

    @property
    def base_url(self) -> str:
        """Scheme, host and path prefix of the API, from the client's point of view, without a slash at the
        end; ``localhost`` for a request without a host.
        """
        host = self.headers.get(b"host", b"localhost").decode("latin-1")
        return f"{self.scheme}://{host}{self.prefix}"

    def query_values(self, name: str) -> list[str]:
        """Return the non-empty values of a query parameter, in order. Raises :class:`InvalidQuery` for an invalid
        query string.
        """
        return [value for key, value in self.query if key == name and value]

    def query_flag(self, name: str) -> bool:
        """Return a boolean query parameter, of repeated ones the last; False if absent. Raises
        :class:`InvalidQuery` for another value.
        """
        values = [value for key, value in self.query if key == name]
        return parse_bool(name, values[-1]) if values else False


def parsed_query(query_string: bytes) -> Query:
    """Parse a query string into pairs of name and value, in order. Raises :class:`InvalidQuery` for too many
    parameters, or NUL characters (databases refuse them).
    """
    try:
        # latin-1 accepts any bytes; parse_qsl decodes the percent-encoded characters as UTF-8.
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError as error:
        raise InvalidQuery(f"There may be at most {MAX_QUERY_PARAMETERS} query parameters.") from error
    for name, value in pairs:
        if "\0" in name or "\0" in value:
            raise InvalidQuery(f"Query parameter {name.replace(chr(0), '?')[:64]}: NUL characters are not allowed.")
    return pairs


def parse_bool(name: str, value: str) -> bool:
    """Parse a boolean in the spellings of :data:`FLAG_WORDS`, in any case. Raises :class:`InvalidQuery` naming the
    parameter.
    """
    if (flag := FLAG_WORDS.get(value.lower())) is not None:
        return flag
    raise InvalidQuery(f"Invalid input for query parameter {name}. Value: '{value[:64]}'. Allowed: true, false.")
