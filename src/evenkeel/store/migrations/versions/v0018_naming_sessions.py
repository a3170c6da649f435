"""Which session names itself in its messages: a later one may not."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("agent", sa.Column("naming_session_id", sa.String(length=36), nullable=True))
    agent = sa.table("agent", sa.column("session_id"), sa.column("naming_session_id"), sa.column("names_session"))
    op.execute(agent.update().where(agent.c.names_session == sa.true()).values(naming_session_id=agent.c.session_id))
