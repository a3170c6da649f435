"""What references to key managers name, who refers to it, and the keys that agents have private keys sealed for."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("agent", sa.Column("sealing_key", sa.String(length=128), nullable=True))
    op.add_column("agent", sa.Column("sealing_session_id", sa.String(length=36), nullable=True))
    _make_certificates()
    _make_uses()


def _make_certificates() -> None:
    op.create_table(
        "certificate",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("reference", sa.String(length=255), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("announced_sha256", sa.String(length=64), nullable=False),
        sa.Column("facts", sa.Text(), nullable=True),
        sa.Column("not_after", sa.Double(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("checked_at", sa.Double(), nullable=False),
        sa.Column("next_check_at", sa.Double(), nullable=False),
        sa.Column("expiry_told_days", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_certificate")),
        sa.UniqueConstraint("project_id", "reference", "kind", name=op.f("uq_certificate_project_id_reference_kind")),
    )
    op.create_index(op.f("ix_certificate_next_check_at"), "certificate", ["next_check_at"], unique=False)
    op.create_index(op.f("ix_certificate_not_after"), "certificate", ["not_after"], unique=False)


def _make_uses() -> None:
    op.create_table(
        "certificate_use",
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("certificate_id", sa.String(length=36), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["certificate_id"], ["certificate.id"], name=op.f("fk_certificate_use_certificate_id")),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_certificate_use_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("owner_id", "certificate_id", name=op.f("pk_certificate_use")),
    )
    op.create_index(op.f("ix_certificate_use_certificate_id"), "certificate_use", ["certificate_id"], unique=False)
    op.create_index(op.f("ix_certificate_use_load_balancer_id"), "certificate_use", ["load_balancer_id"], unique=False)
