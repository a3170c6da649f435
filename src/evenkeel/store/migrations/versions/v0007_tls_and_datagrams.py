"""TLS at listeners and towards members, HSTS, and members on virtual functions.

Every column has a default, for controllers of the previous version that still insert objects.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("default_tls_container_ref", "client_ca_tls_container_ref", "client_crl_container_ref"):
        op.add_column("listener", sa.Column(name, sa.String(length=255), nullable=True))
    op.add_column(
        "listener",
        sa.Column("client_authentication", sa.String(length=16), server_default="NONE", nullable=False),
    )
    op.add_column("listener", sa.Column("sni_container_refs", sa.Text(), server_default="[]", nullable=False))
    op.add_column("listener", sa.Column("hsts_max_age", sa.Integer(), nullable=True))
    for name in ("hsts_include_subdomains", "hsts_preload"):
        op.add_column("listener", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("pool", sa.Column("tls_enabled", sa.Boolean(), server_default=sa.false(), nullable=False))
    for name in ("tls_container_ref", "ca_tls_container_ref", "crl_container_ref"):
        op.add_column("pool", sa.Column(name, sa.String(length=255), nullable=True))
    for table in ("listener", "pool"):
        op.add_column(table, sa.Column("tls_ciphers", sa.Text(), nullable=True))
        op.add_column(table, sa.Column("tls_versions", sa.Text(), server_default="[]", nullable=False))
        op.add_column(table, sa.Column("alpn_protocols", sa.Text(), server_default="[]", nullable=False))
    op.add_column("member", sa.Column("vnic_type", sa.String(length=16), server_default="normal", nullable=False))
