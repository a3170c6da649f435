"""The product's own certificates, and of which stage of their expiry there was an event."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "own_certificate",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
        sa.Column("told_days", sa.Integer(), nullable=True),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_own_certificate")),
    )
