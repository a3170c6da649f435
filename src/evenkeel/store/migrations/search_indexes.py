"""Indexes for searches by part of a text, which only one kind of database has.

PostgreSQL's need the extension ``pg_trgm``, which the owner of a database may create where its files are installed.
Without it searches read other indexes as a whole, within :mod:`evenkeel.store.engine.time_limit`. MariaDB reads one
narrow index with all texts of a load balancer as a whole; SQLite would not choose it, and reads one index a column.
"""

from typing import Any

from sqlalchemy import DDL, Dialect

from evenkeel.store.engine.in_list import MARIADB_DIALECTS

TRIGRAM_INDEX = "_trigrams"
"""Suffix of the names of PostgreSQL's indexes for parts of texts."""
TEXTS_INDEX = "ix_load_balancer_texts"
"""Name of MariaDB's index of all searched texts of load balancers."""

HELD_INDEX = "ix_load_balancer_held_created"
"""Name of the index of held load balancers. SQLite, which has no statistics of values by itself, would read nearly all
load balancers by it where a query wants those that are not held."""

CREATE_TRIGRAM_INDEXES = DDL(  # type: ignore[no-untyped-call]
    """
    DO $$
    BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
        CREATE INDEX IF NOT EXISTS ix_load_balancer_trigrams ON load_balancer
            USING gin (name gin_trgm_ops, vip_address gin_trgm_ops, project_id gin_trgm_ops);
        CREATE INDEX IF NOT EXISTS ix_member_trigrams ON member USING gin (address gin_trgm_ops);
    EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN
        RAISE NOTICE 'searches by part of a text have no index: %%', SQLERRM;
    END $$
    """
).execute_if(dialect="postgresql")
"""DDL that creates the indexes for parts of texts on PostgreSQL, if the extension ``pg_trgm`` is available."""


def _is_mariadb(*_args: Any, dialect: Dialect, **_more: Any) -> bool:
    return dialect.name in MARIADB_DIALECTS


CREATE_TEXTS_INDEX = DDL(  # type: ignore[no-untyped-call]
    f"CREATE INDEX IF NOT EXISTS {TEXTS_INDEX} ON load_balancer (name, vip_address, project_id)"
).execute_if(callable_=_is_mariadb)
"""DDL that creates the index of all searched texts on MariaDB."""


def _has_statistics(*_args: Any, dialect: Dialect, **_more: Any) -> bool:
    return dialect.name != "sqlite"


CREATE_HELD_INDEX = DDL(  # type: ignore[no-untyped-call]
    f"CREATE INDEX IF NOT EXISTS {HELD_INDEX} ON load_balancer (held, created_at, id)"
).execute_if(callable_=_has_statistics)
"""DDL that creates the index of held load balancers on PostgreSQL and MariaDB."""
