"""One narrow index with all texts that operators' searches look in, on MariaDB; and one for held load balancers."""

from alembic import op

from evenkeel.store.migrations.search_indexes import CREATE_TEXTS_INDEX

revision = "v0011"
down_revision = "v0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_load_balancer_held_created", "load_balancer", ["held", "created_at", "id"], unique=False)
    CREATE_TEXTS_INDEX(None, op.get_bind())
