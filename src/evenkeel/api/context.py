"""What a handler is given: the services of this process, and the request at hand."""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

import structlog

from evenkeel.api.errors import BadList
from evenkeel.api.ports import ChangeSink
from evenkeel.core.control import Change
from evenkeel.core.errors import Invalid
from evenkeel.core.ports import Network, Store
from evenkeel.core.values import Value

log = structlog.get_logger(__name__)

Headers = Mapping[bytes, bytes]
Query = list[tuple[str, str]]

MAX_QUERY_PARAMETERS = 100
PROVIDERS_REMEMBERED_SECONDS = 2.0


class Limits(Value):
    """What one request may ask for. Lists in bodies are bounded by their types."""

    body_bytes: int = 1 << 20
    page_items: int = 1000
    """Default and cap of ``limit``."""


class Caller(Value):
    """Who asks. ``scope`` None: may see and change every project; else only that one."""

    project_id: str
    """Whose what is made is, unless the body says otherwise."""
    scope: str | None = None


Identify = Callable[[Headers], Caller]
"""Tells the caller from the headers. Raises :class:`evenkeel.api.errors.Refusal` (401, 403)."""

DEFAULT_PROJECT = "default"


def no_identity(headers: Headers) -> Caller:
    """Everybody may do everything; ``X-Project-Id`` names the project of what is made."""
    given = headers.get(b"x-project-id", b"").decode("latin-1").strip()
    return Caller(project_id=checked_project(given, "X-Project-Id") if given else DEFAULT_PROJECT)


def checked_project(project_id: str, field: str) -> str:
    """The project id, if it is one. Raises :class:`Invalid`.

    Project ids become names of device partitions and parts of paths, so their alphabet is a narrow one.
    """
    plain = project_id.replace("-", "").replace("_", "").replace(".", "")
    if len(project_id) <= 36 and plain.isascii() and plain.isalnum():
        return project_id
    raise Invalid(
        f"Invalid input for field/attribute {field}. Value: '{project_id[:64]}'. Value should be 1 to 36 letters, "
        "digits, dots, dashes and underscores."
    )


class Services:
    """What handlers work with; one per process."""

    def __init__(
        self,
        *,
        store: Store,
        network: Network,
        driver: ChangeSink,
        default_provider: str,
        limits: Limits,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        self.store = store
        self.network = network
        self.default_provider = default_provider
        self.limits = limits
        self.new_id = new_id or (lambda: str(uuid.uuid4()))
        self._driver = driver
        self._providers: frozenset[str] = frozenset()
        self._providers_until = 0.0

    async def accepted(self, change: Change) -> None:
        """Tell the driver; the write is committed, so nothing may go wrong any more."""
        try:
            await self._driver.accepted(change)
        except Exception as error:
            log.error(
                "driver failed on an accepted change; a sweep will find it",
                load_balancer_id=change.load_balancer_id,
                revision=change.revision,
                exc_info=error,
            )

    def forget_providers(self) -> None:
        """An environment was removed."""
        self._providers = frozenset()

    async def check_provider(self, name: str) -> None:
        """Raises :class:`Invalid` unless an environment has that name. Known ones are remembered for a while: a load
        balancer accepted for one that another controller removed meanwhile waits, and says why."""
        now = asyncio.get_running_loop().time()
        if name in self._providers and now < self._providers_until:
            return
        self._providers = frozenset(row.name for row in await self.store.environments())
        self._providers_until = now + PROVIDERS_REMEMBERED_SECONDS
        if name not in self._providers:
            known = ", ".join(sorted(self._providers)) or "none"
            raise Invalid(f"Provider '{name}' is not enabled. Enabled providers: {known}.")


class Call:
    """One request, as far as handlers care."""

    __slots__ = ("_query", "_query_string", "caller", "headers", "params", "path", "request_id", "scheme")

    def __init__(
        self,
        *,
        caller: Caller,
        headers: Headers,
        params: Mapping[str, str],
        path: str,
        query_string: bytes,
        request_id: str,
        scheme: str,
    ) -> None:
        self.caller = caller
        self.headers = headers
        self.params = params
        self.path = path
        self.request_id = request_id
        self.scheme = scheme
        self._query_string = query_string
        self._query: Query | None = None

    @property
    def query(self) -> Query:
        """The query parameters in order. Raises :class:`BadList`."""
        if self._query is None:
            self._query = parsed_query(self._query_string) if self._query_string else []
        return self._query

    @property
    def base_url(self) -> str:
        """Scheme and host as the client sees them."""
        host = self.headers.get(b"host", b"localhost").decode("latin-1")
        return f"{self.scheme}://{host}"

    def flag(self, name: str) -> bool:
        """A boolean query parameter; absent: False. Raises :class:`BadList`."""
        values = [value for key, value in self.query if key == name]
        return as_bool(name, values[-1]) if values else False


def parsed_query(query_string: bytes) -> Query:
    """Names and values. Raises :class:`BadList` for too many of them, or NUL characters (no database takes them)."""
    try:
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError as error:
        raise BadList(f"There may be at most {MAX_QUERY_PARAMETERS} query parameters.") from error
    for name, value in pairs:
        if "\0" in name or "\0" in value:
            raise BadList(f"Query parameter {name.replace(chr(0), '?')[:64]}: NUL characters are not allowed.")
    return pairs


def as_bool(name: str, value: str) -> bool:
    """True or False as clients write them. Raises :class:`BadList`."""
    lowered = value.lower()
    if lowered in ("true", "1", "t", "yes", "on"):
        return True
    if lowered in ("false", "0", "f", "no", "off"):
        return False
    raise BadList(f"Invalid input for query parameter {name}. Value: '{value[:64]}'. Allowed: true, false.")
