"""Change ids of load balancers: of the newest revision, and of those that no device has confirmed yet."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("load_balancer", sa.Column("change_id", sa.String(length=36), server_default="", nullable=False))
    op.add_column("load_balancer", sa.Column("earlier_changes", sa.Text(), server_default="", nullable=False))
