"""One narrow index with all texts that operators' searches look in, on MariaDB; and one for held load balancers."""

from alembic import op

from evenkeel.store.engine.in_list import MARIADB
from evenkeel.store.migrations.search_indexes import TEXTS_INDEX

revision = "v0011"
down_revision = "v0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_load_balancer_held_created", "load_balancer", ["held", "created_at", "id"], unique=False)
    if op.get_bind().dialect.name in MARIADB:
        op.create_index(TEXTS_INDEX, "load_balancer", ["name", "vip_address", "project_id"], unique=False)
