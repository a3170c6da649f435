"""Listeners know the networks whose clients may connect."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # with a default, for controllers of the previous version that still insert listeners
    op.add_column("listener", sa.Column("allowed_cidrs", sa.Text(), server_default="[]", nullable=False))
