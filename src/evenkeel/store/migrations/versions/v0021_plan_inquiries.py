"""Operators' questions to agents, and the answers."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "plan_inquiry",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("asked_at", sa.Double(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_plan_inquiry")),
    )
    op.create_index(op.f("ix_plan_inquiry_asked_at"), "plan_inquiry", ["asked_at"], unique=False)
