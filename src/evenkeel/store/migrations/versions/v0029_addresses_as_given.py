"""Addresses as requests wrote them."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("member", sa.Column("given_address", sa.String(length=255), nullable=True))
    op.add_column("member", sa.Column("given_monitor_address", sa.String(length=255), nullable=True))
    op.add_column("load_balancer", sa.Column("given_vips", sa.Text(), nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("load_balancer", "given_vips")
    op.drop_column("member", "given_monitor_address")
    op.drop_column("member", "given_address")
