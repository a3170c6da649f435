"""The tables. One dialect-neutral schema for SQLite, PostgreSQL and MariaDB.

* Times are ``Double`` seconds since the epoch by the database's clock (:class:`evenkeel.store.engine.clock.db_now`).
* A tenant's delete sets ``deleted``; the row is removed when the device has confirmed. ``live_key`` is the row's own id
  on a deleted row and the same on all live ones (but listeners of UDP and SCTP have their protocol there), so that
  unique constraints bind live rows only and a successor may be created at once.
* Sequences of strings and small maps are JSON text.
* Columns of a tenant object's attributes are declared here only if they have a key, an index or a type of their own, or
  no default in the database, as in the first tables. All others follow from the value class.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.dialects.mysql import MEDIUMTEXT

from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)
from evenkeel.store.records.columns import ID, KEYWORD_TYPE, NAME, columns_for

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

LONGER_TEXT = Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")  # their Text has 64 KiB
BIG_ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite autoincrements INTEGER keys only

environment = Table(
    "environment",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("device_driver", String(64), nullable=False),
    Column("description", NAME, nullable=False, default=""),
    Column("created_at", Double, nullable=False),
    Column("failback", String(16), nullable=False, default="auto", server_default="auto"),
    # the circuit breaker: see core.breaker. halted_at NULL: closed. resumed_at: when an operator last closed it
    Column("breaker_share", Double, nullable=False, default=0.5, server_default="0.5"),
    Column("breaker_agents", Integer, nullable=False, default=3, server_default="3"),
    Column("vip_networks_allowed", Text, nullable=False, default="[]", server_default="[]"),
    Column("vip_networks_denied", Text, nullable=False, default="[]", server_default="[]"),
    Column("halted_at", Double),
    Column("halted_reason", NAME, nullable=False, default="", server_default=""),
    Column("resumed_at", Double),
    # raised by every registration, so that of two at different nodes of a Galera cluster one fails at COMMIT
    Column("registrations", BigInteger, nullable=False, default=0, server_default="0"),
)

device_group = Table(
    "device_group",
    metadata,
    Column("environment", String(64), ForeignKey("environment.name"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("device_driver", String(64), nullable=False),
    Column("ha_type", String(16), nullable=False),
    Column("reschedule", String(16), nullable=False),
    Column("endpoints", Text, nullable=False),  # JSON list, from the first agent
    Column("capacity_score", Double, nullable=False, default=0.0),  # including reservations
    # JSON: figures {metric: {value, limit}} as last reported by one of its agents, and sums of reservations
    Column("capacity", String(2000), nullable=False, default="{}", server_default="{}"),
    # which devices its agents reach: see core.reach. away_devices: JSON list of names
    Column("reach", String(16), nullable=False, default="reached", server_default="reached"),
    Column("away_devices", Text, nullable=False, default="[]", server_default="[]"),
    # how often its devices became reachable again
    Column("reached_count", BigInteger, nullable=False, default=0, server_default="0"),
    Column("identities", Text, nullable=False, default="{}", server_default="{}"),  # JSON map endpoint -> identity
    Column("network_layout", Text, nullable=False, default="{}", server_default="{}"),  # JSON, NetworkLayout
    # raised by each allocation for its networks, which serializes them
    Column("allocations", BigInteger, nullable=False, default=0, server_default="0"),
    Column("created_at", Double, nullable=False),
)

capacity_reservation = Table(  # reservations: placed load balancers that the reported figures do not include yet
    "capacity_reservation",
    metadata,
    Column("load_balancer_id", ID, ForeignKey("load_balancer.id", ondelete="CASCADE"), primary_key=True),
    Column("environment", String(64), nullable=False),
    Column("group_number", Integer, nullable=False),
    Column("amounts", String(2000), nullable=False),  # JSON map metric -> amount
    Column("confirmed_at", Double),  # when its device first confirmed it; a later measurement includes it
    Index("ix_capacity_reservation_environment_group_number", "environment", "group_number"),
)

agent = Table(
    "agent",
    metadata,
    Column("id", ID, primary_key=True),
    Column("environment", String(64), nullable=False),
    Column("group_number", Integer, nullable=False),
    Column("host", NAME, nullable=False),
    Column("device_driver", String(64), nullable=False),
    Column("ha_type", String(16), nullable=False),
    Column("endpoints", Text, nullable=False, default="[]"),
    Column("admin_state_up", Boolean, nullable=False, default=True),
    # the session of the agent process. NULL: ended. It is live while expires_at > db_now()
    Column("session_id", ID),
    # of use only to controllers of 0.1.0, which may share the database during an upgrade
    Column("naming_session_id", ID),
    Column("names_session", Boolean, nullable=False, default=False, server_default=false()),
    # what private keys are sealed for, in hexadecimal; only while the session is the one named beside it
    Column("sealing_key", String(128)),
    Column("sealing_session_id", ID),
    # raised by each: an agent with a higher number proves that commits were lost. See ownership/histories.py
    Column("keepalives", BigInteger, nullable=False, default=0, server_default="0"),
    Column("session_started_at", Double),
    Column("session_expires_at", Double),
    Column("session_ttl_seconds", Double, nullable=False, default=5.0, server_default="5"),
    Column("silent_since", Double),  # its session expired without being ended; the circuit breaker counts it
    # an operator declared the host dead
    Column("forced_down", Boolean, nullable=False, default=False, server_default=false()),
    Column("failback_asked", Boolean, nullable=False, default=False, server_default=false()),
    Column("sight_since", Double),  # since when reachable_devices has its value
    Column("reachable_devices", Integer),  # by its last state report; NULL: not reported yet
    Column("away_devices", Text, nullable=False, default="[]", server_default="[]"),  # the others, a JSON list
    # raised in the same transaction as every change of the shards it acts for, or a requested handover
    Column("assignments_revision", BigInteger, nullable=False, default=0),
    Column("reported_at", Double),
    Column("configurations", Text, nullable=False, default="{}"),
    Column("devices", Text, nullable=False, default="[]"),
    Column("serving", Text, nullable=False, default="[]"),  # shards it believes to own; for display only
    # what its operator offers to tenants, a JSON list
    Column("enhanced_services", LONGER_TEXT, nullable=False, default="[]", server_default="[]"),
    Column("queue_depth", Integer, nullable=False, default=0),
    Column("capacity_score", Double, nullable=False, default=0.0),
    # JSON map metric -> {value, limit} as last reported
    Column("capacity", String(2000), nullable=False, default="{}", server_default="{}"),
    Column("created_at", Double, nullable=False),
    UniqueConstraint("environment", "group_number", "host"),
    Index("ix_agent_session_expires_at", "session_expires_at"),
)

shard = Table(
    "shard",
    metadata,
    Column("id", ID, primary_key=True),
    Column("environment", String(64), nullable=False),
    Column("group_number", Integer, nullable=False),
    Column("project_id", NAME, nullable=False),  # '' = the common shard of the group
    Column("home_agent_id", ID, nullable=False),
    Column("acting_agent_id", ID),
    Column("epoch", BigInteger, nullable=False),
    Column("handover_to", ID),
    Column("handover_at", Double),  # when the handover was requested
    # of a common shard: the number of the newest status report, and its session
    Column("observed_session_id", ID),
    Column("observed_number", BigInteger, nullable=False, default=0, server_default="0"),
    # its tenant was moved to another device group and gets no new load balancers here: see store/moves
    Column("moved_away", Boolean, nullable=False, default=False, server_default=false()),
    Column("created_at", Double, nullable=False),
    UniqueConstraint("environment", "project_id", "group_number"),
    Index("ix_shard_acting_agent_id", "acting_agent_id"),
    Index("ix_shard_home_agent_id", "home_agent_id"),
    Index("ix_shard_handover_to", "handover_to"),
    Index("ix_shard_environment_group_number", "environment", "group_number"),
)

subnet = Table(
    "subnet",
    metadata,
    Column("id", ID, primary_key=True),
    Column("network_id", ID, nullable=False),
    Column("name", NAME, nullable=False, unique=True),
    Column("cidr", String(64), nullable=False),
    Column("gateway_ip", String(64)),
    Column("project_id", NAME),
    Column("allocation_start", String(64), nullable=False),
    Column("allocation_end", String(64), nullable=False),
    Column("reserved", Text, nullable=False, default="[]", server_default="[]"),
    Column("device_addresses", Text, nullable=False, default="[]", server_default="[]"),
)

network = Table(  # declared by operators, for the built-in network service, or read from another one
    "network",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", NAME, nullable=False, unique=True),
    Column("network_type", KEYWORD_TYPE, nullable=False),
    Column("physical_network", NAME),
    Column("segmentation_id", BigInteger),
    Column("mtu", Integer),
    Column("project_id", NAME),
    Column("shared", Boolean, nullable=False),
    Column("external", Boolean, nullable=False),
    Column("vteps", Text, nullable=False),  # a JSON list
    # type, physical network and segment of a declared one; the id of one that was read
    Column("segment_key", String(300), nullable=False, unique=True),
    Column("from_service", Boolean, nullable=False),
    Column("read_at", Double, index=True),  # NULL: declared
)

attached_network = Table(  # networks to which devices are attached for a shard: see store/networks
    "attached_network",
    metadata,
    Column("shard_id", ID, primary_key=True),
    Column("network_id", ID, primary_key=True, index=True),
    Column("route_domain", Integer, nullable=False),  # its number on the devices
    # of a common network: the revision of it that has what the shard needs
    Column("needed_revision", BigInteger, nullable=False, default=0, server_default="0"),
)

common_network = Table(  # networks that projects share, of device groups' common shards: see networks/common.py
    "common_network",
    metadata,
    Column("shard_id", ID, primary_key=True),  # the common shard
    Column("network_id", ID, primary_key=True, index=True),
    Column("revision", BigInteger, nullable=False),
    Column("applied_revision", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),  # why the devices could not be attached at the last try
)

route_domain = Table(
    "route_domain",
    metadata,
    Column("environment", String(64), primary_key=True),
    Column("group_number", Integer, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("shard_id", ID, nullable=False, index=True),
)

device_address = Table(  # addresses that devices have in subnets
    "device_address",
    metadata,
    Column("shard_id", ID, primary_key=True),
    Column("subnet_id", ID, primary_key=True, index=True),
    Column("purpose", KEYWORD_TYPE, primary_key=True),
    Column("owner", String(128), primary_key=True),  # the device or traffic group
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("network_id", ID, nullable=False),
    Column("address", String(64), nullable=False),
    Column("claim_id", ID, unique=True),  # of its port at the network service; NULL: it has none
    # of a common network: its first revision without the unused subnet; NULL: the subnet stays
    Column("leaving_revision", BigInteger),
    UniqueConstraint("network_id", "address"),
)

member_host = Table(  # hosts of members' ports, from the network service
    "member_host",
    metadata,
    Column("network_id", ID, primary_key=True),
    Column("address", String(64), primary_key=True),
    Column("mac_address", String(32), nullable=False),  # empty: the address has no port
    Column("vtep", String(64), nullable=False),  # empty: not known
)


quota = Table(  # a project with limits of its own, or to which defaults apply; the row is the lock for counting
    "quota",
    metadata,
    Column("project_id", NAME, primary_key=True),
    Column("checks", BigInteger, nullable=False, default=0),  # raised by each check, which serializes checks
    # NULL: the default
    *(
        Column(name, Integer)
        for name in ("loadbalancer", "listener", "pool", "member", "healthmonitor", "l7policy", "l7rule")
    ),
)

flavor_profile = Table(
    "flavor_profile",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", NAME, nullable=False),
    Column("provider_name", String(64), nullable=False),
    Column("flavor_data", Text, nullable=False),  # JSON object, as it was given
    Column("created_at", Double, nullable=False),
)

flavor = Table(
    "flavor",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", NAME, nullable=False, unique=True),
    Column("description", NAME, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("flavor_profile_id", ID, ForeignKey("flavor_profile.id"), nullable=False, index=True),
    Column("created_at", Double, nullable=False),
)

availability_zone_profile = Table(
    "availability_zone_profile",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", NAME, nullable=False),
    Column("provider_name", String(64), nullable=False),
    Column("availability_zone_data", Text, nullable=False),  # JSON object, as it was given
    Column("created_at", Double, nullable=False),
)

availability_zone = Table(
    "availability_zone",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("description", NAME, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("availability_zone_profile_id", ID, ForeignKey("availability_zone_profile.id"), nullable=False, index=True),
    Column("created_at", Double, nullable=False),
)


def _tenant_columns() -> list[Column[object]]:
    """Return the columns of tenants' objects that have a name."""
    return [*_nameless_columns(), Column("name", NAME, nullable=False)]


