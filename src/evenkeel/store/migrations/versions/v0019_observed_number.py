"""The number of the newest status report of a device group: older ones that arrive later are ignored."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("shard", sa.Column("observed_session_id", sa.String(length=36), nullable=True))
    op.add_column("shard", sa.Column("observed_number", sa.BigInteger(), server_default="0", nullable=False))
