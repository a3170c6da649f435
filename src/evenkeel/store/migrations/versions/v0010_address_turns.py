"""Rows by which writes of one address wait for each other, so that load balancers are not chained at the same time."""

import sqlalchemy as sa
from alembic import op

revision = "v0010"
down_revision = "v0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "address_turn",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("turn", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_address_turn")),
    )
