"""Services of the API process, which handlers of all APIs use."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from typing import Self

import structlog

from evenkeel.api.common.acme_requests import AcmeRequests
from evenkeel.api.common.applied_watch import AppliedWatch
from evenkeel.api.common.event_feed import EventFeed
from evenkeel.api.common.ports import ActivitySource, ChangeSink, TrafficSource
from evenkeel.api.common.provider_lookup import ProviderLookup
from evenkeel.api.common.recent import CoalescedCalls, RecentResult
from evenkeel.api.common.referenced_requests import CertificateRequester
from evenkeel.api.common.references import ReferenceReader
from evenkeel.api.http.call import RequestLimits
from evenkeel.api.responses.answers import Answer
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.networking.addresses import STRICT, AddressRules
from evenkeel.core.ports import CertificateStore, KeyManager, Network, Store
from evenkeel.core.protocol.inquiries import Inquiry
from evenkeel.core.tls.tls import UNRESTRICTED_TLS, TlsRules

log = structlog.get_logger(__name__)


INQUIRIES_MAX = 16
"""Most requests of this process that wait for an agent's answer at the same time."""


READINESS_SECONDS = 2.0
"""Time for which a response of ``/healthz/ready`` is cached, because clients need no authentication for it."""


ACTIVITY_SECONDS = 5.0
"""Time for which a response of ``/activity`` is cached, because many dashboards request it."""


class Services:
    """The services that handlers use: stores, network, driver, limits and caches. One instance per
    application, and a copy for LBaaS (:meth:`with_changes_in_error`).
    """

    def __init__(
        self,
        *,
        store: Store,
        network: Network,
        driver: ChangeSink,
        default_provider: str,
        limits: RequestLimits,
        capabilities: Mapping[str, Capabilities],
        addresses: AddressRules = STRICT,
        certificates: CertificateStore | None = None,
        key_manager: KeyManager | None = None,
        acme: AcmeRequests | None = None,
        tls: TlsRules = UNRESTRICTED_TLS,
        bare_esd_tags: bool = False,
        documentation_url: str = "",
        new_id: Callable[[], str] | None = None,
        broker_problem: Callable[[], str] = lambda: "",
        traffic: TrafficSource,
        activity: ActivitySource,
    ) -> None:
        self.tenants = store.tenants
        self._lbaas_tenants = store.lbaas_tenants
        self.mirrors = store.mirrors
        self.imports = store.imports
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
        self.acme_store = store.acme
        self.acme = acme
        self.tls = tls
        self.bare_esd_tags = bare_esd_tags
        self.documentation_url = documentation_url
        self.providers = ProviderLookup(store.operators, store.tenants, capabilities)
        self.broker_problem = broker_problem
        self.traffic = traffic
        self.activity = activity
        self.recent_activity: RecentResult[Answer] = RecentResult(ACTIVITY_SECONDS)
        self.problem_kinds: RecentResult[tuple[str, ...]] = RecentResult(READINESS_SECONDS)
        # many dashboards read both again when an event happens
        self.status: CoalescedCalls[Answer] = CoalescedCalls()
        self.topology: CoalescedCalls[Answer] = CoalescedCalls()
        self.event_feed = EventFeed(store.operators.events)
        self.inquiries = asyncio.Semaphore(INQUIRIES_MAX)
        self.new_id = new_id or (lambda: str(uuid.uuid4()))
        self.references = ReferenceReader(
            key_manager, requests=CertificateRequester(store.acme, certificates, acme, self.new_id)
        )
        self._driver = driver
        self._applied = AppliedWatch(store.tenants.find_pending, limits.applied_seconds)

    def with_changes_in_error(self) -> Self:
        """Return a copy of the services whose writes are accepted on objects in ERROR even where immutability is
        strict, for LBaaS v1 and v2.
        """
        # A shallow copy: caches, limits and the event feed are shared.
        same = copy(self)
        same.tenants = self._lbaas_tenants
        return same

    async def change_accepted(self, change: Change, *, waits: bool = True) -> None:
        """Notify the driver of a committed write; then wait until devices have applied the write, if ``waits`` and
        waiting is configured. Does not raise, because the request has already succeeded.
        """
        await self._notify_change(self._driver.change_accepted, change)
        if waits:
            await self._applied.wait(change.load_balancer_id)

    async def failover_requested(self, change: Change) -> None:
        """Notify the driver of a committed failover. Does not raise, because the request has already succeeded."""
        await self._notify_change(self._driver.failover_requested, change)

    async def send_inquiry(self, owner: ShardOwner, inquiry: Inquiry) -> None:
        """Send an operator's inquiry (for a plan or an adoption) to the agent of a shard. Raises
        :class:`BusUnavailable`.
        """
        await self._driver.send_inquiry(owner, inquiry)

    async def request_full_resync(self, owners: Sequence[ShardOwner]) -> None:
        """Make the agents of these shards start a complete pass: compare every load balancer with the
        devices. The request may be lost.
        """
        await self._driver.request_full_resync(owners)

    async def _notify_change(self, notify: Callable[[Change], Awaitable[None]], change: Change) -> None:
        try:
            await notify(change)
        except Exception as error:
            log.error(
                "driver failed on an accepted change; the scheduler will find it",
                load_balancer_id=change.load_balancer_id,
                revision=change.revision,
                exc_info=error,
            )
