"""Table of all options of F5's agent (LBaaS v2, and v1 where it had more), with the fate of each. Pure.

Names and defaults are taken from the agent's ini file and code. Each option is one of: kept (with the same meaning
here), replaced (by something here that does its job), dropped (with the reason).
"""

from typing import Literal, NamedTuple

Fate = Literal["kept", "replaced", "dropped"]


class F5Option(NamedTuple):
    """Fate of one option of F5's agent. ``remark`` names the option here, the replacement, or the reason for dropping
    it.
    """

    fate: Fate
    remark: str
    harmless: tuple[str, ...] | None = None
    """Values, in lower case, at which dropping the option loses nothing; None: at any value."""


_NO_NETWORKS = "devices are attached to Neutron's networks without it"
_ATTACHED = "the same name; written with f5_global_routed_mode = False"
_NOT_READ = "F5's agent does not read it either"
_BIGIQ = "left over from BIG-IQ; F5's agent does not read it either"
_LOGIN = "[barbican] of the controllers"
ATTACHMENT = (
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


OPTIONS: dict[str, F5Option] = {
    "debug": F5Option("kept", "debug"),
    "periodic_interval": F5Option("replaced", "keepalive_interval, report_interval and status_interval"),
    "service_resync_interval": F5Option("kept", "service_resync_interval"),
    "start_agent_admin_state_up": _dropped_option(
        "an agent is in service unless drained: evenkeel agent drain", "true"
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
    "f5_sync_mode": F5Option("replaced", "sync_mode: replicate, the default, or sync for config-sync"),
    **dict.fromkeys(ATTACHMENT, F5Option("kept", _ATTACHED)),
    "vlan_binding_driver": _dropped_option(_NO_NETWORKS, "none"),
    "interface_port_static_mappings": _dropped_option(_NO_NETWORKS, "none"),
    "f5_populate_static_arp": F5Option("replaced", "members on tunnels always have static ARP entries"),
    "l2_population": F5Option("replaced", "facts_interval of the controllers, and [neutron_agent] of the agents"),
    "f5_network_segment_physical_network": _dropped_option(_NO_NETWORKS, "none", ""),
    "f5_network_segment_polling_interval": _dropped_option(_NOT_READ),
    "f5_network_segment_gross_timeout": _dropped_option(_NOT_READ),
    "f5_pending_services_timeout": F5Option("replaced", "pending_deadline of the controllers"),
    "f5_errored_services_timeout": _dropped_option(_NOT_READ),
    "f5_global_routed_mode": F5Option("kept", "f5_global_routed_mode"),
    "l3_binding_driver": _dropped_option(_NO_NETWORKS, "none"),
    "l3_binding_static_mappings": _dropped_option(_NO_NETWORKS, "none"),
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
    "os_auth_url": F5Option("kept", f"auth_url in {_LOGIN}"),
    "os_username": F5Option("kept", f"username in {_LOGIN}"),
    "os_password": F5Option("kept", f"password in {_LOGIN}"),
    "os_user_domain_name": F5Option("kept", f"user_domain_name in {_LOGIN}"),
    "os_tenant_name": F5Option("replaced", "each read is logged in for the project of the load balancer"),
    "os_project_name": F5Option("replaced", "each read is logged in for the project of the load balancer"),
    "os_project_domain_name": F5Option("replaced", "each read is logged in for the project of the load balancer"),
    "os_project_id": _dropped_option(_NOT_READ),
    "f5_parent_ssl_profile": F5Option("kept", "f5_parent_ssl_profile, as a full path"),
    "https_transparent": _dropped_option("listeners of HTTPS pass TLS through", "false"),
    "trace_service_requests": F5Option("replaced", "debug, and evenkeel plan"),
    "report_esd_names_in_agent": F5Option("replaced", "evenkeel esd list; esd_dir names the directory"),
    "unlegacy_setting_placeholder": _dropped_option("no vendor's SDN is spoken to", "none", ""),
    "f5_http_rps_throttle": _dropped_option("of LBaaS v1's agent only"),
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
        _dropped_option(_BIGIQ),
    ),
}
DEFAULTS = {"f5_ha_type": "pair", "environment_prefix": "Project", "environment_group_number": "1"}
"""Defaults, from the agent's code, of options whose default differs from ours or on which names depend."""
