"""Suggested renewals and requested revocations of certificates."""

import sqlalchemy as sa
from alembic import op

revision = "v0017"
down_revision = "v0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "acme_certificate", sa.Column("certificate_id", sa.String(length=255), nullable=False, server_default="")
    )
    op.add_column("acme_certificate", sa.Column("renew_at", sa.Double(), nullable=False, server_default="0"))
    op.add_column("acme_certificate", sa.Column("revocation", sa.String(length=32), nullable=False, server_default=""))
