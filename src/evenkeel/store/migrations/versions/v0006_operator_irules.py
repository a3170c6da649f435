"""iRules of operators on listeners' virtual servers."""

import sqlalchemy as sa
from alembic import op

revision = "v0006"
down_revision = "v0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("listener", sa.Column("operator_irules", sa.Text(), nullable=False, server_default="[]"))
