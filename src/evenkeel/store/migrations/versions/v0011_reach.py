"""Which devices of a group can be reached, and which devices they are."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device_group", sa.Column("reach", sa.String(length=16), server_default="reached", nullable=False))
    op.add_column("device_group", sa.Column("away_devices", sa.Text(), server_default="[]", nullable=False))
    op.add_column("device_group", sa.Column("identities", sa.Text(), server_default="{}", nullable=False))
    op.add_column("agent", sa.Column("away_devices", sa.Text(), server_default="[]", nullable=False))
