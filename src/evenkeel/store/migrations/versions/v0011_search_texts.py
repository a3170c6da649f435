"""One narrow index with all texts that operators' searches look in, on MariaDB; and one for held load balancers."""

from alembic import op

from evenkeel.store.migrations.search_indexes import CREATE_HELD_INDEX, CREATE_TEXTS_INDEX

revision = "v0011"
down_revision = "v0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    CREATE_HELD_INDEX(None, op.get_bind())
    CREATE_TEXTS_INDEX(None, op.get_bind())