def _nameless_columns() -> list[Column[object]]:
    """Return the columns that tenants' objects have besides a name. Objects of rate limits get all but
    ``admin_state_up``: see :func:`_stateless_columns`.
    """
    return [
        Column("id", ID, primary_key=True),
        Column("project_id", NAME, nullable=False),
        Column("admin_state_up", Boolean, nullable=False),
        Column("tags", Text, nullable=False),
        Column("provisioning_status", String(16), nullable=False),
        Column("operating_status", String(16), nullable=False),
        Column("revision", BigInteger, nullable=False),
        Column("deleted", Boolean, nullable=False),
        Column("live_key", ID, nullable=False),
        Column("created_at", Double, nullable=False),
        Column("updated_at", Double),
    ]


load_balancer = Table(
    "load_balancer",
    metadata,
    *columns_for(
        LoadBalancer,
        *_tenant_columns(),
        Column("description", NAME, nullable=False),
        Column("provider", String(64), nullable=False),
        Column("vip_address", String(64), nullable=False),
        Column("vip_subnet_id", ID, nullable=False),
        Column("vip_network_id", ID, nullable=False),
        Column("vip_port_id", ID, nullable=False),
        Column("applied_revision", BigInteger, nullable=False),
        Column("status_reason", Text, nullable=False),
        Column("pending_deadline", Double),  # NULL: nothing pending, or not placed yet
        Column("shard_id", ID),  # NULL: not placed yet
        # both are in use as long as the row exists, also while it is being deleted
        Column("flavor_id", ID, ForeignKey("flavor.id"), index=True),
        Column("availability_zone", NAME, ForeignKey("availability_zone.name"), index=True),
        Column("vip_leaving_revision", BigInteger),  # the unconfirmed revision that releases the VIP
        # the revisions since the applied one, newest first, each with a prefix of its change id: see core.changes
        Column("earlier_changes", Text, nullable=False, default="", server_default=""),
        # a copy of another system's, which alone changes it: see store/mirrors
        Column("mirrored", Boolean, nullable=False, default=False, server_default=false()),
        # of the last change of its own attributes; 0: none since it was created. See core/status/lifecycle.py
        Column("own_revision", BigInteger, nullable=False, default=0, server_default="0"),
        excluded=("vip",),
    ),
    # no live_key: the address stays allocated until the device has released it
    UniqueConstraint("vip_network_id", "vip_address"),
    # pending work of a shard is revision > applied_revision OR ERROR: see the index below and ownership/shards.py
    Index("ix_load_balancer_shard_work", "shard_id", "provisioning_status"),
    Index("ix_load_balancer_project_created", "project_id", "created_at", "id"),
    Index("ix_load_balancer_created", "created_at", "id"),
    Index("ix_load_balancer_pending_deadline", "pending_deadline"),
    Index("ix_load_balancer_vip_port_id", "vip_port_id"),
    Index("ix_load_balancer_updated_at", "updated_at"),  # what has changed for an Octavia: see store/mirrors
    # operators look for them in all projects. With the order of lists, so that a page of many ends early: many may have
    # the same name, or the same address in networks of their own
    *(
        Index(f"ix_load_balancer_{name}_created", name, "created_at", "id")
        for name in ("name", "vip_address", "provisioning_status", "operating_status")
    ),
)

