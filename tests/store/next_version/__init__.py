"""Migrations that a next version might add to those of this one: a column, a table with rows, an index."""

import os
from pathlib import Path

from alembic.config import Config

from evenkeel.store import migrations

FOLDER = Path(__file__).parent
REVISIONS = ("n0002", "n0003")
this_version = migrations.alembic_config
NEWEST = migrations.schema_revisions()[-1]
"""The last migration of this version."""


def configuration() -> Config:
    """Alembic's settings of the next version: the migrations of this one, and those of this folder."""
    config = this_version()
    folders = (Path(migrations.__file__).parent / "versions", FOLDER)
    config.set_main_option("version_locations", os.pathsep.join(map(str, folders)))
    return config
