"""For developers: draft a migration from the difference between the schema and the migrations."""

import sys

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from evenkeel.store.migrations import alembic_config, upgrade_tables


def write_draft_migration(message: str) -> None:
    """Write a draft migration, ``versions/v<next number>_<message>.py``, from the difference between the schema and
    the migrations.
    """
    config = alembic_config()
    number = len(list(ScriptDirectory.from_config(config).walk_revisions())) + 1
    with create_engine("sqlite://").begin() as connection:
        upgrade_tables(connection)
        config.attributes["connection"] = connection
        command.revision(config, message=message, autogenerate=True, rev_id=f"v{number:04}")


if __name__ == "__main__":
    write_draft_migration(sys.argv[1])
