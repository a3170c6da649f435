"""Additional VIPs, and options of VIPs' ports at the network service."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("additional_vips", "vip_sg_ids"):
        op.add_column("load_balancer", sa.Column(name, sa.Text(), nullable=False, server_default="[]"))
    op.add_column("load_balancer", sa.Column("vip_qos_policy_id", sa.String(length=36), nullable=True))
    op.add_column(
        "load_balancer", sa.Column("vip_vnic_type", sa.String(length=16), nullable=False, server_default="normal")
    )
    _add_addresses()
    _add_port_changes()


def _add_addresses() -> None:
    """With the existing VIPs, except those that an interrupted run has inserted (MariaDB)."""
    op.create_table(
        "vip_address",
        _load_balancer_id(),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("subnet_id", sa.String(length=36), nullable=False),
        _owner("vip_address"),
        sa.PrimaryKeyConstraint("load_balancer_id", "address", name=op.f("pk_vip_address")),
        sa.UniqueConstraint("network_id", "address", name=op.f("uq_vip_address_network_id_address")),
    )
    op.create_index(op.f("ix_vip_address_subnet_id"), "vip_address", ["subnet_id"], unique=False)
    op.execute(
        "INSERT INTO vip_address (network_id, address, subnet_id, load_balancer_id)"
        " SELECT vip_network_id, vip_address, vip_subnet_id, id FROM load_balancer"
        " WHERE id NOT IN (SELECT load_balancer_id FROM vip_address)"
    )


def _add_port_changes() -> None:
    op.create_table(
        "vip_port_change",
        _load_balancer_id(),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("security_groups", sa.Boolean(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        _owner("vip_port_change"),
        sa.PrimaryKeyConstraint("load_balancer_id", name=op.f("pk_vip_port_change")),
    )
    op.create_index(op.f("ix_vip_port_change_due_at"), "vip_port_change", ["due_at"], unique=False)


def _load_balancer_id() -> sa.Column[str]:
    return sa.Column("load_balancer_id", sa.String(length=36), nullable=False)


def _owner(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["load_balancer_id"], ["load_balancer.id"], name=op.f(f"fk_{table}_load_balancer_id"), ondelete="CASCADE"
    )
