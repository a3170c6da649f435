"""The store as processes use it: all parts on one database."""

from sqlalchemy import text

from evenkeel.store.engine.database import Database, open_database
from evenkeel.store.lbaas_v1.reads import PoolRootedPart
from evenkeel.store.migrations import upgrade
from evenkeel.store.operators.catalogue import CataloguePart
from evenkeel.store.operators.quotas import QuotaPart
from evenkeel.store.operators.reads import OperatorPart
from evenkeel.store.operators.subnets import TenantSubnets
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership.histories import ensure_history
from evenkeel.store.ownership.services import ServicesPart
from evenkeel.store.ownership.sessions import SessionsPart
from evenkeel.store.ownership.shards import ShardsPart
from evenkeel.store.reports.applied import ReportsPart
from evenkeel.store.reports.findings import FindingsPart
from evenkeel.store.reports.observed import ObservedPart
from evenkeel.store.scheduling.due_shards import StockPart
from evenkeel.store.scheduling.placing import PlacingPart
from evenkeel.store.scheduling.reach import ReachPart
from evenkeel.store.scheduling.snapshots import SchedulingPart
from evenkeel.store.scheduling.sweeping import SweepingPart
from evenkeel.store.tenants.create import TenantCreate
from evenkeel.store.tenants.l7 import TenantL7
from evenkeel.store.tenants.load_balancers import TenantRoots
from evenkeel.store.tenants.members import TenantMembers
from evenkeel.store.tenants.reads import TenantReads
from evenkeel.store.tenants.updates import TenantUpdates
from evenkeel.store.vips.addresses import take_unwritten
from evenkeel.store.vips.claims import VipClaimsPart
from evenkeel.store.vips.port_changes import VipPortChangesPart


class TenantPart(TenantCreate, TenantRoots, TenantL7, TenantMembers, TenantUpdates, TenantReads, TenantSubnets):
    """Implements :class:`evenkeel.core.ports.TenantStore`."""


class OwnershipPart(
    SessionsPart,
    ShardsPart,
    ServicesPart,
    ReportsPart,
    ObservedPart,
    FindingsPart,
    SchedulingPart,
    PlacingPart,
    StockPart,
    ReachPart,
    SweepingPart,
):
    """Implements :class:`evenkeel.core.ports.OwnershipStore`."""


class SqlStore(
    PoolRootedPart,
    TenantPart,
    OperatorPart,
    OwnershipPart,
    VipClaimsPart,
    VipPortChangesPart,
    QuotaPart,
    CataloguePart,
):
    """Implements :class:`evenkeel.core.ports.Store`. Use :func:`open_store`."""

    @property
    def database(self) -> Database:
        """What it runs on, for hooks such as counting statements."""
        return self._db

    def beside(self) -> "SqlStore":
        """Another one on the same database, for another event loop; this one is to be started. What it does keeps
        this one's operations from nothing that they need. To be closed too."""
        return SqlStore(self._db.beside(), self._options)

    async def start(self) -> None:
        """Connect and bring the schema up to date. Raises :class:`StoreUnavailable`."""
        await self._db.write(upgrade)
        await self._db.write(take_unwritten)
        await self._db.write(ensure_history)

    async def ping(self) -> None:
        """Raises :class:`StoreUnavailable` unless the database answers."""
        await self._db.query(lambda connection: connection.scalar(text("SELECT 1")))

    async def close(self) -> None:
        """Disconnect."""
        await self._db.close()


def open_store(url: str, options: StoreOptions | None = None) -> SqlStore:
    """A store for ``sqlite:///path``, ``postgresql://…`` or ``mysql://…``; :meth:`SqlStore.start` connects.

    Raises :class:`ValueError` for any other kind of URL.
    """
    return SqlStore(open_database(url), options or StoreOptions())
