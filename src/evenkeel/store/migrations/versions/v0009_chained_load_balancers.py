"""VIPs by address, to find load balancers whose members are VIPs of others."""

from alembic import op

revision = "v0009"
down_revision = "v0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("ix_vip_address_address"), "vip_address", ["address"], unique=False)
