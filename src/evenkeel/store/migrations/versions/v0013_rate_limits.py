"""Rate limit policies of listeners, and their rules."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "v0013"
down_revision = "v0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rate_limit_policy",
        *_common(),
        sa.Column("listener_id", sa.String(length=36), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("description", sa.String(length=255), nullable=False, server_default=""),
        sa.ForeignKeyConstraint(
            ["listener_id"], ["listener.id"], name=op.f("fk_rate_limit_policy_listener_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_rate_limit_policy_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rate_limit_policy")),
    )
    _index("rate_limit_policy", "listener_id")
    op.create_table(
        "rate_limit_rule",
        *_common(),
        sa.Column("rate_limit_policy_id", sa.String(length=36), nullable=False),
        sa.Column("metric", sa.String(length=16), nullable=False),
        sa.Column("threshold", sa.Integer(), nullable=False),
        sa.Column("interval", sa.Integer(), nullable=False, server_default="30"),
        sa.Column("urls", sa.Text(), nullable=False, server_default="[]"),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_rate_limit_rule_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["rate_limit_policy_id"],
            ["rate_limit_policy.id"],
            name=op.f("fk_rate_limit_rule_rate_limit_policy_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rate_limit_rule")),
    )
    _index("rate_limit_rule", "rate_limit_policy_id")


def _common() -> list[sa.Column[Any]]:
    return [
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
    ]


def _index(table: str, parent: str) -> None:
    op.create_index(op.f(f"ix_{table}_{parent}"), table, [parent], unique=False)
    op.create_index(op.f(f"ix_{table}_load_balancer_id"), table, ["load_balancer_id"], unique=False)
    op.create_index(f"ix_{table}_project_created", table, ["project_id", "created_at", "id"], unique=False)
