"""Load balancers that another system still serves."""

import sqlalchemy as sa
from alembic import op

revision = "v0004"
down_revision = "v0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("load_balancer", sa.Column("held", sa.Boolean(), nullable=False, server_default=sa.false()))
