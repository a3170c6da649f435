"""Deleted load balancers, and load balancers on devices that the database does not know."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "removed_load_balancer",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("removed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_removed_load_balancer")),
    )
    op.create_index("ix_removed_load_balancer_removed_at", "removed_load_balancer", ["removed_at"], unique=False)
    op.create_table(
        "orphaned_load_balancer",
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("found_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("remove_at", sa.Double(), nullable=True),
        sa.Column("removal", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("shard_id", "load_balancer_id", name=op.f("pk_orphaned_load_balancer")),
    )
    op.create_index(
        "ix_orphaned_load_balancer_load_balancer_id", "orphaned_load_balancer", ["load_balancer_id"], unique=False
    )
