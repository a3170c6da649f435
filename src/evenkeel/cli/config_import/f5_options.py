"""Table of all options of F5's agent (LBaaS v2 from Liberty to 9.10, and v1 where it had more), with the fate of each.
Pure.

Names and defaults are taken from the agent's ini file and code. Each option is one of: kept (with the same meaning
here), replaced (by something here that does its job), dropped (with the reason).
"""

import re
from typing import Literal, NamedTuple

OptionOutcome = Literal["kept", "replaced", "dropped"]


class F5Option(NamedTuple):
    """Outcome of one option of F5's agent. ``remark``: name of Even Keel's option, the replacement, or the
    reason for dropping the option.
    """

    fate: OptionOutcome
    remark: str
    harmless: tuple[str, ...] | None = None
    """Values of the option, in lower case, that can be dropped without losing anything; None: any value can."""


_NETWORKS_REMARK = "devices are attached to Neutron's networks without it"
_ATTACHMENT_REMARK = "the same name; written with f5_global_routed_mode = False"
_NOT_READ_REMARK = "F5's agent does not read it either"
_BIGIQ_REMARK = "left over from BIG-IQ; F5's agent does not read it either"
_LOGIN_REMARK = "[barbican] of the controllers"
_FLAVOR_REMARK = "load balancers have no bandwidth or rate limits of flavors"
_STATUSES_REMARK = "status_interval: each agent observes its own devices"
_F5OS_REMARK = "F5OS is not configured: its VLANs are assigned to the tenant by their operator"
_SNAT_REMARK = "SNAT addresses are of the members' subnets: f5_snat_addresses_per_subnet"
_CREDENTIAL_FILES_REMARK = "passwords are in files with mode 0600"
HIERARCHICAL_BINDING_REMARK = (
    "hierarchical port binding is not supported: load balancers on a network with several segments are refused"
)
CIPHER_MODE_OPTION = "password_cipher_mode"
ATTACHMENT_OPTIONS = (
    "f5_external_physical_mappings",
    "advertised_tunnel_types",
    "f5_vtep_folder",
    "f5_vtep_selfip_name",
    "use_namespaces",
    "max_namespaces_per_tenant",
    "f5_route_domain_strictness",
    "f5_snat_mode",
    "f5_snat_addresses_per_subnet",
    "f5_common_networks",
    "f5_common_external_networks",
    "external_gateway_mode",
    "common_network_ids",
)
"""Options for attaching devices to networks, which have the same names here."""


def _dropped_option(remark: str, *harmless: str) -> F5Option:
    return F5Option("dropped", remark, harmless or None)


def _dropped_options(remark: str, *names: str) -> dict[str, F5Option]:
    return dict.fromkeys(names, _dropped_option(remark))