load_balancer_tag = Table(  # the tags of load balancers, to find them by: see writing/tags.py
    "load_balancer_tag",
    metadata,
    Column("tag", NAME, primary_key=True),
    Column("load_balancer_id", ID, ForeignKey("load_balancer.id", ondelete="CASCADE"), primary_key=True, index=True),
)

mirror = Table(  # what mirrored load balancers show of the other system's database: see store/mirrors
    "mirror",
    metadata,
    # no foreign key: the row outlives the load balancer for some time, so that an older state does not bring it back
    Column("load_balancer_id", ID, primary_key=True),
    Column("provider", String(64), nullable=False),
    Column("snapshot", Double, nullable=False),  # time by the other database's clock
    Column("digest", String(64), nullable=False),
    Column("change_key", String(64)),  # the other system's pending operation that was stored last
    Column("removed_at", Double, index=True),  # NULL: not deleted
    Index("ix_mirror_provider_load_balancer_id", "provider", "load_balancer_id"),
)

mirror_lease = Table(  # which process of the other system writes a provider's load balancers
    "mirror_lease",
    metadata,
    Column("provider", String(64), primary_key=True),
    Column("holder", NAME, nullable=False),
    Column("expires_at", Double, nullable=False),
)

# events of load balancers that are to be sent to a message broker, each with the load balancer at that time: see
# writing/outbox.py. Without a foreign key, because the load balancer may be gone
notification = Table(
    "notification",
    metadata,
    Column("id", BIG_ID, primary_key=True, autoincrement=True),
    Column("event", KEYWORD_TYPE, nullable=False),
    Column("at", Double, nullable=False),
    Column("load_balancer_id", ID, nullable=False),
    Column("project_id", NAME, nullable=False),
    Column("name", NAME, nullable=False),
    Column("description", NAME, nullable=False),
    Column("admin_state_up", Boolean, nullable=False),
    Column("provider", String(64), nullable=False),
    Column("provisioning_status", KEYWORD_TYPE, nullable=False),
    Column("operating_status", KEYWORD_TYPE, nullable=False),
    Column("vip_address", String(64), nullable=False),
    Column("vip_subnet_id", ID, nullable=False),
    Column("vip_network_id", ID, nullable=False),  # empty: no VIP
    Column("vip_port_id", ID, nullable=False),
    Column("vip_qos_policy_id", ID),
    Column("availability_zone", NAME),
    Column("flavor_id", ID),
    Column("flavor", Text),  # JSON object; NULL without a flavor
    # separated by commas
    Column("listener_ids", LONGER_TEXT, nullable=False),
    Column("pool_ids", LONGER_TEXT, nullable=False),
)

