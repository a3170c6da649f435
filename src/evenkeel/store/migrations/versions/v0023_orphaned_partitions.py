"""Partitions on devices, of tenants without a shard there."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "orphaned_partition",
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("group_number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("found_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("environment", "group_number", "project_id", name=op.f("pk_orphaned_partition")),
    )
    op.create_index("ix_orphaned_partition_found_at", "orphaned_partition", ["found_at"], unique=False)