F5_OPTIONS: dict[str, F5Option] = {
    "debug": F5Option("kept", "debug"),
    "periodic_interval": F5Option("replaced", "keepalive_interval, report_interval and status_interval"),
    "service_resync_interval": F5Option("kept", "service_resync_interval"),
    "start_agent_admin_state_up": _dropped_option(
        "an agent is in service unless drained: evenkeel agent drain", "true", "1", "yes", "on"
    ),
    "environment_prefix": F5Option("kept", "environment_prefix; the environment, and the provider of tenants"),
    "environment_specific_plugin": F5Option("replaced", "every environment has queues of its own"),
    "environment_group_number": F5Option("kept", "environment_group_number"),
    "capacity_policy": F5Option("kept", "capacity_policy"),
    "agent_id": F5Option("replaced", "agent_id, which is derived from environment, group and host"),
    "static_agent_configuration_data": _dropped_option(
        "nothing reads it; evenkeel agent show has the agent's settings"
    ),
    "f5_device_type": _dropped_option("devices are set up by their operator, as with external", "external"),
    "f5_ha_type": F5Option("kept", "f5_ha_type"),
    **dict.fromkeys(
        ("f5_sync_mode", "sync_mode"), F5Option("replaced", "sync_mode: replicate, the default, or sync for autosync")
    ),
    **dict.fromkeys(ATTACHMENT_OPTIONS, F5Option("kept", _ATTACHMENT_REMARK)),
    "vlan_binding_driver": _dropped_option(
        _NETWORKS_REMARK, "f5.oslbaasv1agent.drivers.bigip.vlan_binding.nullbinding"
    ),
    "interface_port_static_mappings": _dropped_option(_NETWORKS_REMARK, "{}"),
    "f5_populate_static_arp": F5Option("replaced", "members on tunnels always have static ARP entries"),
    "l2_population": F5Option("replaced", "facts_interval of the controllers, and [neutron_agent] of the agents"),
    "f5_network_segment_physical_network": F5Option("dropped", HIERARCHICAL_BINDING_REMARK, ()),
    "f5_network_segment_polling_interval": _dropped_option(_NOT_READ_REMARK),
    "f5_network_segment_gross_timeout": _dropped_option(_NOT_READ_REMARK),
    "f5_pending_services_timeout": F5Option("replaced", "pending_deadline of the controllers"),
    "f5_errored_services_timeout": _dropped_option(_NOT_READ_REMARK),
    "f5_global_routed_mode": F5Option("kept", "f5_global_routed_mode"),
    "l3_binding_driver": F5Option("dropped", _NETWORKS_REMARK, ()),
    "l3_binding_static_mappings": _dropped_option(_NETWORKS_REMARK, "{}"),
    "f5_bigip_lbaas_device_driver": F5Option("replaced", "device_driver = bigip"),
    "icontrol_hostname": F5Option("kept", "icontrol_hostname"),
    "icontrol_vcmp_hostname": F5Option("kept", "icontrol_vcmp_hostname"),
    "icontrol_username": F5Option("kept", "icontrol_username"),
    "icontrol_password": F5Option("kept", "icontrol_password_file, a file with mode 0600"),
    "icontrol_connection_timeout": F5Option("replaced", "connect_timeout; F5's agent does not read it"),
    "icontrol_connection_retry_interval": F5Option("replaced", "retry_time; F5's agent does not read it"),
    "icontrol_config_mode": _dropped_option("objects are the only mode", "objects"),
    "cert_manager": F5Option("replaced", "[certificates] key_manager of the controllers"),
    "auth_version": F5Option("replaced", "Keystone v3 is spoken"),
    "os_auth_url": F5Option("kept", f"auth_url in {_LOGIN_REMARK}"),
    "os_username": F5Option("kept", f"username in {_LOGIN_REMARK}"),
    "os_password": F5Option("kept", f"password in {_LOGIN_REMARK}"),
    "os_user_domain_name": F5Option("kept", f"user_domain_name in {_LOGIN_REMARK}"),
    "os_tenant_name": F5Option("replaced", "each read is logged in for the project of the load balancer"),
    "os_project_name": F5Option("replaced", "each read is logged in for the project of the load balancer"),
    "os_project_domain_name": F5Option("replaced", "each read is logged in for the project of the load balancer"),
    "os_project_id": _dropped_option(_NOT_READ_REMARK),
    "f5_parent_ssl_profile": F5Option("kept", "f5_parent_ssl_profile, as a full path"),
    "https_transparent": _dropped_option("listeners of HTTPS pass TLS through", "false", "0", "no", "off"),
    "trace_service_requests": F5Option("replaced", "debug, and evenkeel plan"),
    "report_esd_names_in_agent": F5Option("replaced", "evenkeel esd list; esd_dir names the directory"),
    "unlegacy_setting_placeholder": F5Option("dropped", "no vendor's SDN is spoken to", ()),
    "f5_http_rps_throttle": _dropped_option("of LBaaS v1's agent only"),
    # 9.8 to 9.10
    "f5_agent_mode": F5Option("replaced", "agents have one mode: they read what they apply from the controllers"),
    "resync_interval": F5Option("replaced", "service_resync_interval, of which 9.10 has only the name"),
    "scrub_interval": F5Option("replaced", "controllers place the shards of silent agents within seconds"),
    "config_save_interval": F5Option("replaced", "save_interval"),
    "provider_name": F5Option("replaced", "environment_prefix is the name of the provider"),
    "availability_zone": _dropped_option("load balancers are placed by environment and device group"),
    "vtep_ip": F5Option("dropped", "segments of a network's switches are not read: networks have one segment each", ()),
    "member_update_interval": F5Option("replaced", _STATUSES_REMARK),
    **_dropped_options(
        _STATUSES_REMARK,
        "member_update_mode",
        "member_update_number",
        "member_update_agent_number",
        "member_update_agent_order",
        "device_report_interval",
    ),
    "device_lock_expire_seconds": F5Option("replaced", "an agent owns a shard: one agent at a time writes to it"),
    CIPHER_MODE_OPTION: F5Option("replaced", _CREDENTIAL_FILES_REMARK),
    "esd_auto_refresh": F5Option("replaced", "esd_dir: files are read again within seconds"),
    "f5_extended_profile": F5Option("dropped", "esd_dir: enhanced services name profiles that listeners get", ()),
    "f5_cipher_policy": F5Option("dropped", "listeners have tls_ciphers and tls_versions", ()),
    **_dropped_options(_FLAVOR_REMARK, "f5_bandwidth_default", "f5_bandwidth_max", "connection_rate_limit_ratio"),
    "bwc_profile": F5Option("dropped", _FLAVOR_REMARK, ()),
    **dict.fromkeys(("snat_subnetpool_v4", "snat_subnetpool_v6"), F5Option("dropped", _SNAT_REMARK, ())),
    "f5_request_logging_profile": F5Option(
        "dropped", "esd_dir: an enhanced service attaches an iRule that logs", ("/common/request-log",)
    ),
    **dict.fromkeys(("confd_hostname", "ve_tenant", "lag_interface"), F5Option("dropped", _F5OS_REMARK, ())),
    **_dropped_options(_F5OS_REMARK, "confd_port", "confd_username", "confd_password"),
    "separate_host": _dropped_option("each agent has a host of its own", "false", "0", "no", "off"),
    "persistence_timeout": F5Option(
        "dropped", "session persistence has persistence_timeout, which tenants set; else it is 180 s", ("180",)
    ),
    "tcp_options": _dropped_option("members get clients' addresses by X-Forwarded-For or the PROXY protocol"),
    "icontrol_token": F5Option("replaced", "logins at devices get a token where the device has them"),
    "use_mgmt_ipv6": F5Option("replaced", "icontrol_hostname names each device by the address to use"),
    **dict.fromkeys(
        (
            "bigiq_hostname",
            "bigiq_admin_username",
            "bigiq_admin_password",
            "bigip_management_username",
            "bigip_management_password",
            "openstack_keystone_uri",
            "openstack_admin_username",
            "openstack_admin_password",
        ),
        _dropped_option(_BIGIQ_REMARK),
    ),
}
F5_DEFAULTS = {"f5_ha_type": "pair", "environment_prefix": "Project", "environment_group_number": "1"}
"""Defaults, from the agent's code, of options whose default differs from ours or on which names depend."""
V1_DRIVER = "oslbaasv1agent"
"""Part of ``f5_bigip_lbaas_device_driver`` of LBaaS v1's agent."""
V1_DEFAULTS = {**F5_DEFAULTS, "environment_prefix": "uuid", "f5_global_routed_mode": "False"}
"""Defaults of LBaaS v1's agent: without a prefix its objects' names begin with ``uuid_``."""
_NEUTRON_OPTION_PATTERN = re.compile(
    r"(verbose|use_syslog|use_stderr|use_journal|use_json|syslog_\w+|log_\w+|logging_\w+|default_log_levels"
    r"|publish_errors|fatal_deprecations|instance_(uuid_)?format|watch_log_file|rabbit_\w+|kombu_\w+|qpid_\w+|rpc_\w+"
    r"|amqp_\w+|control_exchange|transport_url|notification_\w+|executor_thread_pool_size|host|state_path|lock_path"
    r"|core_plugin|service_plugins|auth_strategy|bind_\w+|base_mac|api_\w+|interface_driver|ovs_\w+"
    r"|network_device_mtu|external_network_bridge|root_helper|report_interval|config_dir)"
)


def is_neutron_option(option: str) -> bool:
    """Whether Neutron or one of its libraries declares this option of ``[DEFAULT]``, which F5's agent reads
    too.
    """
    return _NEUTRON_OPTION_PATTERN.fullmatch(option) is not None
