"""Quotas of projects; flavors, availability zones and their profiles, and which of them a load balancer has."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

RESOURCES = ("loadbalancer", "listener", "pool", "member", "healthmonitor", "l7policy", "l7rule")


def upgrade() -> None:
    op.create_table(
        "quota",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("checks", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=True) for name in RESOURCES),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_quota")),
    )
    _make_flavors()
    _make_zones()
    _add_reference("flavor_id", 36, "flavor", "id")
    _add_reference("availability_zone", 255, "availability_zone", "name")
    op.add_column("load_balancer", sa.Column("zone_group_number", sa.Integer(), nullable=True))


def _make_flavors() -> None:
    op.create_table(
        "flavor_profile",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("provider_name", sa.String(length=64), nullable=False),
        sa.Column("flavor_data", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flavor_profile")),
    )
    op.create_table(
        "flavor",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("flavor_profile_id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["flavor_profile_id"], ["flavor_profile.id"], name=op.f("fk_flavor_flavor_profile_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flavor")),
        sa.UniqueConstraint("name", name=op.f("uq_flavor_name")),
    )
    op.create_index("ix_flavor_flavor_profile_id", "flavor", ["flavor_profile_id"], unique=False)


def _make_zones() -> None:
    op.create_table(
        "availability_zone_profile",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("provider_name", sa.String(length=64), nullable=False),
        sa.Column("availability_zone_data", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_availability_zone_profile")),
    )
    op.create_table(
        "availability_zone",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("availability_zone_profile_id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["availability_zone_profile_id"],
            ["availability_zone_profile.id"],
            name=op.f("fk_availability_zone_availability_zone_profile_id"),
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_availability_zone")),
    )
    op.create_index(
        "ix_availability_zone_availability_zone_profile_id",
        "availability_zone",
        ["availability_zone_profile_id"],
        unique=False,
    )


def _add_reference(column: str, length: int, table: str, key: str) -> None:
    """Add a foreign key column to load balancers, and its index. In literal SQL, because it must be one statement:
    SQLite cannot add a constraint later, and MariaDB must be able to run it again.
    """
    again = "IF NOT EXISTS " if op.get_bind().dialect.name == "mariadb" else ""
    name = f"fk_load_balancer_{column}"
    constraint = f"CONSTRAINT {name} " if op.get_bind().dialect.name != "mariadb" else ""
    op.execute(
        f"ALTER TABLE load_balancer ADD COLUMN {again}{column} VARCHAR({length}) {constraint}REFERENCES {table} ({key})"
    )
    op.create_index(f"ix_load_balancer_{column}", "load_balancer", [column], unique=False)
