"""L7 policies and their rules."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "l7policy",
        *_common(),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("listener_id", sa.String(length=36), nullable=False),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("redirect_pool_id", sa.String(length=36), nullable=True),
        sa.Column("redirect_url", sa.String(length=255), nullable=True),
        sa.Column("redirect_prefix", sa.String(length=255), nullable=True),
        sa.Column("redirect_http_code", sa.Integer(), nullable=True),
        *_constraints("l7policy", parent="listener_id", parents="listener"),
    )
    _indexes("l7policy", "listener_id", "redirect_pool_id")
    op.create_table(
        "l7rule",
        *_common(),
        sa.Column("l7policy_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("compare_type", sa.String(length=16), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=True),
        sa.Column("value", sa.String(length=255), nullable=False),
        sa.Column("invert", sa.Boolean(), nullable=False),
        *_constraints("l7rule", parent="l7policy_id", parents="l7policy"),
    )
    _indexes("l7rule", "l7policy_id")


def _common() -> list[sa.Column[Any]]:
    return [
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
    ]


def _constraints(table: str, *, parent: str, parents: str) -> list[sa.Constraint]:
    return [
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"], ["load_balancer.id"], name=op.f(f"fk_{table}_load_balancer_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint([parent], [f"{parents}.id"], name=op.f(f"fk_{table}_{parent}"), ondelete="CASCADE"),
    ]


def _indexes(table: str, *columns: str) -> None:
    for column in ("load_balancer_id", *columns):
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], unique=False)
    op.create_index(f"ix_{table}_project_created", table, ["project_id", "created_at", "id"], unique=False)
