"""Networks declared by operators, and what devices have in networks: route domains and addresses."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "attached_network",
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("route_domain", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("shard_id", "network_id", name=op.f("pk_attached_network")),
    )
    op.create_index(op.f("ix_attached_network_network_id"), "attached_network", ["network_id"], unique=False)
    op.create_table(
        "device_address",
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("subnet_id", sa.String(length=36), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("claim_id", sa.String(length=36), nullable=True),
        sa.PrimaryKeyConstraint("shard_id", "subnet_id", "purpose", "owner", "number", name=op.f("pk_device_address")),
        sa.UniqueConstraint("network_id", "address", name=op.f("uq_device_address_network_id_address")),
        sa.UniqueConstraint("claim_id", name=op.f("uq_device_address_claim_id")),
    )
    op.create_index(op.f("ix_device_address_subnet_id"), "device_address", ["subnet_id"], unique=False)
    op.create_table(
        "network",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("network_type", sa.String(length=16), nullable=False),
        sa.Column("physical_network", sa.String(length=255), nullable=True),
        sa.Column("segmentation_id", sa.BigInteger(), nullable=True),
        sa.Column("mtu", sa.Integer(), nullable=True),
        sa.Column("project_id", sa.String(length=255), nullable=True),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("external", sa.Boolean(), nullable=False),
        sa.Column("vteps", sa.Text(), nullable=False),
        sa.Column("segment_key", sa.String(length=300), nullable=False),
        sa.Column("from_service", sa.Boolean(), nullable=False),
        sa.Column("read_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_network")),
        sa.UniqueConstraint("name", name=op.f("uq_network_name")),
        sa.UniqueConstraint("segment_key", name=op.f("uq_network_segment_key")),
    )
    op.create_index(op.f("ix_network_read_at"), "network", ["read_at"], unique=False)
    op.create_table(
        "member_host",
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("mac_address", sa.String(length=32), nullable=False),
        sa.Column("vtep", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("network_id", "address", name=op.f("pk_member_host")),
    )
    op.create_table(
        "device_port",
        sa.Column("claim_id", sa.String(length=36), nullable=False),
        sa.Column("held_by", sa.String(length=36), nullable=True),
        sa.Column("device_owner", sa.String(length=255), nullable=False),
        sa.Column("device_id", sa.String(length=255), nullable=False),
        sa.Column("port_id", sa.String(length=36), nullable=True),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["held_by"], ["device_address.claim_id"], name=op.f("fk_device_port_held_by"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("claim_id", name=op.f("pk_device_port")),
    )
    op.create_index("ix_device_port_held_by_due_at", "device_port", ["held_by", "due_at"], unique=False)
    op.create_table(
        "route_domain",
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("group_number", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("environment", "group_number", "number", name=op.f("pk_route_domain")),
    )
    op.create_index(op.f("ix_route_domain_shard_id"), "route_domain", ["shard_id"], unique=False)
    op.add_column("device_group", sa.Column("network_layout", sa.Text(), server_default="{}", nullable=False))
    op.add_column("device_group", sa.Column("allocations", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("subnet", sa.Column("device_addresses", sa.Text(), server_default="[]", nullable=False))
