"""Combines the implementations of all store ports on one database."""

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
    """Implements :class:`evenkeel.core.ports.Store` on one database. Create it by :func:`open_store`, and
    call :meth:`start` before the first use.
    """

    def __init__(self, database: Database, options: StoreOptions, random: Random | None = None) -> None:
        """``random`` chooses free addresses for VIPs; None: a new generator."""
        random = random or Random()  # noqa: S311  # which free address a VIP gets is no secret
        self.database = database
        """The database, for hooks such as counting statements."""
        self._options = options
        self.schema_revision = ""
        """Revision of the database's schema; empty before :meth:`start`."""
        self.histories = Histories(database, options)
        """Begins new histories of the database when an agent proves that commits were lost."""
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

    def with_own_connections(self) -> "SqlStore":
        """Return a second store on the same database, for use in another event loop; both must be closed.
        Operations of the second store give way to those of this one, or have connections of their own.
        """
        return SqlStore(self.database.with_own_connections(), self._options)

    async def start(self) -> None:
        """Connect; upgrade the schema or, without ``auto_upgrade``, check that it is not outdated; and make
        sure that the database has a history. Raises :class:`StoreUnavailable` if the database cannot be
        used or the schema is outdated, :class:`DevelopmentSchema` for tables from before the first
        release.
        """
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
        """Return why the database takes no writes: the server's refusal of the last seconds, or that a write
        hangs; empty if writes succeed or none was tried. Thread-safe.
        """
        return self.database.writes.problem()

    async def close(self) -> None:
        await self.database.close()


def open_store(url: str, options: StoreOptions | None = None) -> SqlStore:
    """Return a store for ``sqlite:///path``, ``postgresql://…``, ``mysql://…`` or ``mariadb://…``;
    :meth:`SqlStore.start` connects. ``options`` None: the defaults. Raises :class:`ValueError` for any
    other URL, and for options in the URL that are wrong.
    """
    return SqlStore(open_database(url), options or StoreOptions())
