"""Networks and subnets that an environment's VIPs may be on."""

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("environment", sa.Column("vip_networks_allowed", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("environment", sa.Column("vip_networks_denied", sa.Text(), nullable=False, server_default="[]"))
