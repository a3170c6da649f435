"""Networks that projects share: revisions by which the common shard serves them."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "common_network",
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("applied_revision", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("shard_id", "network_id", name=op.f("pk_common_network")),
    )
    op.create_index(op.f("ix_common_network_network_id"), "common_network", ["network_id"], unique=False)
    op.add_column("attached_network", sa.Column("needed_revision", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("device_address", sa.Column("leaving_revision", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("device_address", "leaving_revision")
    op.drop_column("attached_network", "needed_revision")
    op.drop_table("common_network")
