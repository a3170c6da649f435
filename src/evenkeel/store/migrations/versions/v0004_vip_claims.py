"""Claims on VIPs that are taken of a network service."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "vip_claim",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("held_by", sa.String(length=36), nullable=True),
        sa.Column("device_owner", sa.String(length=255), nullable=False),
        sa.Column("device_id", sa.String(length=255), nullable=False),
        sa.Column("port_id", sa.String(length=36), nullable=True),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["held_by"], ["load_balancer.id"], name=op.f("fk_vip_claim_held_by"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("load_balancer_id", name=op.f("pk_vip_claim")),
    )
    op.create_index("ix_vip_claim_held_by_due_at", "vip_claim", ["held_by", "due_at"], unique=False)