notification_lease = Table(  # which controller sends notifications
    "notification_lease",
    metadata,
    Column("name", KEYWORD_TYPE, primary_key=True),
    Column("holder", NAME, nullable=False),
    Column("expires_at", Double, nullable=False),
)

vip_address = Table(  # all addresses of load balancers, so that they are unique: see vips/addresses.py
    "vip_address",
    metadata,
    Column("load_balancer_id", ID, ForeignKey("load_balancer.id", ondelete="CASCADE"), primary_key=True),
    Column("address", String(64), primary_key=True),
    Column("network_id", ID, nullable=False),
    Column("subnet_id", ID, nullable=False, index=True),
    UniqueConstraint("network_id", "address"),
    Index("ix_vip_address_address", "address"),
)

address_turn = Table(  # by which writes of one address wait for each other: see tenants/chaining.py
    "address_turn",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("turn", ID, nullable=False),  # another value with each write
)

vip_port_change = Table(  # pending changes of VIPs' ports at the network service: see vips/port_changes.py
    "vip_port_change",
    metadata,
    Column("load_balancer_id", ID, ForeignKey("load_balancer.id", ondelete="CASCADE"), primary_key=True),
    Column("revision", BigInteger, nullable=False),  # of the load balancer, at the last change of the port
    Column("security_groups", Boolean, nullable=False),  # security groups are part of the change
    Column("due_at", Double, nullable=False, index=True),
    Column("attempts", Integer, nullable=False),
    # the port is to be bound to the host of the devices
    Column("binding", Boolean, nullable=False, default=False, server_default=false()),
    Column("lost_port_id", ID),  # it is gone at the network service, and has to be made again
    Column("reason", NAME, nullable=False, default="", server_default=""),  # why it is not there yet
)

