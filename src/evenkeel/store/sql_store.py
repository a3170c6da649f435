"""The store as processes use it: all parts on one database."""

from sqlalchemy import text

from evenkeel.store.catalogue import CataloguePart
from evenkeel.store.database import Database, open_database
from evenkeel.store.histories import ensure_history
from evenkeel.store.migrations import upgrade
from evenkeel.store.operator import OperatorPart
from evenkeel.store.ownership import OwnershipPart
from evenkeel.store.part import StoreOptions
from evenkeel.store.pool_rooted import PoolRootedPart
from evenkeel.store.quotas import QuotaPart
from evenkeel.store.tenant import TenantPart
from evenkeel.store.vip_addresses import take_unwritten
from evenkeel.store.vip_claims import VipClaimsPart
from evenkeel.store.vip_port_changes import VipPortChangesPart


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
