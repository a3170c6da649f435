"""Load balancers that mirror another system's, and the lease of the process that writes them."""

import sqlalchemy as sa
from alembic import op

revision = "v0002"
down_revision = "v0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "mirror",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("provider", sa.String(length=64), nullable=False),
        sa.Column("snapshot", sa.Double(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("change_key", sa.String(length=64), nullable=True),
        sa.Column("removed_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("load_balancer_id", name=op.f("pk_mirror")),
    )
    op.create_index("ix_mirror_provider_load_balancer_id", "mirror", ["provider", "load_balancer_id"], unique=False)
    op.create_index(op.f("ix_mirror_removed_at"), "mirror", ["removed_at"], unique=False)
    op.create_table(
        "mirror_lease",
        sa.Column("provider", sa.String(length=64), nullable=False),
        sa.Column("holder", sa.String(length=255), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("provider", name=op.f("pk_mirror_lease")),
    )
    op.add_column("load_balancer", sa.Column("mirrored", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("ix_load_balancer_updated_at", "load_balancer", ["updated_at"], unique=False)
    op.create_index("ix_listener_updated_at", "listener", ["updated_at"], unique=False)
    op.create_index("ix_pool_updated_at", "pool", ["updated_at"], unique=False)
    op.create_index("ix_member_updated_at", "member", ["updated_at"], unique=False)