port_search = Table(  # how far the search for lost ports of VIPs has come: see vips/lost_ports.py
    "port_search",
    metadata,
    Column("name", String(16), primary_key=True),
    Column("reached", ID, nullable=False),  # the last load balancer; empty: the search is complete
    Column("begun_at", Double, nullable=False),
)


def _child_columns(*, indexed: bool = True) -> list[Column[object]]:
    """Return the columns of objects below a load balancer that have a name and an administrative state. ``indexed``:
    whether the load balancer's id has an index; False if an index of the table begins with it.
    """
    return [*_tenant_columns(), _load_balancer_id(indexed=indexed)]


def _load_balancer_id(*, indexed: bool = True) -> Column[object]:
    return Column(
        "load_balancer_id", ID, ForeignKey("load_balancer.id", ondelete="CASCADE"), nullable=False, index=indexed
    )


listener = Table(
    "listener",
    metadata,
    *columns_for(
        Listener,
        *_child_columns(indexed=False),
        Column("description", NAME, nullable=False),
        Column("protocol", String(16), nullable=False),
        Column("protocol_port", Integer, nullable=False),
        Column("connection_limit", Integer, nullable=False),
        Column("default_pool_id", ID, index=True),
        Column("insert_headers", Text, nullable=False),
        Column("timeout_client_data", Integer, nullable=False),
        Column("timeout_member_connect", Integer, nullable=False),
        Column("timeout_member_data", Integer, nullable=False),
        Column("timeout_tcp_inspect", Integer, nullable=False),
        Column("tls_ciphers", Text),
    ),
    # live_key separates ports of UDP, SCTP and TCP: see rows.live_key_of
    UniqueConstraint("load_balancer_id", "protocol_port", "live_key"),
    Index("ix_listener_project_created", "project_id", "created_at", "id"),
    Index("ix_listener_load_balancer_created", "load_balancer_id", "created_at", "id"),  # ids of children, in order
    Index("ix_listener_updated_at", "updated_at"),
)

pool = Table(
    "pool",
    metadata,
    *columns_for(
        Pool,
        *_child_columns(indexed=False),
        Column("description", NAME, nullable=False),
        Column("protocol", String(16), nullable=False),
        Column("lb_algorithm", String(32), nullable=False),
        Column("tls_ciphers", Text),
    ),
    Index("ix_pool_project_created", "project_id", "created_at", "id"),
    Index("ix_pool_load_balancer_created", "load_balancer_id", "created_at", "id"),
    Index("ix_pool_updated_at", "updated_at"),
)

member = Table(
    "member",
    metadata,
    *columns_for(
        Member,
        *_child_columns(),
        Column("pool_id", ID, ForeignKey("pool.id", ondelete="CASCADE"), nullable=False),
        Column("address", String(64), nullable=False),
        Column("protocol_port", Integer, nullable=False),
        Column("weight", Integer, nullable=False),
        Column("backup", Boolean, nullable=False),
        Column("monitor_address", String(64)),
    ),
    UniqueConstraint("pool_id", "address", "protocol_port", "live_key"),
    Index("ix_member_project_created", "project_id", "created_at", "id"),
    Index("ix_member_pool_created", "pool_id", "created_at", "id"),
    Index("ix_member_updated_at", "updated_at"),
    Index("ix_member_address", "address", "load_balancer_id"),  # operators look for it in all projects
)

