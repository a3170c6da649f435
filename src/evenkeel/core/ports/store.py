"""The database as a whole: its ports, started and closed together."""

from typing import Protocol

from evenkeel.core.ports.acme import AcmeStore
from evenkeel.core.ports.attachments import AttachmentStore
from evenkeel.core.ports.catalogue import CatalogueStore
from evenkeel.core.ports.imports import ImportStore
from evenkeel.core.ports.lbaas_v1 import LbaasV1Store
from evenkeel.core.ports.mirrors import MirrorStore
from evenkeel.core.ports.notifications import NotificationStore
from evenkeel.core.ports.operators import OperatorStore
from evenkeel.core.ports.ownership import OwnershipStore
from evenkeel.core.ports.quotas import QuotaStore
from evenkeel.core.ports.renewals import RenewalStore
from evenkeel.core.ports.reports import ReportStore
from evenkeel.core.ports.scheduling import SchedulingStore
from evenkeel.core.ports.tenants import TenantStore
from evenkeel.core.ports.vips import ClaimStore, LostPortStore, PortStore


class Store(Protocol):
    """Port to the database as a whole: one attribute for each store port, started and closed together. Every
    asynchronous method of these ports may raise :class:`StoreUnavailable`.
    """

    @property
    def tenants(self) -> TenantStore:
        """Store port for load balancers and their children."""
        ...

    @property
    def lbaas_tenants(self) -> TenantStore:
        """Store port for LBaaS v2 and v1: unlike :attr:`tenants`, it changes objects in ERROR even where immutability
        is strict.
        """
        ...

    @property
    def mirrors(self) -> MirrorStore:
        """Store port for load balancers that mirror another system's."""
        ...

    @property
    def imports(self) -> ImportStore:
        """Store port for load balancers that were imported from another system."""
        ...

    @property
    def notifications(self) -> NotificationStore:
        """Store port for the outbox of notifications."""
        ...

    @property
    def lbaas_v1(self) -> LbaasV1Store:
        """Store port for vips, pools and health monitors of LBaaS v1."""
        ...

    @property
    def operators(self) -> OperatorStore:
        """Store port for the operators' API: environments, agents, shards, events, moves, orphans, networks
        and subnets.
        """
        ...

    @property
    def quotas(self) -> QuotaStore:
        """Store port for quotas of projects."""
        ...

    @property
    def catalogue(self) -> CatalogueStore:
        """Store port for flavors and availability zones."""
        ...

    @property
    def ownership(self) -> OwnershipStore:
        """Store port for sessions and shards."""
        ...

    @property
    def reports(self) -> ReportStore:
        """Store port for agents' reports."""
        ...

    @property
    def scheduling(self) -> SchedulingStore:
        """Store port for the scheduler and the sweeper."""
        ...

    @property
    def renewals(self) -> RenewalStore:
        """Store port for the periodic re-reading of certificates and other contents that references to key
        managers name.
        """
        ...

    @property
    def acme(self) -> AcmeStore:
        """Store port for certificates that are requested from an ACME authority."""
        ...

    @property
    def claims(self) -> ClaimStore:
        """Store port for claims on ports of VIPs at the network service."""
        ...

    @property
    def device_ports(self) -> ClaimStore:
        """Store port for claims on ports for addresses of devices."""
        ...

    @property
    def attachments(self) -> AttachmentStore:
        """Store port for facts read from the network service, and for ports created there for addresses of
        devices.
        """
        ...

    @property
    def ports(self) -> PortStore:
        """Store port for pending changes of VIPs' ports at the network service."""
        ...

    @property
    def lost_ports(self) -> LostPortStore:
        """Store port for VIPs' ports that were deleted at the network service."""
        ...

    async def start(self) -> None:
        """Connect to the database and bring its schema up to date. Raises :class:`StoreUnavailable` if it
        cannot be reached.
        """
        ...

    async def ping(self) -> None:
        """Check that the database answers a query. Raises :class:`StoreUnavailable` if it does not."""
        ...

    def write_problem(self) -> str:
        """Return why the database accepts no writes (human-readable); empty if it does. Any thread may call it."""
        ...

    async def close(self) -> None:
        """Disconnect from the database."""
        ...
