"""Context of a handler: the services of this process, and the current request."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from typing import Self
from urllib.parse import parse_qsl

import structlog

from evenkeel.api.answers import Answer
from evenkeel.api.errors import BadList
from evenkeel.api.events.feed import EventFeed
from evenkeel.api.flags import FLAG_WORDS
from evenkeel.api.identity.caller import Headers, checked_project
from evenkeel.api.octavia.references import ReferenceReader
from evenkeel.api.policy.policy import Admitted
from evenkeel.api.ports import ActivitySource, ChangeSink, TrafficSource
from evenkeel.api.provider_lookup import ProviderLookup
from evenkeel.api.recent import Coalesced, Recent
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import STRICT, AddressRules
from evenkeel.core.ports import CertificateStore, KeyManager, Network, Store
from evenkeel.core.tls.tls import ANY_TLS, TlsRules

log = structlog.get_logger(__name__)

Query = list[tuple[str, str]]

MAX_QUERY_PARAMETERS = 100
INQUIRIES_MAX = 16
"""Most requests of this process that wait for an agent's answer at the same time."""
READINESS_SECONDS = 2.0
"""Time for which a response of ``/healthz/ready`` is cached, because clients need no authentication for it."""
ACTIVITY_SECONDS = 5.0
"""Time for which a response of ``/activity`` is cached, because many dashboards request it."""

NOBODY = Admitted(project_id=ProjectId(""), scope=ProjectId(""))
"""The caller of a public route. No project has that id, so no tenant's object is accessible."""


class Limits(Value):
    """Limits of one request. Types limit the lists in bodies."""

    body_bytes: int = 1 << 20
    page_items: int = 1000
    """Default and largest value of the ``limit`` parameter."""


class Services:
    """The services that handlers use; one instance per process."""

    def __init__(
        self,
        *,
        store: Store,
        network: Network,
        driver: ChangeSink,
        default_provider: str,
        limits: Limits,
        capabilities: Mapping[str, Capabilities],
        addresses: AddressRules = STRICT,
        certificates: CertificateStore | None = None,
        key_manager: KeyManager | None = None,
        tls: TlsRules = ANY_TLS,
        new_id: Callable[[], str] | None = None,
        broker_problem: Callable[[], str] = lambda: "",
        traffic: TrafficSource,
        activity: ActivitySource,
    ) -> None:
        self.tenants = store.tenants
        self._lbaas_tenants = store.lbaas_tenants
        self.lbaas_v1 = store.lbaas_v1
        self.operators = store.operators
        self.quotas = store.quotas
        self.catalogue = store.catalogue
        self.ping = store.ping
        self.write_problem = store.write_problem
        self.network = network
        self.default_provider = default_provider
        self.limits = limits
        self.addresses = addresses
        self.certificates = certificates
        self.tls = tls
        self.references = ReferenceReader(key_manager)
        self.providers = ProviderLookup(store.operators, store.tenants, capabilities)
        self.broker_problem = broker_problem
        self.traffic = traffic
        self.activity = activity
        self.recent_activity: Recent[Answer] = Recent(ACTIVITY_SECONDS)
        self.problem_kinds: Recent[tuple[str, ...]] = Recent(READINESS_SECONDS)
        # many dashboards read both again when an event happens
        self.status: Coalesced[Answer] = Coalesced()
        self.topology: Coalesced[Answer] = Coalesced()
        self.event_feed = EventFeed(store.operators.events)
        self.inquiries = asyncio.Semaphore(INQUIRIES_MAX)
        self.new_id = new_id or (lambda: str(uuid.uuid4()))
        self._driver = driver

    def changing_in_error(self) -> Self:
        """Return a copy of the services for APIs that change objects in ERROR even where immutability is strict."""
        same = copy(self)
        same.tenants = self._lbaas_tenants
        return same

    async def accepted(self, change: Change) -> None:
        """Notify the driver of a committed write. Does not raise: the request has succeeded."""
        await self._notify(self._driver.accepted, change)

    async def failed_over(self, change: Change) -> None:
        """Notify the driver of a committed failover. Does not raise: the request has succeeded."""
        await self._notify(self._driver.failed_over, change)

    async def send_inquiry(
        self, owner: ShardOwner, load_balancer_id: LoadBalancerId, inquiry_id: str, *, adopt: bool = False
    ) -> None:
        """Send an operator's question to an agent. Raises :class:`BusUnavailable`."""
        await self._driver.send_inquiry(owner, load_balancer_id, inquiry_id, adopt=adopt)

    async def request_full_resync(self, owners: Sequence[ShardOwner]) -> None:
        """Make these agents start a complete pass over their shards."""
        await self._driver.request_full_resync(owners)

    async def _notify(self, notify: Callable[[Change], Awaitable[None]], change: Change) -> None:
        try:
            await notify(change)
        except Exception as error:
            log.error(
                "driver failed on an accepted change; the scheduler will find it",
                load_balancer_id=change.load_balancer_id,
                revision=change.revision,
                exc_info=error,
            )


class Call:
    """One API request: its caller, parameters and headers."""

    __slots__ = ("_query", "_query_string", "caller", "headers", "params", "path", "request_id", "scheme")

    def __init__(
        self,
        *,
        caller: Admitted,
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
        """Query parameters in order. Raises :class:`BadList`."""
        if self._query is None:
            self._query = parsed_query(self._query_string) if self._query_string else []
        return self._query

    @property
    def base_url(self) -> str:
        """Scheme and host of the request, from the client's point of view."""
        host = self.headers.get(b"host", b"localhost").decode("latin-1")
        return f"{self.scheme}://{host}"

    def values(self, name: str) -> list[str]:
        """Return the non-empty values of a query parameter. Raises :class:`BadList`."""
        return [value for key, value in self.query if key == name and value]

    def flag(self, name: str) -> bool:
        """Return a boolean query parameter; absent: False. Raises :class:`BadList`."""
        values = [value for key, value in self.query if key == name]
        return as_bool(name, values[-1]) if values else False


def parsed_query(query_string: bytes) -> Query:
    """Parse names and values of a query string. Raises :class:`BadList` for too many parameters, or NUL characters
    (databases refuse them).
    """
    try:
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError as error:
        raise BadList(f"There may be at most {MAX_QUERY_PARAMETERS} query parameters.") from error
    for name, value in pairs:
        if "\0" in name or "\0" in value:
            raise BadList(f"Query parameter {name.replace(chr(0), '?')[:64]}: NUL characters are not allowed.")
    return pairs


def as_bool(name: str, value: str) -> bool:
    """Parse a boolean in the spellings that clients use. Raises :class:`BadList`."""
    if (flag := FLAG_WORDS.get(value.lower())) is not None:
        return flag
    raise BadList(f"Invalid input for query parameter {name}. Value: '{value[:64]}'. Allowed: true, false.")


__all__ = [
    "NOBODY",
    "Admitted",
    "Call",
    "Headers",
    "Limits",
    "Query",
    "Services",
    "as_bool",
    "checked_project",
    "parsed_query",
]
