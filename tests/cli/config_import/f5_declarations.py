"""Options that F5's agents declare: facts of their code, one line an option.

Sources: F5Networks/f5-openstack-lbaasv1 (agent of LBaaS v1), F5Networks/f5-openstack-agent (LBaaS v2), there
agent_manager.py, icontrol_driver.py and opts.py of the branches Liberty to Stein (``v2``), 9.8 and 9.9 (``9.8``), 9.10.
"""

from typing import NamedTuple


class Declaration(NamedTuple):
    """One declared option. ``kind`` and ``default`` are those of the newest branch that declares it."""

    name: str
    kind: str
    default: str
    branches: frozenset[str]


_ROWS = """
f5_bigip_lbaas_device_driver str f5_openstack_agent.lbaasv2.drivers.bigip.icontrol_driver.iControlDriver v1,v2,9.8,9.10
l2_population bool False v1,v2,9.8,9.10
f5_global_routed_mode bool True v1,v2,9.8,9.10
use_namespaces bool True v1,v2,9.8,9.10
f5_snat_mode bool True v1,v2,9.8,9.10
f5_snat_addresses_per_subnet int 1 v1,v2,9.8,9.10
agent_id str None v1,v2,9.8,9.10
static_agent_configuration_data str None v1,v2,9.8,9.10
service_resync_interval int 86400 v1,v2,9.8,9.10
environment_prefix str Project v1,v2,9.8,9.10
environment_specific_plugin bool True v1,v2,9.8,9.10
environment_group_number int 1 v1,v2,9.8,9.10
capacity_policy dict {} v1,v2,9.8,9.10
periodic_interval int 600 v1,v2,9.8,9.10
start_agent_admin_state_up bool True v2,9.8,9.10
f5_pending_services_timeout int 60 v2,9.8,9.10
f5_errored_services_timeout int 60 v2,9.8,9.10
bigiq_hostname str None v1,v2,9.8,9.10
bigiq_admin_username str admin v1,v2,9.8,9.10
bigiq_admin_password str [Provide password in config file] v1,v2,9.8,9.10
openstack_keystone_uri str http://192.0.2.248:5000/ v1,v2,9.8,9.10
openstack_admin_username str admin v1,v2,9.8,9.10
openstack_admin_password str [Provide password in config file] v1,v2,9.8,9.10
bigip_management_username str admin v1,v2,9.8,9.10
bigip_management_password str [Provide password in config file] v1,v2,9.8,9.10
f5_device_type str external v1,v2,9.8,9.10
f5_ha_type str pair v1,v2,9.8
f5_external_physical_mappings list default:1.1:True v1,v2,9.8
sync_mode str replication v1
f5_sync_mode str replication v1
f5_vtep_folder str Common v1,v2,9.8,9.10
f5_vtep_selfip_name str None v1,v2,9.8,9.10
advertised_tunnel_types list vxlan v1,v2,9.8,9.10
f5_populate_static_arp bool False v1,v2,9.8,9.10
vlan_binding_driver str None v1,v2,9.8
interface_port_static_mappings str None v1,v2,9.8,9.10
l3_binding_driver str None v1,v2,9.8,9.10
l3_binding_static_mappings str None v1,v2,9.8,9.10
f5_route_domain_strictness bool False v1,v2,9.8,9.10
f5_common_networks bool False v2,9.8,9.10
f5_common_external_networks bool True v1,v2,9.8,9.10
external_gateway_mode bool False v2,9.8,9.10
icontrol_vcmp_hostname str None v1,v2,9.8,9.10
icontrol_hostname str 10.190.5.7 v1,v2,9.8
icontrol_username str admin v1,v2,9.8
icontrol_password str admin v1,v2,9.8
icontrol_connection_timeout int 30 v1,v2,9.8,9.10
icontrol_connection_retry_interval int 10 v1,v2,9.8,9.10
common_network_ids dict {} v1,v2,9.8,9.10
icontrol_config_mode str objects v1,v2,9.8,9.10
max_namespaces_per_tenant int 1 v1,v2,9.8,9.10
cert_manager str None v2,9.8,9.10
auth_version str None v2,9.8,9.10
os_project_id str service v2,9.8,9.10
os_auth_url str None v2,9.8,9.10
os_username str None v2,9.8,9.10
os_user_domain_name str None v2,9.8,9.10
os_project_name str None v2,9.8,9.10
os_project_domain_name str None v2,9.8,9.10
os_password str None v2,9.8,9.10
os_tenant_name str None v2,9.8,9.10
f5_network_segment_physical_network str None v2,9.8,9.10
f5_network_segment_polling_interval int 10 v2,9.8,9.10
f5_network_segment_gross_timeout int 300 v2,9.8,9.10
unlegacy_setting_placeholder str None v2,9.8,9.10
f5_parent_ssl_profile str clientssl v2,9.8,9.10
trace_service_requests bool False v2,9.8,9.10
report_esd_names_in_agent bool False v2
f5_agent_mode str normal 9.8,9.10
resync_interval int -1 9.8,9.10
config_save_interval int 60 9.8,9.10
scrub_interval int -1 9.8
provider_name str None 9.8,9.10
availability_zone str None 9.10
vtep_ip str None 9.10
member_update_interval int 300 9.8,9.10
member_update_mode int 2 9.8,9.10
member_update_number int -1 9.8,9.10
member_update_agent_number int 1 9.8,9.10
member_update_agent_order int 0 9.8,9.10
device_report_interval int 240 9.10
device_lock_expire_seconds int 3 9.10
password_cipher_mode bool False 9.8,9.10
esd_auto_refresh bool False 9.8
f5_extended_profile str  9.8,9.10
f5_cipher_policy str  9.8,9.10
f5_bandwidth_default int 200 9.8,9.10
f5_bandwidth_max int 10000 9.8,9.10
snat_subnetpool_v4 str  9.8,9.10
snat_subnetpool_v6 str  9.8,9.10
f5_request_logging_profile str /Common/request-log 9.8,9.10
confd_hostname str  9.10
confd_port int 443 9.10
confd_username str admin 9.10
confd_password str  9.10
ve_tenant str  9.10
lag_interface str  9.10
separate_host bool False 9.8,9.10
persistence_timeout int 1800 9.8,9.10
bwc_profile str None 9.8,9.10
connection_rate_limit_ratio int 1 9.8,9.10
tcp_options int 254 9.8,9.10
use_mgmt_ipv6 bool False 9.10
icontrol_token bool False 9.10
"""


def _declaration(row: str) -> Declaration:
    name, kind, rest = row.split(" ", 2)
    default, _, branches = rest.rpartition(" ")
    return Declaration(name, kind, default.strip(), frozenset(branches.split(",")))


DECLARATIONS = tuple(_declaration(row) for row in _ROWS.strip().splitlines())
OUTSIDE = {"debug", "https_transparent", "f5_http_rps_throttle"}
"""Options of F5's example files that are declared by oslo.log, or by no branch."""
