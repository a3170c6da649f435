"""LBaaS v1: pools without a VIP yet, the subnet of their members, and health monitors that pools share."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("load_balancer", sa.Column("root_pool_id", sa.String(length=36), nullable=True))
    op.add_column("load_balancer", sa.Column("vip_leaving_revision", sa.BigInteger(), nullable=True))
    op.add_column("pool", sa.Column("subnet_id", sa.String(length=36), nullable=True))
    op.add_column("health_monitor", sa.Column("shared_monitor_id", sa.String(length=36), nullable=True))
    op.create_index("ix_health_monitor_shared_monitor_id", "health_monitor", ["shared_monitor_id"], unique=False)
    op.create_table(
        "shared_monitor",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("delay", sa.Integer(), nullable=False),
        sa.Column("timeout", sa.Integer(), nullable=False),
        sa.Column("max_retries", sa.Integer(), nullable=False),
        sa.Column("http_method", sa.String(length=16), nullable=True),
        sa.Column("url_path", sa.Text(), nullable=True),
        sa.Column("expected_codes", sa.String(length=255), nullable=True),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shared_monitor")),
    )
    op.create_index("ix_shared_monitor_project_created", "shared_monitor", ["project_id", "created_at", "id"])
