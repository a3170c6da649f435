"""Redundancy: circuit breaker, fail-back, drained and dead hosts, capacity reservations, reasons of DEGRADED."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "capacity_reservation",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("group_number", sa.Integer(), nullable=False),
        sa.Column("amounts", sa.String(length=2000), nullable=False),
        sa.Column("confirmed_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_capacity_reservation_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("load_balancer_id", name=op.f("pk_capacity_reservation")),
    )
    op.create_index(
        "ix_capacity_reservation_environment_group_number",
        "capacity_reservation",
        ["environment", "group_number"],
        unique=False,
    )
    for table, column in _columns():
        op.add_column(table, column)
    op.create_index("ix_shard_handover_to", "shard", ["handover_to"], unique=False)
    op.create_index("ix_shard_environment_group_number", "shard", ["environment", "group_number"], unique=False)


def _columns() -> list[tuple[str, sa.Column[object]]]:
    return [
        ("agent", sa.Column("session_ttl_seconds", sa.Double(), server_default="5", nullable=False)),
        ("agent", sa.Column("silent_since", sa.Double(), nullable=True)),
        ("agent", sa.Column("forced_down", sa.Boolean(), server_default=sa.false(), nullable=False)),
        ("agent", sa.Column("failback_asked", sa.Boolean(), server_default=sa.false(), nullable=False)),
        ("agent", sa.Column("sight_since", sa.Double(), nullable=True)),
        ("agent", sa.Column("reachable_devices", sa.Integer(), nullable=True)),
        ("agent", sa.Column("capacity", sa.String(length=2000), server_default="{}", nullable=False)),
        ("device_group", sa.Column("capacity", sa.String(length=2000), server_default="{}", nullable=False)),
        ("environment", sa.Column("failback", sa.String(length=16), server_default="auto", nullable=False)),
        ("environment", sa.Column("breaker_share", sa.Double(), server_default="0.5", nullable=False)),
        ("environment", sa.Column("breaker_agents", sa.Integer(), server_default="3", nullable=False)),
        ("environment", sa.Column("halted_at", sa.Double(), nullable=True)),
        ("environment", sa.Column("halted_reason", sa.String(length=255), server_default="", nullable=False)),
        ("environment", sa.Column("resumed_at", sa.Double(), nullable=True)),
        ("environment", sa.Column("registrations", sa.BigInteger(), server_default="0", nullable=False)),
        ("load_balancer", sa.Column("operating_reason", sa.String(length=255), server_default="", nullable=False)),
        ("shard", sa.Column("handover_at", sa.Double(), nullable=True)),
    ]
