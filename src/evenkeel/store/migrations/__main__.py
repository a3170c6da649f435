"""For developers: draft a migration from the difference between the schema and the migrations."""

import sys

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from evenkeel.store.migrations import configuration, upgrade


def main(message: str) -> None:
    """Write a draft migration, ``versions/v<next number>_<message>.py``, from the difference between the schema and
    the migrations.
    """
    config = configuration()
    number = len(list(ScriptDirectory.from_config(config).walk_revisions())) + 1
    with create_engine("sqlite://").begin() as connection:
        upgrade(connection)
        config.attributes["connection"] = connection
        command.revision(config, message=message, autogenerate=True, rev_id=f"v{number:04}")


if __name__ == "__main__":
    main(sys.argv[1])
