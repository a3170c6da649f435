"""Load balancers are found by name and by VIP, whatever their project."""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("ix_load_balancer_name"), "load_balancer", ["name"], unique=False)
    op.create_index(op.f("ix_load_balancer_vip_address"), "load_balancer", ["vip_address"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_load_balancer_vip_address"), table_name="load_balancer")
    op.drop_index(op.f("ix_load_balancer_name"), table_name="load_balancer")