health_monitor = Table(
    "health_monitor",
    metadata,
    *columns_for(
        HealthMonitor,
        *_child_columns(),
        Column("pool_id", ID, ForeignKey("pool.id", ondelete="CASCADE"), nullable=False),
        Column("type", String(16), nullable=False),
        Column("delay", Integer, nullable=False),
        Column("timeout", Integer, nullable=False),
        Column("max_retries", Integer, nullable=False),
        Column("max_retries_down", Integer, nullable=False),
        Column("http_method", String(16)),
        Column("url_path", Text),
        Column("shared_monitor_id", ID, index=True),
    ),
    UniqueConstraint("pool_id", "live_key"),
    Index("ix_health_monitor_project_created", "project_id", "created_at", "id"),
)

shared_monitor = Table(  # a shared health monitor of LBaaS v1, associated with any number of pools
    "shared_monitor",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", NAME, nullable=False),
    Column("admin_state_up", Boolean, nullable=False),
    Column("type", String(16), nullable=False),
    Column("delay", Integer, nullable=False),
    Column("timeout", Integer, nullable=False),
    Column("max_retries", Integer, nullable=False),
    Column("http_method", String(16)),
    Column("url_path", Text),
    Column("expected_codes", String(255)),
    # raised by every change and association, which serializes them
    Column("revision", BigInteger, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double),
    Index("ix_shared_monitor_project_created", "project_id", "created_at", "id"),
)

