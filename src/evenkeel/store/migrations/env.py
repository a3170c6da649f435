"""Alembic's environment: runs each command on the connection, and so in the transaction, of the caller."""

from alembic import context

from evenkeel.store.records.schema import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    compare_type=True,
    # SQLite can alter little in place: Alembic makes a new table there and copies the rows.
    render_as_batch=connection.dialect.name == "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
