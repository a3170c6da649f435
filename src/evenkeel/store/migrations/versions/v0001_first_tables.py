"""The tables of the first version."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("group_number", sa.Integer(), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("device_driver", sa.String(length=64), nullable=False),
        sa.Column("ha_type", sa.String(length=16), nullable=False),
        sa.Column("endpoints", sa.Text(), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("session_id", sa.String(length=36), nullable=True),
        sa.Column("session_started_at", sa.Double(), nullable=True),
        sa.Column("session_expires_at", sa.Double(), nullable=True),
        sa.Column("assignments_revision", sa.BigInteger(), nullable=False),
        sa.Column("reported_at", sa.Double(), nullable=True),
        sa.Column("configurations", sa.Text(), nullable=False),
        sa.Column("devices", sa.Text(), nullable=False),
        sa.Column("serving", sa.Text(), nullable=False),
        sa.Column("queue_depth", sa.Integer(), nullable=False),
        sa.Column("capacity_score", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        sa.UniqueConstraint("environment", "group_number", "host", name=op.f("uq_agent_environment_group_number_host")),
    )
    op.create_index("ix_agent_session_expires_at", "agent", ["session_expires_at"], unique=False)
    op.create_table(
        "environment",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("device_driver", sa.String(length=64), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_environment")),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_table(
        "load_balancer",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("provider", sa.String(length=64), nullable=False),
        sa.Column("vip_address", sa.String(length=64), nullable=False),
        sa.Column("vip_subnet_id", sa.String(length=36), nullable=False),
        sa.Column("vip_network_id", sa.String(length=36), nullable=False),
        sa.Column("vip_port_id", sa.String(length=36), nullable=False),
        sa.Column("applied_revision", sa.BigInteger(), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=False),
        sa.Column("pending_deadline", sa.Double(), nullable=True),
        sa.Column("shard_id", sa.String(length=36), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_load_balancer")),
        sa.UniqueConstraint("vip_network_id", "vip_address", name=op.f("uq_load_balancer_vip_network_id_vip_address")),
    )
    op.create_index("ix_load_balancer_created", "load_balancer", ["created_at", "id"], unique=False)
    op.create_index("ix_load_balancer_pending_deadline", "load_balancer", ["pending_deadline"], unique=False)
    op.create_index(
        "ix_load_balancer_project_created", "load_balancer", ["project_id", "created_at", "id"], unique=False
    )
    op.create_index("ix_load_balancer_shard_work", "load_balancer", ["shard_id", "provisioning_status"], unique=False)
    op.create_index("ix_load_balancer_vip_port_id", "load_balancer", ["vip_port_id"], unique=False)
    op.create_table(
        "shard",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("group_number", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("home_agent_id", sa.String(length=36), nullable=False),
        sa.Column("acting_agent_id", sa.String(length=36), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("handover_to", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shard")),
        sa.UniqueConstraint(
            "environment", "project_id", "group_number", name=op.f("uq_shard_environment_project_id_group_number")
        ),
    )
    op.create_index("ix_shard_acting_agent_id", "shard", ["acting_agent_id"], unique=False)
    op.create_index("ix_shard_home_agent_id", "shard", ["home_agent_id"], unique=False)
    op.create_table(
        "subnet",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("cidr", sa.String(length=64), nullable=False),
        sa.Column("gateway_ip", sa.String(length=64), nullable=True),
        sa.Column("project_id", sa.String(length=255), nullable=True),
        sa.Column("allocation_start", sa.String(length=64), nullable=False),
        sa.Column("allocation_end", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subnet")),
        sa.UniqueConstraint("name", name=op.f("uq_subnet_name")),
    )
    op.create_table(
        "device_group",
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("device_driver", sa.String(length=64), nullable=False),
        sa.Column("ha_type", sa.String(length=16), nullable=False),
        sa.Column("reschedule", sa.String(length=16), nullable=False),
        sa.Column("endpoints", sa.Text(), nullable=False),
        sa.Column("capacity_score", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["environment"], ["environment.name"], name=op.f("fk_device_group_environment")),
        sa.PrimaryKeyConstraint("environment", "number", name=op.f("pk_device_group")),
    )
    op.create_table(
        "listener",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("protocol", sa.String(length=16), nullable=False),
        sa.Column("protocol_port", sa.Integer(), nullable=False),
        sa.Column("connection_limit", sa.Integer(), nullable=False),
        sa.Column("default_pool_id", sa.String(length=36), nullable=True),
        sa.Column("insert_headers", sa.Text(), nullable=False),
        sa.Column("timeout_client_data", sa.Integer(), nullable=False),
        sa.Column("timeout_member_connect", sa.Integer(), nullable=False),
        sa.Column("timeout_member_data", sa.Integer(), nullable=False),
        sa.Column("timeout_tcp_inspect", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"], ["load_balancer.id"], name=op.f("fk_listener_load_balancer_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_listener")),
        sa.UniqueConstraint(
            "load_balancer_id",
            "protocol_port",
            "live_key",
            name=op.f("uq_listener_load_balancer_id_protocol_port_live_key"),
        ),
    )
    op.create_index(op.f("ix_listener_default_pool_id"), "listener", ["default_pool_id"], unique=False)
    op.create_index(op.f("ix_listener_load_balancer_id"), "listener", ["load_balancer_id"], unique=False)
    op.create_index("ix_listener_project_created", "listener", ["project_id", "created_at", "id"], unique=False)
    op.create_table(
        "pool",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("protocol", sa.String(length=16), nullable=False),
        sa.Column("lb_algorithm", sa.String(length=32), nullable=False),
        sa.Column("session_persistence", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"], ["load_balancer.id"], name=op.f("fk_pool_load_balancer_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pool")),
    )
    op.create_index(op.f("ix_pool_load_balancer_id"), "pool", ["load_balancer_id"], unique=False)
    op.create_index("ix_pool_project_created", "pool", ["project_id", "created_at", "id"], unique=False)
    op.create_table(
        "health_monitor",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("pool_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("delay", sa.Integer(), nullable=False),
        sa.Column("timeout", sa.Integer(), nullable=False),
        sa.Column("max_retries", sa.Integer(), nullable=False),
        sa.Column("max_retries_down", sa.Integer(), nullable=False),
        sa.Column("http_method", sa.String(length=16), nullable=True),
        sa.Column("url_path", sa.Text(), nullable=True),
        sa.Column("expected_codes", sa.String(length=255), nullable=True),
        sa.Column("http_version", sa.Double(), nullable=True),
        sa.Column("domain_name", sa.String(length=255), nullable=True),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_health_monitor_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["pool_id"], ["pool.id"], name=op.f("fk_health_monitor_pool_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_health_monitor")),
        sa.UniqueConstraint("pool_id", "live_key", name=op.f("uq_health_monitor_pool_id_live_key")),
    )
    op.create_index(op.f("ix_health_monitor_load_balancer_id"), "health_monitor", ["load_balancer_id"], unique=False)
    op.create_index(
        "ix_health_monitor_project_created", "health_monitor", ["project_id", "created_at", "id"], unique=False
    )
    op.create_table(
        "listener_statistics",
        sa.Column("listener_id", sa.String(length=36), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("bytes_in", sa.BigInteger(), nullable=False),
        sa.Column("bytes_out", sa.BigInteger(), nullable=False),
        sa.Column("active_connections", sa.BigInteger(), nullable=False),
        sa.Column("total_connections", sa.BigInteger(), nullable=False),
        sa.Column("request_errors", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["listener_id"], ["listener.id"], name=op.f("fk_listener_statistics_listener_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("listener_id", name=op.f("pk_listener_statistics")),
    )
    op.create_index(
        op.f("ix_listener_statistics_load_balancer_id"), "listener_statistics", ["load_balancer_id"], unique=False
    )
    op.create_table(
        "member",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("pool_id", sa.String(length=36), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("protocol_port", sa.Integer(), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("backup", sa.Boolean(), nullable=False),
        sa.Column("subnet_id", sa.String(length=36), nullable=True),
        sa.Column("monitor_address", sa.String(length=64), nullable=True),
        sa.Column("monitor_port", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"], ["load_balancer.id"], name=op.f("fk_member_load_balancer_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["pool_id"], ["pool.id"], name=op.f("fk_member_pool_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_member")),
        sa.UniqueConstraint(
            "pool_id",
            "address",
            "protocol_port",
            "live_key",
            name=op.f("uq_member_pool_id_address_protocol_port_live_key"),
        ),
    )
    op.create_index(op.f("ix_member_load_balancer_id"), "member", ["load_balancer_id"], unique=False)
    op.create_index(op.f("ix_member_pool_id"), "member", ["pool_id"], unique=False)
    op.create_index("ix_member_project_created", "member", ["project_id", "created_at", "id"], unique=False)
