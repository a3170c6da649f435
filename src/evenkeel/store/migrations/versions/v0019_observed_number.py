"""Which report on what was seen on a group's devices is the newest: one that comes later than it says nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("shard", sa.Column("observed_session_id", sa.String(length=36), nullable=True))
    op.add_column("shard", sa.Column("observed_number", sa.BigInteger(), server_default="0", nullable=False))
