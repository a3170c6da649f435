"""The tables of version 0.1.0."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMTEXT

revision = "v0001"
down_revision = None
branch_labels = None
depends_on = None

LONGER_TEXT = sa.Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    _create_agent()
    _create_attached_network()
    _create_availability_zone_profile()
    _create_certificate()
    _create_common_network()
    _create_controller()
    _create_device_address()
    _create_environment()
    _create_event()
    _create_flavor_profile()
    _create_former_agent()
    _create_history()
    _create_member_host()
    _create_network()
    _create_orphaned_load_balancer()
    _create_orphaned_partition()
    _create_other_history()
    _create_own_certificate()
    _create_plan_inquiry()
    _create_port_search()
    _create_quota()
    _create_removed_load_balancer()
    _create_route_domain()
    _create_shard()
    _create_shared_count()
    _create_shared_monitor()
    _create_subnet()
    _create_availability_zone()
    _create_device_group()
    _create_device_port()
    _create_flavor()
    _create_device_port_binding()
    _create_load_balancer()
    _create_capacity_reservation()
    _create_certificate_use()
    _create_listener()
    _create_load_balancer_revision()
    _create_load_balancer_tag()
    _create_pool()
    _create_vip_address()
    _create_vip_claim()
    _create_vip_port_change()
    _create_health_monitor()
    _create_l7policy()
    _create_listener_statistics()
    _create_member()
    _create_l7rule()


def _create_agent() -> None:
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
        sa.Column("naming_session_id", sa.String(length=36), nullable=True),
        sa.Column("names_session", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("sealing_key", sa.String(length=128), nullable=True),
        sa.Column("sealing_session_id", sa.String(length=36), nullable=True),
        sa.Column("keepalives", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("session_started_at", sa.Double(), nullable=True),
        sa.Column("session_expires_at", sa.Double(), nullable=True),
        sa.Column("session_ttl_seconds", sa.Double(), server_default="5", nullable=False),
        sa.Column("silent_since", sa.Double(), nullable=True),
        sa.Column("forced_down", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("failback_asked", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("sight_since", sa.Double(), nullable=True),
        sa.Column("reachable_devices", sa.Integer(), nullable=True),
        sa.Column("away_devices", sa.Text(), server_default="[]", nullable=False),
        sa.Column("assignments_revision", sa.BigInteger(), nullable=False),
        sa.Column("reported_at", sa.Double(), nullable=True),
        sa.Column("configurations", sa.Text(), nullable=False),
        sa.Column("devices", sa.Text(), nullable=False),
        sa.Column("serving", sa.Text(), nullable=False),
        sa.Column("enhanced_services", LONGER_TEXT, server_default="[]", nullable=False),
        sa.Column("queue_depth", sa.Integer(), nullable=False),
        sa.Column("capacity_score", sa.Double(), nullable=False),
        sa.Column("capacity", sa.String(length=2000), server_default="{}", nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        sa.UniqueConstraint("environment", "group_number", "host", name=op.f("uq_agent_environment_group_number_host")),
    )
    op.create_index("ix_agent_session_expires_at", "agent", ["session_expires_at"], unique=False)


def _create_attached_network() -> None:
    op.create_table(
        "attached_network",
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("route_domain", sa.Integer(), nullable=False),
        sa.Column("needed_revision", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("shard_id", "network_id", name=op.f("pk_attached_network")),
    )
    op.create_index(op.f("ix_attached_network_network_id"), "attached_network", ["network_id"], unique=False)


def _create_availability_zone_profile() -> None:
    op.create_table(
        "availability_zone_profile",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("provider_name", sa.String(length=64), nullable=False),
        sa.Column("availability_zone_data", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_availability_zone_profile")),
    )


def _create_certificate() -> None:
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


def _create_common_network() -> None:
    op.create_table(
        "common_network",
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("applied_revision", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("shard_id", "network_id", name=op.f("pk_common_network")),
    )
    op.create_index(op.f("ix_common_network_network_id"), "common_network", ["network_id"], unique=False)


def _create_controller() -> None:
    op.create_table(
        "controller",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("url", sa.String(length=255), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("message_broker", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_controller")),
    )


def _create_device_address() -> None:
    op.create_table(
        "device_address",
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("subnet_id", sa.String(length=36), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("claim_id", sa.String(length=36), nullable=True),
        sa.Column("leaving_revision", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("shard_id", "subnet_id", "purpose", "owner", "number", name=op.f("pk_device_address")),
        sa.UniqueConstraint("claim_id", name=op.f("uq_device_address_claim_id")),
        sa.UniqueConstraint("network_id", "address", name=op.f("uq_device_address_network_id_address")),
    )
    op.create_index(op.f("ix_device_address_subnet_id"), "device_address", ["subnet_id"], unique=False)


def _create_environment() -> None:
    op.create_table(
        "environment",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("device_driver", sa.String(length=64), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("failback", sa.String(length=16), server_default="auto", nullable=False),
        sa.Column("breaker_share", sa.Double(), server_default="0.5", nullable=False),
        sa.Column("breaker_agents", sa.Integer(), server_default="3", nullable=False),
        sa.Column("halted_at", sa.Double(), nullable=True),
        sa.Column("halted_reason", sa.String(length=255), server_default="", nullable=False),
        sa.Column("resumed_at", sa.Double(), nullable=True),
        sa.Column("registrations", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_environment")),
    )


def _create_event() -> None:
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
        sa.Column("user_name", sa.String(length=255), server_default="", nullable=False),
        sa.Column("user_id", sa.String(length=255), server_default="", nullable=False),
        sa.Column("request_id", sa.String(length=64), server_default="", nullable=False),
        sa.Column("client_address", sa.String(length=64), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index("ix_event_agent_id", "event", ["agent_id", "id"], unique=False)
    op.create_index("ix_event_load_balancer_id", "event", ["load_balancer_id", "id"], unique=False)
    op.create_index("ix_event_shard_id", "event", ["shard_id", "id"], unique=False)
    op.create_index("ix_event_user_id", "event", ["user_id", "id"], unique=False)
    op.create_index("ix_event_user_name", "event", ["user_name", "id"], unique=False)


def _create_flavor_profile() -> None:
    op.create_table(
        "flavor_profile",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("provider_name", sa.String(length=64), nullable=False),
        sa.Column("flavor_data", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flavor_profile")),
    )


def _create_former_agent() -> None:
    op.create_table(
        "former_agent",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("keepalives", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_former_agent")),
    )


def _create_history() -> None:
    op.create_table(
        "history",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("begun_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_history")),
    )


def _create_member_host() -> None:
    op.create_table(
        "member_host",
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("mac_address", sa.String(length=32), nullable=False),
        sa.Column("vtep", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("network_id", "address", name=op.f("pk_member_host")),
    )


def _create_network() -> None:
    op.create_table(
        "network",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("network_type", sa.String(length=16), nullable=False),
        sa.Column("physical_network", sa.String(length=255), nullable=True),
        sa.Column("segmentation_id", sa.BigInteger(), nullable=True),
        sa.Column("mtu", sa.Integer(), nullable=True),
        sa.Column("project_id", sa.String(length=255), nullable=True),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("external", sa.Boolean(), nullable=False),
        sa.Column("vteps", sa.Text(), nullable=False),
        sa.Column("segment_key", sa.String(length=300), nullable=False),
        sa.Column("from_service", sa.Boolean(), nullable=False),
        sa.Column("read_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_network")),
        sa.UniqueConstraint("name", name=op.f("uq_network_name")),
        sa.UniqueConstraint("segment_key", name=op.f("uq_network_segment_key")),
    )
    op.create_index(op.f("ix_network_read_at"), "network", ["read_at"], unique=False)


def _create_orphaned_load_balancer() -> None:
    op.create_table(
        "orphaned_load_balancer",
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("found_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("remove_at", sa.Double(), nullable=True),
        sa.Column("removal", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("shard_id", "load_balancer_id", name=op.f("pk_orphaned_load_balancer")),
    )
    op.create_index(
        op.f("ix_orphaned_load_balancer_load_balancer_id"), "orphaned_load_balancer", ["load_balancer_id"], unique=False
    )


def _create_orphaned_partition() -> None:
    op.create_table(
        "orphaned_partition",
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("group_number", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("found_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("environment", "group_number", "project_id", name=op.f("pk_orphaned_partition")),
    )
    op.create_index("ix_orphaned_partition_found_at", "orphaned_partition", ["found_at"], unique=False)


def _create_other_history() -> None:
    op.create_table(
        "other_history",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("noted_at", sa.Double(), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_other_history")),
    )


def _create_own_certificate() -> None:
    op.create_table(
        "own_certificate",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
        sa.Column("told_days", sa.Integer(), nullable=True),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_own_certificate")),
    )


def _create_plan_inquiry() -> None:
    op.create_table(
        "plan_inquiry",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("asked_at", sa.Double(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_plan_inquiry")),
    )
    op.create_index(op.f("ix_plan_inquiry_asked_at"), "plan_inquiry", ["asked_at"], unique=False)


def _create_port_search() -> None:
    op.create_table(
        "port_search",
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("reached", sa.String(length=36), nullable=False),
        sa.Column("begun_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_port_search")),
    )


def _create_quota() -> None:
    op.create_table(
        "quota",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("checks", sa.BigInteger(), nullable=False),
        sa.Column("loadbalancer", sa.Integer(), nullable=True),
        sa.Column("listener", sa.Integer(), nullable=True),
        sa.Column("pool", sa.Integer(), nullable=True),
        sa.Column("member", sa.Integer(), nullable=True),
        sa.Column("healthmonitor", sa.Integer(), nullable=True),
        sa.Column("l7policy", sa.Integer(), nullable=True),
        sa.Column("l7rule", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_quota")),
    )


def _create_removed_load_balancer() -> None:
    op.create_table(
        "removed_load_balancer",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("removed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_removed_load_balancer")),
    )
    op.create_index(op.f("ix_removed_load_balancer_removed_at"), "removed_load_balancer", ["removed_at"], unique=False)


def _create_route_domain() -> None:
    op.create_table(
        "route_domain",
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("group_number", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("shard_id", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("environment", "group_number", "number", name=op.f("pk_route_domain")),
    )
    op.create_index(op.f("ix_route_domain_shard_id"), "route_domain", ["shard_id"], unique=False)


def _create_shard() -> None:
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
        sa.Column("handover_at", sa.Double(), nullable=True),
        sa.Column("observed_session_id", sa.String(length=36), nullable=True),
        sa.Column("observed_number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shard")),
        sa.UniqueConstraint(
            "environment", "project_id", "group_number", name=op.f("uq_shard_environment_project_id_group_number")
        ),
    )
    op.create_index("ix_shard_acting_agent_id", "shard", ["acting_agent_id"], unique=False)
    op.create_index("ix_shard_environment_group_number", "shard", ["environment", "group_number"], unique=False)
    op.create_index("ix_shard_handover_to", "shard", ["handover_to"], unique=False)
    op.create_index("ix_shard_home_agent_id", "shard", ["home_agent_id"], unique=False)


def _create_shared_count() -> None:
    op.create_table(
        "shared_count",
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("content", LONGER_TEXT, nullable=False),
        sa.Column("counted_at", sa.Double(), nullable=False),
        sa.Column("kept_seconds", sa.Double(), nullable=False),
        sa.Column("claimed_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_shared_count")),
    )


def _create_shared_monitor() -> None:
    op.create_table(
        "shared_monitor",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("delay", sa.Integer(), nullable=False),
        sa.Column("timeout", sa.Integer(), nullable=False),
        sa.Column("max_retries", sa.Integer(), nullable=False),
        sa.Column("http_method", sa.String(length=16), nullable=True),
        sa.Column("url_path", sa.Text(), nullable=True),
        sa.Column("expected_codes", sa.String(length=255), nullable=True),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shared_monitor")),
    )
    op.create_index(
        "ix_shared_monitor_project_created", "shared_monitor", ["project_id", "created_at", "id"], unique=False
    )


def _create_subnet() -> None:
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
        sa.Column("reserved", sa.Text(), server_default="[]", nullable=False),
        sa.Column("device_addresses", sa.Text(), server_default="[]", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subnet")),
        sa.UniqueConstraint("name", name=op.f("uq_subnet_name")),
    )


def _create_availability_zone() -> None:
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
        op.f("ix_availability_zone_availability_zone_profile_id"),
        "availability_zone",
        ["availability_zone_profile_id"],
        unique=False,
    )


def _create_device_group() -> None:
    op.create_table(
        "device_group",
        sa.Column("environment", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("device_driver", sa.String(length=64), nullable=False),
        sa.Column("ha_type", sa.String(length=16), nullable=False),
        sa.Column("reschedule", sa.String(length=16), nullable=False),
        sa.Column("endpoints", sa.Text(), nullable=False),
        sa.Column("capacity_score", sa.Double(), nullable=False),
        sa.Column("capacity", sa.String(length=2000), server_default="{}", nullable=False),
        sa.Column("reach", sa.String(length=16), server_default="reached", nullable=False),
        sa.Column("away_devices", sa.Text(), server_default="[]", nullable=False),
        sa.Column("reached_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("identities", sa.Text(), server_default="{}", nullable=False),
        sa.Column("network_layout", sa.Text(), server_default="{}", nullable=False),
        sa.Column("allocations", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["environment"], ["environment.name"], name=op.f("fk_device_group_environment")),
        sa.PrimaryKeyConstraint("environment", "number", name=op.f("pk_device_group")),
    )


def _create_device_port() -> None:
    op.create_table(
        "device_port",
        sa.Column("claim_id", sa.String(length=36), nullable=False),
        sa.Column("held_by", sa.String(length=36), nullable=True),
        sa.Column("device_owner", sa.String(length=255), nullable=False),
        sa.Column("device_id", sa.String(length=255), nullable=False),
        sa.Column("port_id", sa.String(length=36), nullable=True),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["held_by"], ["device_address.claim_id"], name=op.f("fk_device_port_held_by"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("claim_id", name=op.f("pk_device_port")),
    )
    op.create_index("ix_device_port_held_by_due_at", "device_port", ["held_by", "due_at"], unique=False)


def _create_flavor() -> None:
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
    op.create_index(op.f("ix_flavor_flavor_profile_id"), "flavor", ["flavor_profile_id"], unique=False)


def _create_device_port_binding() -> None:
    op.create_table(
        "device_port_binding",
        sa.Column("claim_id", sa.String(length=36), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["claim_id"], ["device_port.claim_id"], name=op.f("fk_device_port_binding_claim_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("claim_id", name=op.f("pk_device_port_binding")),
    )
    op.create_index(op.f("ix_device_port_binding_due_at"), "device_port_binding", ["due_at"], unique=False)


def _create_load_balancer() -> None:
    op.create_table(
        "load_balancer",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
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
        sa.Column("flavor_id", sa.String(length=36), nullable=True),
        sa.Column("availability_zone", sa.String(length=255), nullable=True),
        sa.Column("vip_leaving_revision", sa.BigInteger(), nullable=True),
        sa.Column("earlier_changes", sa.Text(), server_default="", nullable=False),
        sa.Column("additional_vips", sa.Text(), server_default="[]", nullable=False),
        sa.Column("given_vips", sa.Text(), server_default="{}", nullable=False),
        sa.Column("vip_qos_policy_id", sa.String(length=36), nullable=True),
        sa.Column("vip_sg_ids", sa.Text(), server_default="[]", nullable=False),
        sa.Column("vip_vnic_type", sa.String(length=16), server_default="normal", nullable=False),
        sa.Column("zone_group_number", sa.Integer(), nullable=True),
        sa.Column("flavor_enhanced_services", sa.Text(), server_default="[]", nullable=False),
        sa.Column("root_pool_id", sa.String(length=36), nullable=True),
        sa.Column("operating_reason", sa.String(length=255), server_default="", nullable=False),
        sa.Column("change_id", sa.String(length=36), server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["availability_zone"], ["availability_zone.name"], name=op.f("fk_load_balancer_availability_zone")
        ),
        sa.ForeignKeyConstraint(["flavor_id"], ["flavor.id"], name=op.f("fk_load_balancer_flavor_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_load_balancer")),
        sa.UniqueConstraint("vip_network_id", "vip_address", name=op.f("uq_load_balancer_vip_network_id_vip_address")),
    )
    op.create_index(op.f("ix_load_balancer_availability_zone"), "load_balancer", ["availability_zone"], unique=False)
    op.create_index("ix_load_balancer_created", "load_balancer", ["created_at", "id"], unique=False)
    op.create_index(op.f("ix_load_balancer_flavor_id"), "load_balancer", ["flavor_id"], unique=False)
    op.create_index("ix_load_balancer_name_created", "load_balancer", ["name", "created_at", "id"], unique=False)
    op.create_index(
        "ix_load_balancer_operating_status_created",
        "load_balancer",
        ["operating_status", "created_at", "id"],
        unique=False,
    )
    op.create_index("ix_load_balancer_pending_deadline", "load_balancer", ["pending_deadline"], unique=False)
    op.create_index(
        "ix_load_balancer_project_created", "load_balancer", ["project_id", "created_at", "id"], unique=False
    )
    op.create_index(
        "ix_load_balancer_provisioning_status_created",
        "load_balancer",
        ["provisioning_status", "created_at", "id"],
        unique=False,
    )
    op.create_index("ix_load_balancer_shard_work", "load_balancer", ["shard_id", "provisioning_status"], unique=False)
    op.create_index(
        "ix_load_balancer_vip_address_created", "load_balancer", ["vip_address", "created_at", "id"], unique=False
    )
    op.create_index("ix_load_balancer_vip_port_id", "load_balancer", ["vip_port_id"], unique=False)


def _create_capacity_reservation() -> None:
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


def _create_certificate_use() -> None:
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


def _create_listener() -> None:
    op.create_table(
        "listener",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
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
        sa.Column("tls_ciphers", sa.Text(), nullable=True),
        sa.Column("allowed_cidrs", sa.Text(), server_default="[]", nullable=False),
        sa.Column("default_tls_container_ref", sa.String(length=255), nullable=True),
        sa.Column("sni_container_refs", sa.Text(), server_default="[]", nullable=False),
        sa.Column("client_ca_tls_container_ref", sa.String(length=255), nullable=True),
        sa.Column("client_authentication", sa.String(length=16), server_default="NONE", nullable=False),
        sa.Column("client_crl_container_ref", sa.String(length=255), nullable=True),
        sa.Column("tls_versions", sa.Text(), server_default="[]", nullable=False),
        sa.Column("alpn_protocols", sa.Text(), server_default="[]", nullable=False),
        sa.Column("hsts_max_age", sa.Integer(), nullable=True),
        sa.Column("hsts_include_subdomains", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("hsts_preload", sa.Boolean(), server_default=sa.false(), nullable=False),
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


def _create_load_balancer_revision() -> None:
    op.create_table(
        "load_balancer_revision",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("accepted_at", sa.Double(), nullable=False),
        sa.Column("user_name", sa.String(length=255), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("applied_at", sa.Double(), nullable=True),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_load_balancer_revision_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("load_balancer_id", "slot", name=op.f("pk_load_balancer_revision")),
    )


def _create_load_balancer_tag() -> None:
    op.create_table(
        "load_balancer_tag",
        sa.Column("tag", sa.String(length=255), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_load_balancer_tag_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tag", "load_balancer_id", name=op.f("pk_load_balancer_tag")),
    )
    op.create_index(
        op.f("ix_load_balancer_tag_load_balancer_id"), "load_balancer_tag", ["load_balancer_id"], unique=False
    )


def _create_pool() -> None:
    op.create_table(
        "pool",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("protocol", sa.String(length=16), nullable=False),
        sa.Column("lb_algorithm", sa.String(length=32), nullable=False),
        sa.Column("tls_ciphers", sa.Text(), nullable=True),
        sa.Column("session_persistence", sa.Text(), nullable=True),
        sa.Column("tls_enabled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("tls_container_ref", sa.String(length=255), nullable=True),
        sa.Column("ca_tls_container_ref", sa.String(length=255), nullable=True),
        sa.Column("crl_container_ref", sa.String(length=255), nullable=True),
        sa.Column("tls_versions", sa.Text(), server_default="[]", nullable=False),
        sa.Column("alpn_protocols", sa.Text(), server_default="[]", nullable=False),
        sa.Column("subnet_id", sa.String(length=36), nullable=True),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"], ["load_balancer.id"], name=op.f("fk_pool_load_balancer_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pool")),
    )
    op.create_index(op.f("ix_pool_load_balancer_id"), "pool", ["load_balancer_id"], unique=False)
    op.create_index("ix_pool_project_created", "pool", ["project_id", "created_at", "id"], unique=False)


def _create_vip_address() -> None:
    op.create_table(
        "vip_address",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("network_id", sa.String(length=36), nullable=False),
        sa.Column("subnet_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"], ["load_balancer.id"], name=op.f("fk_vip_address_load_balancer_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("load_balancer_id", "address", name=op.f("pk_vip_address")),
        sa.UniqueConstraint("network_id", "address", name=op.f("uq_vip_address_network_id_address")),
    )
    op.create_index(op.f("ix_vip_address_subnet_id"), "vip_address", ["subnet_id"], unique=False)


def _create_vip_claim() -> None:
    op.create_table(
        "vip_claim",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("held_by", sa.String(length=36), nullable=True),
        sa.Column("device_owner", sa.String(length=255), nullable=False),
        sa.Column("device_id", sa.String(length=255), nullable=False),
        sa.Column("port_id", sa.String(length=36), nullable=True),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["held_by"], ["load_balancer.id"], name=op.f("fk_vip_claim_held_by"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("load_balancer_id", name=op.f("pk_vip_claim")),
    )
    op.create_index("ix_vip_claim_held_by_due_at", "vip_claim", ["held_by", "due_at"], unique=False)


def _create_vip_port_change() -> None:
    op.create_table(
        "vip_port_change",
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("security_groups", sa.Boolean(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("binding", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("lost_port_id", sa.String(length=36), nullable=True),
        sa.Column("reason", sa.String(length=255), server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"],
            ["load_balancer.id"],
            name=op.f("fk_vip_port_change_load_balancer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("load_balancer_id", name=op.f("pk_vip_port_change")),
    )
    op.create_index(op.f("ix_vip_port_change_due_at"), "vip_port_change", ["due_at"], unique=False)


def _create_health_monitor() -> None:
    op.create_table(
        "health_monitor",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("pool_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("delay", sa.Integer(), nullable=False),
        sa.Column("timeout", sa.Integer(), nullable=False),
        sa.Column("max_retries", sa.Integer(), nullable=False),
        sa.Column("max_retries_down", sa.Integer(), nullable=False),
        sa.Column("http_method", sa.String(length=16), nullable=True),
        sa.Column("url_path", sa.Text(), nullable=True),
        sa.Column("shared_monitor_id", sa.String(length=36), nullable=True),
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
    op.create_index(op.f("ix_health_monitor_shared_monitor_id"), "health_monitor", ["shared_monitor_id"], unique=False)


def _create_l7policy() -> None:
    op.create_table(
        "l7policy",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("listener_id", sa.String(length=36), nullable=False),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("redirect_pool_id", sa.String(length=36), nullable=True),
        sa.Column("redirect_url", sa.String(length=255), nullable=True),
        sa.Column("redirect_prefix", sa.String(length=255), nullable=True),
        sa.Column("redirect_http_code", sa.Integer(), nullable=True),
        sa.Column("enhanced_service", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ["listener_id"], ["listener.id"], name=op.f("fk_l7policy_listener_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"], ["load_balancer.id"], name=op.f("fk_l7policy_load_balancer_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_l7policy")),
    )
    op.create_index(op.f("ix_l7policy_listener_id"), "l7policy", ["listener_id"], unique=False)
    op.create_index(op.f("ix_l7policy_load_balancer_id"), "l7policy", ["load_balancer_id"], unique=False)
    op.create_index("ix_l7policy_project_created", "l7policy", ["project_id", "created_at", "id"], unique=False)
    op.create_index(op.f("ix_l7policy_redirect_pool_id"), "l7policy", ["redirect_pool_id"], unique=False)


def _create_listener_statistics() -> None:
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


def _create_member() -> None:
    op.create_table(
        "member",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("provisioning_status", sa.String(length=16), nullable=False),
        sa.Column("operating_status", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("live_key", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("load_balancer_id", sa.String(length=36), nullable=False),
        sa.Column("pool_id", sa.String(length=36), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("protocol_port", sa.Integer(), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("backup", sa.Boolean(), nullable=False),
        sa.Column("monitor_address", sa.String(length=64), nullable=True),
        sa.Column("monitor_port", sa.Integer(), nullable=True),
        sa.Column("vnic_type", sa.String(length=16), server_default="normal", nullable=False),
        sa.Column("subnet_id", sa.String(length=36), nullable=True),
        sa.Column("given_address", sa.String(length=255), nullable=True),
        sa.Column("given_monitor_address", sa.String(length=255), nullable=True),
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


def _create_l7rule() -> None:
    op.create_table(
        "l7rule",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
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
        sa.Column("l7policy_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("compare_type", sa.String(length=16), nullable=False),
        sa.Column("value", sa.String(length=255), nullable=False),
        sa.Column("invert", sa.Boolean(), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=True),
        sa.ForeignKeyConstraint(
            ["l7policy_id"], ["l7policy.id"], name=op.f("fk_l7rule_l7policy_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["load_balancer_id"], ["load_balancer.id"], name=op.f("fk_l7rule_load_balancer_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_l7rule")),
    )
    op.create_index(op.f("ix_l7rule_l7policy_id"), "l7rule", ["l7policy_id"], unique=False)
    op.create_index(op.f("ix_l7rule_load_balancer_id"), "l7rule", ["load_balancer_id"], unique=False)
    op.create_index("ix_l7rule_project_created", "l7rule", ["project_id", "created_at", "id"], unique=False)
