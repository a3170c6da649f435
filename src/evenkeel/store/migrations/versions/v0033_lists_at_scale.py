"""Lists in order of creation by an index for each filter, tags by an index, and counts that controllers share."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

FILTERS = ("name", "vip_address", "provisioning_status", "operating_status")
EVENT_OBJECTS = ("agent_id", "shard_id", "load_balancer_id")
BATCH = 1000


def upgrade() -> None:
    for column in FILTERS:
        name = f"ix_load_balancer_{column}_created"
        op.create_index(name, "load_balancer", [column, "created_at", "id"], unique=False)
    for column in ("name", "vip_address"):
        op.drop_index(op.f(f"ix_load_balancer_{column}"), table_name="load_balancer", if_exists=True)
    for column in EVENT_OBJECTS:
        op.create_index(f"ix_event_{column}", "event", [column, "id"], unique=False)
    op.create_table(
        "shared_count",
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("counted_at", sa.Double(), nullable=False),
        sa.Column("kept_seconds", sa.Double(), nullable=False),
        sa.Column("claimed_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_shared_count")),
    )
    op.create_table(
        "load_balancer_tag",
        sa.Column("tag", sa.String(length=255), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_load_balancer_tag_load_balancer_id_load_balancer"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tag", "load_balancer_id", name=op.f("pk_load_balancer_tag")),
    )
    op.create_index(
        op.f("ix_load_balancer_tag_load_balancer_id"), "load_balancer_tag", ["load_balancer_id"], unique=False
    )
    _store_tags()


def _store_tags() -> None:
    """Of the load balancers that have some. May be repeated, as on MariaDB: those that have rows already are left."""
    connection = op.get_bind()
    root = sa.table("load_balancer", sa.column("id", sa.String), sa.column("tags", sa.Text))
    tag = sa.table("load_balancer_tag", sa.column("tag", sa.String), sa.column("load_balancer_id", sa.String))
    missing = ~sa.exists().where(tag.c.load_balancer_id == root.c.id)
    after = ""
    while True:
        wanted = sa.select(root.c.id, root.c.tags).where(root.c.id > after, root.c.tags != "[]", missing)
        found = connection.execute(wanted.order_by(root.c.id).limit(BATCH)).all()
        pairs = [(text, row.id) for row in found for text in sorted(set(json.loads(row.tags)))]
        rows = [{"tag": text, "load_balancer_id": id_} for text, id_ in pairs]
        if rows:
            connection.execute(tag.insert(), rows)
        if len(found) < BATCH:
            return
        after = found[-1].id