l7policy = Table(
    "l7policy",
    metadata,
    *columns_for(
        L7Policy,
        *_child_columns(),
        Column("description", NAME, nullable=False),
        Column("listener_id", ID, ForeignKey("listener.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("action", String(32), nullable=False),
        # of live rows: from 1 on without gaps; no unique constraint, as one statement moves many rows
        Column("position", Integer, nullable=False),
        Column("redirect_pool_id", ID, index=True),
    ),
    Index("ix_l7policy_project_created", "project_id", "created_at", "id"),
)

l7rule = Table(
    "l7rule",
    metadata,
    *columns_for(
        L7Rule,
        *_nameless_columns(),
        _load_balancer_id(),
        Column("l7policy_id", ID, ForeignKey("l7policy.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("type", String(32), nullable=False),
        Column("compare_type", String(16), nullable=False),
        Column("value", NAME, nullable=False),
        Column("invert", Boolean, nullable=False),
    ),
    Index("ix_l7rule_project_created", "project_id", "created_at", "id"),
)


def _stateless_columns() -> list[Column[object]]:
    """Return the columns of objects below a load balancer that have a name and no administrative state."""
    return [column for column in _child_columns() if column.name != "admin_state_up"]


rate_limit_policy = Table(
    "rate_limit_policy",
    metadata,
    *columns_for(
        RateLimitPolicy,
        *_stateless_columns(),
        Column("listener_id", ID, ForeignKey("listener.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("action", KEYWORD_TYPE, nullable=False),
    ),
    Index("ix_rate_limit_policy_project_created", "project_id", "created_at", "id"),
)

rate_limit_rule = Table(
    "rate_limit_rule",
    metadata,
    *columns_for(
        RateLimitRule,
        *_stateless_columns(),
        Column(
            "rate_limit_policy_id",
            ID,
            ForeignKey("rate_limit_policy.id", ondelete="CASCADE"),
            nullable=False,
            index=True,
        ),
        Column("metric", KEYWORD_TYPE, nullable=False),
        Column("threshold", Integer, nullable=False),
    ),
    Index("ix_rate_limit_rule_project_created", "project_id", "created_at", "id"),
)

listener_statistics = Table(
    "listener_statistics",
    metadata,
    Column("listener_id", ID, ForeignKey("listener.id", ondelete="CASCADE"), primary_key=True),
    Column("load_balancer_id", ID, nullable=False, index=True),
    Column("bytes_in", BigInteger, nullable=False),
    Column("bytes_out", BigInteger, nullable=False),
    Column("active_connections", BigInteger, nullable=False),
    Column("total_connections", BigInteger, nullable=False),
    Column("request_errors", BigInteger, nullable=False),
)

certificate = Table(  # what a project's reference names in the key manager, as read last; no private key
    "certificate",
    metadata,
    Column("id", ID, primary_key=True),  # follows from what it is of: see store/writing/certificates
    Column("project_id", NAME, nullable=False),
    Column("reference", NAME, nullable=False),
    Column("kind", KEYWORD_TYPE, nullable=False),
    Column("sha256", String(64), nullable=False),
    # the content that all load balancers which use it have a revision for; not sha256: they are to get one
    Column("announced_sha256", String(64), nullable=False),
    Column("facts", Text),  # JSON, of a certificate or the first one of authorities
    Column("not_after", Double, index=True),
    Column("problem", Text, nullable=False),  # why it could not be read when it was tried last; empty: it could
    Column("checked_at", Double, nullable=False),  # read last
    Column("next_check_at", Double, nullable=False, index=True),  # whoever reads it again moves this first
    Column("expiry_told_days", Integer),  # the last warning of its expiry that was given: so many days before
    UniqueConstraint("project_id", "reference", "kind"),
)

certificate_use = Table(  # by listeners and pools that are not marked deleted
    "certificate_use",
    metadata,
    Column("owner_id", ID, primary_key=True),  # of the listener or pool
    Column("certificate_id", ID, ForeignKey("certificate.id"), primary_key=True, index=True),
    _load_balancer_id(),
)

acme_certificate = Table(  # certificates requested by names: see store/acme; no private key
    "acme_certificate",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", NAME, nullable=False),
    Column("name", String(100), nullable=False),  # in the project's folder of the key manager
    Column("names", Text, nullable=False),  # JSON: DNS names
    Column("authority", String(32), nullable=False, server_default="default"),
    Column("reference", NAME, nullable=False, server_default=""),  # of listeners, which made the request
    Column("referenced_at", Double, nullable=False, server_default="0"),  # when a listener was about to refer to it
    Column("step", KEYWORD_TYPE, nullable=False),
    Column("state", KEYWORD_TYPE, nullable=False),
    Column("problem", Text, nullable=False),
    Column("order_url", Text, nullable=False),
    Column("order_until", Double, nullable=False),
    Column("waits", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("not_after", Double),
    Column("certificate_id", NAME, nullable=False, server_default=""),  # for renewal information
    Column("renew_at", Double, nullable=False, server_default="0"),
    Column("revocation", String(32), nullable=False, server_default=""),  # the reason, if it is to be revoked
    Column("records", Text, nullable=False, server_default="[]"),  # JSON: TXT records that may be in DNS zones
    Column("turn", BigInteger, nullable=False),  # results of an earlier turn are not stored
    Column("created_at", Double, nullable=False),
    Column("next_attempt_at", Double, nullable=False, index=True),  # whoever takes the next step moves this first
    UniqueConstraint("project_id", "name"),
)


def _claims_table(name: str, *, key: str, holder: str) -> Table:
    """Return a table of ports that may exist at a network service; a row is stored before its port is created."""
    return Table(
        name,
        metadata,
        Column(key, ID, primary_key=True),
        # set with the holder; the foreign key sets it to NULL when that row is removed
        Column("held_by", ID, ForeignKey(holder, ondelete="SET NULL")),
        Column("device_owner", NAME, nullable=False),
        Column("device_id", NAME, nullable=False),
        Column("port_id", ID),  # known once something holds it
        Column("made_at", Double, nullable=False),
        Column("due_at", Double, nullable=False),  # if nothing holds it
        Column("attempts", Integer, nullable=False),
        Index(f"ix_{name}_held_by_due_at", "held_by", "due_at"),
    )


vip_claim = _claims_table("vip_claim", key="load_balancer_id", holder="load_balancer.id")
device_port = _claims_table("device_port", key="claim_id", holder="device_address.claim_id")

device_port_binding = Table(  # ports to be bound to another host: see networks/bindings.py
    "device_port_binding",
    metadata,
    Column("claim_id", ID, ForeignKey("device_port.claim_id", ondelete="CASCADE"), primary_key=True),
    Column("due_at", Double, nullable=False, index=True),
    Column("attempts", Integer, nullable=False),
)

plan_inquiry = Table(  # operators' questions to agents, and the answers, for some minutes
    "plan_inquiry",
    metadata,
    Column("id", ID, primary_key=True),
    Column("shard_id", ID, nullable=False),
    Column("load_balancer_id", ID, nullable=False),
    Column("asked_at", Double, nullable=False, index=True),
    Column("answer", Text),  # JSON; NULL: none yet
)

orphaned_partition = Table(  # partitions on devices, of tenants without a shard there: see reports/orphans.py
    "orphaned_partition",
    metadata,
    Column("environment", String(64), primary_key=True),
    Column("group_number", Integer, primary_key=True),
    Column("project_id", NAME, primary_key=True),
    Column("found_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Index("ix_orphaned_partition_found_at", "found_at"),
)

load_balancer_move = Table(  # the last move of a load balancer to another shard: see core/control/moves.py
    "load_balancer_move",
    metadata,
    Column("load_balancer_id", ID, ForeignKey("load_balancer.id", ondelete="CASCADE"), primary_key=True),
    Column("source_shard_id", ID, nullable=False, index=True),
    Column("target_shard_id", ID, nullable=False, index=True),
    Column("standby_shard_id", ID, nullable=False, index=True),
    Column("step", KEYWORD_TYPE, nullable=False, index=True),
    Column("source_listens", Boolean, nullable=False),
    Column("target_listens", Boolean, nullable=False),
    Column("by_operator", Boolean, nullable=False),
    Column("standby_revision", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("refused", Boolean, nullable=False),
    Column("back", Boolean, nullable=False),
    Column("back_asked", Boolean, nullable=False),
    Column("finish_asked", Boolean, nullable=False),
    Column("deadline_at", Double),
    Column("stopped_at", Double),
    Column("gap_seconds", Double),
    Column("begun_at", Double, nullable=False),
    Column("step_at", Double, nullable=False),
)

removed_load_balancer = Table(  # ids kept for some weeks: a device that is away may still have them
    "removed_load_balancer",
    metadata,
    Column("id", ID, primary_key=True),
    Column("removed_at", Double, nullable=False, index=True),
)

# on the devices of a shard, and not in the database: see reports/orphaned_load_balancers.py
orphaned_load_balancer = Table(
    "orphaned_load_balancer",
    metadata,
    Column("shard_id", ID, primary_key=True),
    Column("load_balancer_id", ID, primary_key=True, index=True),  # empty: the whole partition was an orphan
    Column("found_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("remove_at", Double),  # NULL: never by itself
    Column("removal", Boolean, nullable=False),  # its removal was decided
)

former_agent = Table(  # deleted agents: see ownership/former_agents.py
    "former_agent",
    metadata,
    Column("id", ID, primary_key=True),
    Column("keepalives", BigInteger, nullable=False),
    Column("deleted_at", Double, nullable=False),
)

history = Table(  # one row: see ownership/histories.py
    "history",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("id", ID, nullable=False),  # random; a new one after commits were lost
    Column("begun_at", Double, nullable=False),
)

other_history = (
    Table(  # histories that the database had, or that are another database's: ownership/foreign_histories.py
        "other_history",
        metadata,
        Column("id", ID, primary_key=True),
        Column("kind", String(16), nullable=False),  # former, unknown, accepted
        Column("noted_at", Double, nullable=False),
        Column("agent_id", ID),  # who saw it; NULL: this database had it
    )
)

# the last revisions of each load balancer: see writing/revisions.py
load_balancer_revision = Table(
    "load_balancer_revision",
    metadata,
    Column("load_balancer_id", ID, ForeignKey("load_balancer.id", ondelete="CASCADE"), primary_key=True),
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    Column("accepted_at", Double, nullable=False),
    Column("user_name", String(255), nullable=False),
    Column("project_id", NAME, nullable=False),
    Column("request_id", String(64), nullable=False),
    Column("applied_at", Double),  # NULL: not on the device yet
    Column("agent_id", ID, nullable=False),
    Column("host", String(255), nullable=False),
    Column("epoch", BigInteger),
    Column("problem", Text, nullable=False),
)

# processes that serve the API, for operators to see; nothing depends on it
controller = Table(
    "controller",
    metadata,
    Column("id", ID, primary_key=True),
    Column("host", String(255), nullable=False),
    Column("url", String(255), nullable=False),
    Column("version", String(64), nullable=False),
    Column("started_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("message_broker", Text, nullable=False),  # empty: connected
)

# the product's own certificates: scheduling/own_certificates.py
own_certificate = Table(
    "own_certificate",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("ends_at", Double, nullable=False),
    Column("told_days", Integer),  # the last stage there was an event of; NULL: none
    Column("seen_at", Double, nullable=False),
)

event = Table(
    "event",
    metadata,
    Column("id", BIG_ID, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("environment", String(64), nullable=False, default=""),
    Column("agent_id", ID, nullable=False, default=""),
    Column("shard_id", ID, nullable=False, default=""),
    Column("load_balancer_id", ID, nullable=False, default=""),
    # the operator whose act it is
    Column("user_name", String(255), nullable=False, default="", server_default=""),
    Column("user_id", String(255), nullable=False, default="", server_default=""),
    Column("request_id", String(64), nullable=False, default="", server_default=""),
    Column("client_address", String(64), nullable=False, default="", server_default=""),
    *(
        Index(f"ix_event_{name}", name, "id")
        for name in ("agent_id", "shard_id", "load_balancer_id", "user_name", "user_id")
    ),
)

shared_count = Table(  # what one controller counted for all: see records/shared_counts.py
    "shared_count",
    metadata,
    Column("name", KEYWORD_TYPE, primary_key=True),
    Column("content", LONGER_TEXT, nullable=False),  # JSON
    Column("counted_at", Double, nullable=False),
    Column("kept_seconds", Double, nullable=False),  # time for which it is not counted again
    Column("claimed_until", Double, nullable=False),  # whoever counts again moves this first
)
