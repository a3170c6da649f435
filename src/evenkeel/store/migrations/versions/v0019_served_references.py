"""References that devices have while a changed listener waits for a certificate."""

import sqlalchemy as sa
from alembic import op

revision = "v0019"
down_revision = "v0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("listener", sa.Column("served_container_refs", sa.Text(), nullable=False, server_default="[]"))
