"""Records of dns-01 that may be in DNS zones."""

import sqlalchemy as sa
from alembic import op

revision = "v0018"
down_revision = "v0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("acme_certificate", sa.Column("records", sa.Text(), nullable=False, server_default="[]"))
