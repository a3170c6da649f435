"""A table with a row for each load balancer, and an index."""

import sqlalchemy as sa
from alembic import op

revision = "n0003"
down_revision = "n0002"


def upgrade() -> None:
    op.create_table(
        "load_balancer_name",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["load_balancer_id"], ["load_balancer.id"], name=op.f("fk_name"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("load_balancer_id", name=op.f("pk_load_balancer_name")),
    )
    # repeatable, because on MariaDB an interrupted migration begins again
    op.execute(
        "INSERT INTO load_balancer_name (load_balancer_id, name) SELECT id, name FROM load_balancer"
        " WHERE id NOT IN (SELECT load_balancer_id FROM load_balancer_name)"
    )
    op.create_index("ix_load_balancer_name_name", "load_balancer_name", ["name"], unique=False)
