"""PostgreSQL's indexes for searches by part of a text; other databases have none.

They need the extension ``pg_trgm``, which the owner of a database may create where its files are installed. Without it
searches read other indexes as a whole, within :mod:`evenkeel.store.engine.time_limit`.
"""

from sqlalchemy import DDL

TRIGRAM_INDEX = "_trigrams"
"""End of the names of these indexes, which are no part of :mod:`evenkeel.store.records.schema`."""

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
"""Make the indexes, on PostgreSQL where the extension can be had."""
