"""Ports of VIPs are bound to hosts of devices, looked for at the network service, and made again if lost."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    change = "vip_port_change"
    op.add_column(change, sa.Column("binding", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column(change, sa.Column("lost_port_id", sa.String(length=36), nullable=True))
    op.add_column(change, sa.Column("reason", sa.String(length=255), server_default="", nullable=False))
    op.create_table(
        "port_search",
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("reached", sa.String(length=36), nullable=False),
        sa.Column("begun_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_port_search")),
    )
