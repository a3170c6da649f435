"""Networks and subnets that an environment's VIPs may be on."""

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("vip_networks_allowed", "vip_networks_denied"):
        op.add_column("environment", sa.Column(name, sa.Text(), server_default="[]", nullable=False))
