"""How often a device group became reachable again: its observer then reports all statuses again."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device_group", sa.Column("reached_count", sa.BigInteger(), server_default="0", nullable=False))
