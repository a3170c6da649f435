"""Events with the user, request and client address of an operator's act."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

# controllers of the version before record events without these columns
COLUMNS = {"user_name": 255, "user_id": 255, "request_id": 64, "client_address": 64}
INDEXED = ("user_name", "user_id")


def upgrade() -> None:
    for name, length in COLUMNS.items():
        op.add_column("event", sa.Column(name, sa.String(length=length), server_default="", nullable=False))
    for name in INDEXED:
        op.create_index(f"ix_event_{name}", "event", [name, "id"], unique=False)
