"""A column of listeners."""

import sqlalchemy as sa
from alembic import op

from tests.store.next_version import NEWEST as down_revision

revision = "n0002"
__all__ = ["down_revision", "revision", "upgrade"]


def upgrade() -> None:
    op.add_column("listener", sa.Column("colour", sa.String(length=16), server_default="blue", nullable=False))
