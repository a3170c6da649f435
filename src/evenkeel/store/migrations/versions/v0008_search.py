"""Indexes for operators' searches in all projects."""

from alembic import op

from evenkeel.store.migrations.search_indexes import CREATE_TRIGRAM_INDEXES

revision = "v0008"
down_revision = "v0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_member_address", "member", ["address", "load_balancer_id"], unique=False)
    CREATE_TRIGRAM_INDEXES(None, op.get_bind())
