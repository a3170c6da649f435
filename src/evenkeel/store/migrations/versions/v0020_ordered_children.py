"""Indexes that have the ids of a load balancer's or pool's children in the order of their creation, instead of those by
parent alone: a list shows the ids without reading the children's rows.
"""

from alembic import op

revision = "v0020"
down_revision = "v0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_listener_load_balancer_created", "listener", ["load_balancer_id", "created_at", "id"])
    op.create_index("ix_pool_load_balancer_created", "pool", ["load_balancer_id", "created_at", "id"])
    op.create_index("ix_member_pool_created", "member", ["pool_id", "created_at", "id"])
    # after the others: MariaDB keeps an index for each foreign key
    op.drop_index("ix_listener_load_balancer_id", "listener")
    op.drop_index("ix_pool_load_balancer_id", "pool")
    op.drop_index("ix_member_pool_id", "member")
