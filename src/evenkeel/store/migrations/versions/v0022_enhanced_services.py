"""Enhanced services: what agents offer, and where load balancers and L7 policies name them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMTEXT

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    texts = sa.Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")
    op.add_column("agent", sa.Column("enhanced_services", texts, nullable=False, server_default="[]"))
    names = sa.Column("flavor_enhanced_services", sa.Text(), nullable=False, server_default="[]")
    op.add_column("load_balancer", names)
    op.add_column("l7policy", sa.Column("enhanced_service", sa.Boolean(), nullable=False, server_default=sa.false()))
