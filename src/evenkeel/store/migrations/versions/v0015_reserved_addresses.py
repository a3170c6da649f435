"""Addresses of a subnet that are never VIPs."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("subnet", sa.Column("reserved", sa.Text(), server_default="[]", nullable=False))
