"""The schema's revision, for operators: the revision in the database, the one that this version needs, and
setting the number by hand.
"""

from alembic import command
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.kit.values import Value
from evenkeel.store.migrations import alembic_config, refuse_development_schema, schema_revisions


class SchemaState(Value):
    """Revision of a database's schema, compared with the migrations of this version."""

    present: str
    """Revision in the database; empty: it has no tables."""
    needed: str
    """Newest schema revision that this version of Even Keel has."""
    pending: tuple[str, ...]
    """Revisions that an upgrade would add, the first one first."""
    newer: bool
    """True: a later version has upgraded the schema; this version works with it."""

    @property
    def usable(self) -> bool:
        """Whether controllers of this version can work with the schema."""
        return not self.pending


def schema_state(connection: Connection) -> SchemaState:
    """Return the revision of the database's schema, compared with this version. Raises
    :class:`evenkeel.store.migrations.DevelopmentSchema` for tables from before the first release.
    """
    present = MigrationContext.configure(connection).get_current_heads()
    refuse_development_schema(present)
    known = schema_revisions()
    newer = any(revision not in known for revision in present)
    reached = max((known.index(revision) for revision in present if revision in known), default=-1)
    return SchemaState(
        present=max(present, default=""),
        needed=known[-1],
        pending=() if newer else known[reached + 1 :],
        newer=newer,
    )


def check_schema(connection: Connection) -> str:
    """Return the revision of the database's schema. Raises :class:`StoreUnavailable` if it is older than this
    version needs, :class:`evenkeel.store.migrations.DevelopmentSchema` for tables from before the first
    release.
    """
    state = schema_state(connection)
    if not state.usable:
        there = f"revision {state.present}" if state.present else "empty"
        raise StoreUnavailable(f"the database is {there}, this version needs {state.needed}: run evenkeel-db upgrade")
    return state.present


def set_schema_revision(connection: Connection, revision: str) -> None:
    """Write the schema's revision number; no table is changed. Raises :class:`ValueError` for a revision that
    this version does not have.
    """
    known = schema_revisions()
    if revision not in known:
        raise ValueError(f"revision {revision!r} is not one of {known[0]} to {known[-1]}")
    config = alembic_config()
    config.attributes["connection"] = connection
    command.stamp(config, revision, purge=True)
