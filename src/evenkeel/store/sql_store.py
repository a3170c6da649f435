"""The store as processes use it: its ports on one database."""

from random import Random

from sqlalchemy import text

from evenkeel.store.acme.store import SqlAcme
from evenkeel.store.engine.database import Database, open_database
from evenkeel.store.imports.store import SqlImports
from evenkeel.store.lbaas_v1.store import SqlLbaasV1
from evenkeel.store.migrations import upgrade_tables
from evenkeel.store.migrations.administration import check_schema
from evenkeel.store.mirrors.store import SqlMirrors
from evenkeel.store.networks.claims import SqlClaims
from evenkeel.store.networks.store import SqlAttachments
from evenkeel.store.notifications.store import SqlNotifications
from evenkeel.store.operators.catalogue import SqlCatalogue
from evenkeel.store.operators.quotas import SqlQuotas
from evenkeel.store.operators.store import SqlOperators
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership.histories import Histories, ensure_history
from evenkeel.store.ownership.store import SqlOwnership
from evenkeel.store.records import schema
from evenkeel.store.renewals.store import SqlRenewals
from evenkeel.store.reports.store import SqlReports
from evenkeel.store.scheduling.store import SqlScheduling
from evenkeel.store.tenants.store import SqlTenants
from evenkeel.store.vips.lost_ports import SqlLostPorts
from evenkeel.store.vips.port_changes import SqlPortChanges


class SqlStore:
    """Implements :class:`evenkeel.core.ports.Store`. Use :func:`open_store`."""

    def __init__(self, database: Database, options: StoreOptions, random: Random | None = None) -> None:
        """``random`` chooses free addresses for VIPs."""
        random = random or Random()  # noqa: S311  # which free address a VIP gets is no secret
        self.database = database
        """The database, for hooks such as counting statements."""
        self._options = options
        self.schema_revision = ""
        """Revision of the tables; empty before the start."""
        self.histories = Histories(database, options)
        """Starts new histories of the database; an attribute so that tests and processes can hook into it."""
        self.tenants = SqlTenants(database, options, random)
        self.lbaas_tenants = SqlTenants(database, options, random, in_error=True)
        self.mirrors = SqlMirrors(database, options, random)
        self.imports = SqlImports(database, options, random)
        self.notifications = SqlNotifications(database)
        self.lbaas_v1 = SqlLbaasV1(database, options, random)
        self.operators = SqlOperators(database, options)
        self.quotas = SqlQuotas(database, options)
        self.catalogue = SqlCatalogue(database)
        self.ownership = SqlOwnership(database, self.histories, bare_tags=options.bare_esd_tags)
        self.reports = SqlReports(database, self.histories, options)
        self.scheduling = SqlScheduling(database, options)
        self.renewals = SqlRenewals(database, options)
        self.acme = SqlAcme(database, options)
        self.claims = SqlClaims(database)
        self.device_ports = SqlClaims(database, schema.device_port)
        self.attachments = SqlAttachments(database, options)
        self.ports = SqlPortChanges(database)
        self.lost_ports = SqlLostPorts(database)

    def beside(self) -> "SqlStore":
        """Return another store on the same started database, for another event loop, which must be closed, too. Its
        operations do not delay those of this store.
        """
        return SqlStore(self.database.beside(), self._options)

    async def start(self) -> None:
        """Connect, and bring the schema up to date or check that it is. Raises :class:`StoreUnavailable`."""
        if self._options.auto_upgrade:
            self.schema_revision = await self.database.write(upgrade_tables)
        else:
            self.schema_revision = await self.database.read(check_schema)
        # After the upgrade, because a new database has the table only then.
        await self.database.write(ensure_history)

    async def ping(self) -> None:
        """Check the connection. Raises :class:`StoreUnavailable` unless the database answers."""
        await self.database.query(lambda connection: connection.scalar(text("SELECT 1")))

    def write_problem(self) -> str:
        """Return the server's reason for refusing writes; empty if it accepts them. Any thread may call it."""
        return self.database.writes.problem()

    async def close(self) -> None:
        await self.database.close()


def open_store(url: str, options: StoreOptions | None = None) -> SqlStore:
    """Return a store for ``sqlite:///path``, ``postgresql://…`` or ``mysql://…``; :meth:`SqlStore.start` connects.
    Raises :class:`ValueError` for any other kind of URL.
    """
    return SqlStore(open_database(url), options or StoreOptions())
