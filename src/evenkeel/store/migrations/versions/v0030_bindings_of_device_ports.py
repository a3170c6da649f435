"""Ports of devices' addresses that have to be bound to another host."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "device_port_binding",
        sa.Column("claim_id", sa.String(length=36), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["claim_id"],
            ["device_port.claim_id"],
            name=op.f("fk_device_port_binding_claim_id_device_port"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("claim_id", name=op.f("pk_device_port_binding")),
    )
    op.create_index(op.f("ix_device_port_binding_due_at"), "device_port_binding", ["due_at"], unique=False)


def downgrade() -> None:
    op.drop_table("device_port_binding")
