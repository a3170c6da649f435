"""Keepalive counts of deleted agents: an agent that comes back must not look like a loss of commits."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "former_agent",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("keepalives", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_former_agent")),
    )
