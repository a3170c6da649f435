"""The last revisions of each load balancer, and the controllers, for operators."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "load_balancer_revision",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("accepted_at", sa.Double(), nullable=False),
        sa.Column("user_name", sa.String(length=255), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("applied_at", sa.Double(), nullable=True),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_load_balancer_revision_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("load_balancer_id", "slot", name=op.f("pk_load_balancer_revision")),
    )
    op.create_table(
        "controller",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("url", sa.String(length=255), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("message_broker", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_controller")),
    )
