"""The reference of listeners that made a request for a certificate."""

import sqlalchemy as sa
from alembic import op

revision = "v0015"
down_revision = "v0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("acme_certificate", sa.Column("reference", sa.String(length=255), nullable=False, server_default=""))
    op.add_column("acme_certificate", sa.Column("referenced_at", sa.Double(), nullable=False, server_default="0"))
