"""LBaaS v1's names of errors, from ``neutron-lbaas`` 7 (Liberty), and of objects that are not found."""

from evenkeel.api.neutron.errors import ErrorTypes, NeutronErrorType
from evenkeel.api.neutron.style import BASE, NeutronStyle

PREFIX = f"{BASE}/v2.0/lb"

MISSING = {
    "Listener": ("VipNotFound", "Vip"),
    "Pool": ("PoolNotFound", "Pool"),
    "Member": ("MemberNotFound", "Member"),
    "Health Monitor": ("HealthMonitorNotFound", "Health_monitor"),
    "Subnet": ("SubnetNotFound", "Subnet"),
    "Network": ("NetworkNotFound", "Network"),
    "Agent": ("AgentNotFound", "Agent"),
}

CODES = {
    "immutable": NeutronErrorType("StateInvalid"),
    "vip_exists": NeutronErrorType("VipExists"),
    "pool_has_vip": NeutronErrorType("PoolInUse"),
    "in_use": NeutronErrorType("PoolInUse"),
    "monitor_in_use": NeutronErrorType("HealthMonitorInUse"),
    "association_exists": NeutronErrorType("PoolMonitorAssociationExists"),
    "monitor_exists": NeutronErrorType("OneHealthMonitorPerPool"),
    "member_exists": NeutronErrorType("MemberExists"),
    "protocol_mismatch": NeutronErrorType("ProtocolMismatch"),
    "session_persistence": NeutronErrorType("SessionPersistenceConfigurationInvalid"),
    "address_taken": NeutronErrorType("IpAddressInUse"),
    "gateway_address": NeutronErrorType("IpAddressInUse", 409),
    "address_outside": NeutronErrorType("InvalidIpForSubnet"),
    "address_not_usable": NeutronErrorType("InvalidIpForSubnet"),
    "no_free_address": NeutronErrorType("IpAddressGenerationFailure"),
    "subnet_not_found": NeutronErrorType("SubnetNotFound", 404),
    "provider_unknown": NeutronErrorType("ServiceProviderNotFound"),
    "unsupported": NeutronErrorType("UnsupportedFeature"),
}

V1 = NeutronStyle(PREFIX, ErrorTypes(CODES, MISSING))
