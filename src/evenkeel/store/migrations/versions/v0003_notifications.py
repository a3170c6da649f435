"""The outbox of notifications, and the turn of the controller that sends them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "v0003"
down_revision = "v0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    longer_text = sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")
    op.create_table(
        "notification",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("event", sa.String(length=16), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("provider", sa.String(length=64), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("vip_address", sa.String(length=64), nullable=False),
        sa.Column("vip_subnet_id", sa.String(length=36), nullable=False),
        sa.Column("vip_network_id", sa.String(length=36), nullable=False),
        sa.Column("vip_port_id", sa.String(length=36), nullable=False),
        sa.Column("vip_qos_policy_id", sa.String(length=36), nullable=True),
        sa.Column("availability_zone", sa.String(length=255), nullable=True),
        sa.Column("flavor_id", sa.String(length=36), nullable=True),
        sa.Column("flavor", sa.Text(), nullable=True),
        sa.Column("listener_ids", longer_text, nullable=False),
        sa.Column("pool_ids", longer_text, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification")),
    )
    op.create_table(
        "notification_lease",
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("holder", sa.String(length=255), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_notification_lease")),
    )
    op.add_column("load_balancer", sa.Column("own_revision", sa.BigInteger(), nullable=False, server_default="0"))
