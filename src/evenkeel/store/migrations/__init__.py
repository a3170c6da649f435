"""Migrates the database's schema when a process starts.

Several processes may start at once: the migration is one transaction under a lock, so one process migrates
and the others find the schema current (MariaDB: see :mod:`evenkeel.store.migrations.mariadb`). A migration
only adds, so that processes of the previous version go on working beside those of this one; hence a schema
newer than this code is left unchanged and used. A database of a development version, from before the first
release, is refused.

After a change of :mod:`evenkeel.store.records.schema`, ``python -m evenkeel.store.migrations "what changed"``
drafts the migration, to be read and corrected.
"""

import functools
import os
import re
from collections.abc import Iterable
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store.migrations import mariadb

_LOCK_KEY = 0x6576656E6B65656C  # "evenkeel"
LOCK_SECONDS = 25
UPGRADE_ATTEMPTS = 20
_DEVELOPMENT_PATTERN = re.compile(r"\d{4}")
"""Pattern of the revisions of migrations that :mod:`evenkeel.store.migrations.versions.v0001_baseline` replaced."""
__all__ = [
    "DevelopmentSchema",
    "alembic_config",
    "mariadb",
    "refuse_development_schema",
    "schema_revisions",
    "upgrade_tables",
]
_log = structlog.get_logger(__name__)


class DevelopmentSchema(ValueError):
    """The database has tables of a development version from before 0.1.0, which are not upgraded."""


def refuse_development_schema(present: Iterable[str]) -> None:
    """Raise :class:`DevelopmentSchema` if a revision found in a database is one from before the first release."""
    for revision in present:
        if _DEVELOPMENT_PATTERN.fullmatch(revision):
            raise DevelopmentSchema(
                f"the database has revision {revision} of a development version before 0.1.0, which is not upgraded:"
                " stop all controllers, drop the database and create it empty (SQLite: delete its file, -wal and -shm),"
                " and start a controller, which makes the tables"
            )


def upgrade_tables(connection: Connection) -> str:
    """Upgrade the tables to this version, if they are older; return the revision that the schema then has,
    which may be a newer one. Part of the caller's transaction, except on MariaDB. Raises
    :class:`DevelopmentSchema`; on MariaDB :class:`StoreUnavailable` while other controllers are upgrading.
    """
    if connection.dialect.name == "postgresql":
        # SQLite's BEGIN IMMEDIATE is lock enough
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    # After the lock: another process may be writing the first revision right now.
    refuse_development_schema(MigrationContext.configure(connection).get_current_heads())
    if connection.dialect.name == "mariadb":
        return _upgrade_mariadb(connection)
    return _upgrade_schema(connection)


def _upgrade_mariadb(connection: Connection) -> str:
    """Upgrade the tables under a lock of the session, because DDL ends transactions; return the schema's
    revision. Raises :class:`StoreUnavailable` while other controllers are upgrading.

    On Galera the lock excludes only controllers on the same node. Those on other nodes may run the same
    statements (see :mod:`evenkeel.store.migrations.mariadb`); the slower one fails at the version number,
    corrects it and continues from there.
    """
    name = {"name": f"evenkeel:{connection.engine.url.database}"[:64]}
    if not connection.scalar(text("SELECT GET_LOCK(:name, :seconds)"), name | {"seconds": LOCK_SECONDS}):
        raise StoreUnavailable("another controller is changing the tables of the database")
    try:
        raced: Exception | None = None
        for _ in range(UPGRADE_ATTEMPTS):
            try:
                _keep_newest_version(connection)
                return _upgrade_schema(connection)
            except (CommandError, DBAPIError) as error:
                if not _is_of_concurrent_upgrade(error):
                    raise
                raced = error
                # By the driver: DDL has ended SQLAlchemy's transaction without its notice.
                connection.exec_driver_sql("ROLLBACK")
                connection.exec_driver_sql("DO SLEEP(0.2)")
        raise StoreUnavailable("other controllers keep changing the tables of the database") from raced
    finally:
        if not connection.invalidated:
            connection.scalar(text("SELECT RELEASE_LOCK(:name)"), name)


def _is_of_concurrent_upgrade(error: CommandError | DBAPIError) -> bool:
    """Whether the error occurred because another controller was changing the same tables or version number."""
    if isinstance(error, CommandError):
        return True
    return not error.connection_invalidated and error.orig is not None and error.orig.args[0] in mariadb.CAME_SECOND


def _keep_newest_version(connection: Connection) -> None:
    """Delete all but the newest of the version numbers that controllers at several nodes have written: each
    number is written after its tables are made.
    """
    written = MigrationContext.configure(connection).get_current_heads()
    if len(written) > 1:
        known = schema_revisions()  # an unknown one is newer than all of these
        newest = max(written, key=lambda revision: known.index(revision) if revision in known else len(known))
        statement = text("DELETE FROM alembic_version WHERE version_num != :newest")
        connection.execute(statement, {"newest": newest})


def _upgrade_schema(connection: Connection) -> str:
    present = MigrationContext.configure(connection).get_current_revision()
    known = schema_revisions()
    if present == known[-1]:
        return present
    # A newer schema only adds, so this version works on it, as during an upgrade or one step back.
    if present is not None and present not in known:
        _log.warning("database schema is newer than this version", schema_revision=present)
        return present
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return MigrationContext.configure(connection).get_current_revision() or ""


def schema_revisions() -> tuple[str, ...]:
    """Return the revisions of the schema's migrations in this version, the oldest first."""
    config = alembic_config()
    return _script_revisions(config.get_main_option("script_location", ""), config.get_main_option("version_locations"))


@functools.cache
def _script_revisions(directory: str, versions: str | None) -> tuple[str, ...]:
    """Return the revisions of the migration scripts in these folders (options of Alembic), the oldest first;
    Alembic imports the scripts.
    """
    folders = versions.split(os.pathsep) if versions else None
    scripts = ScriptDirectory(directory, version_locations=folders).walk_revisions()
    return tuple(reversed([script.revision for script in scripts]))


def alembic_config() -> Config:
    """Return Alembic's settings for these migrations; no file is read."""
    config = Config()
    # Alembic reads options through ConfigParser, which interpolates %.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    return config
