"""Certificates requested from an authority, and the challenges that load balancers answer for them."""

import sqlalchemy as sa
from alembic import op

revision = "v0012"
down_revision = "v0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "acme_certificate",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("step", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("order_url", sa.Text(), nullable=False),
        sa.Column("order_until", sa.Double(), nullable=False),
        sa.Column("waits", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("not_after", sa.Double(), nullable=True),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("next_attempt_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_acme_certificate")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_acme_certificate_project_id_name")),
    )
    op.create_index(op.f("ix_acme_certificate_next_attempt_at"), "acme_certificate", ["next_attempt_at"])
    op.add_column("load_balancer", sa.Column("challenges", sa.Text(), nullable=False, server_default="[]"))
