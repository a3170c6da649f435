"""The way of a load balancer's TCP connections: a proxy, or the kernel of the device's host."""

import sqlalchemy as sa
from alembic import op

revision = "v0016"
down_revision = "v0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("load_balancer", sa.Column("data_path", sa.String(length=16), nullable=False, server_default="proxy"))
