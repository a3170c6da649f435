"""The history of a database, which changes when it lost commits, and the numbers that prove a loss. Agents that name
their session in every message.
"""

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("agent", sa.Column("names_session", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("agent", sa.Column("keepalives", sa.BigInteger(), server_default="0", nullable=False))
    op.create_table(
        "history",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("begun_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_history")),
    )
    first = "INSERT INTO history (number, id, begun_at) SELECT 1, '{}', 0 WHERE NOT EXISTS (SELECT 1 FROM history)"
    op.execute(first.format(uuid.uuid4()))
