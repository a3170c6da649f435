"""Moves of load balancers to another shard."""

import sqlalchemy as sa
from alembic import op

revision = "v0007"
down_revision = "v0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "load_balancer_move",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("source_shard_id", sa.String(length=36), nullable=False),
        sa.Column("target_shard_id", sa.String(length=36), nullable=False),
        sa.Column("standby_shard_id", sa.String(length=36), nullable=False),
        sa.Column("step", sa.String(length=16), nullable=False),
        sa.Column("source_listens", sa.Boolean(), nullable=False),
        sa.Column("target_listens", sa.Boolean(), nullable=False),
        sa.Column("by_operator", sa.Boolean(), nullable=False),
        sa.Column("standby_revision", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.Column("back", sa.Boolean(), nullable=False),
        sa.Column("back_asked", sa.Boolean(), nullable=False),
        sa.Column("finish_asked", sa.Boolean(), nullable=False),
        sa.Column("deadline_at", sa.Double(), nullable=True),
        sa.Column("stopped_at", sa.Double(), nullable=True),
        sa.Column("gap_seconds", sa.Double(), nullable=True),
        sa.Column("begun_at", sa.Double(), nullable=False),
        sa.Column("step_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_load_balancer_move_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("load_balancer_id", name=op.f("pk_load_balancer_move")),
    )
    op.create_index(
        op.f("ix_load_balancer_move_source_shard_id"), "load_balancer_move", ["source_shard_id"], unique=False
    )
    op.create_index(op.f("ix_load_balancer_move_step"), "load_balancer_move", ["step"], unique=False)
    op.create_index(
        op.f("ix_load_balancer_move_standby_shard_id"), "load_balancer_move", ["standby_shard_id"], unique=False
    )
    op.create_index(
        op.f("ix_load_balancer_move_target_shard_id"), "load_balancer_move", ["target_shard_id"], unique=False
    )
    op.add_column("shard", sa.Column("moved_away", sa.Boolean(), nullable=False, server_default=sa.false()))
