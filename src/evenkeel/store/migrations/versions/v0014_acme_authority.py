"""The authority of each requested certificate."""

import sqlalchemy as sa
from alembic import op

revision = "v0014"
down_revision = "v0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "acme_certificate", sa.Column("authority", sa.String(length=32), nullable=False, server_default="default")
    )
