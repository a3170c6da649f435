"""LBaaS v1's names of errors, from ``neutron-lbaas`` 7 (Liberty), and of objects that are not found."""

from evenkeel.api.neutron.errors import ErrorNames, NamedError
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
    "immutable": NamedError("StateInvalid"),
    "vip_exists": NamedError("VipExists"),
    "pool_has_vip": NamedError("PoolInUse"),
    "in_use": NamedError("PoolInUse"),
    "monitor_in_use": NamedError("HealthMonitorInUse"),
    "association_exists": NamedError("PoolMonitorAssociationExists"),
    "monitor_exists": NamedError("OneHealthMonitorPerPool"),
    "member_exists": NamedError("MemberExists"),
    "protocol_mismatch": NamedError("ProtocolMismatch"),
    "session_persistence": NamedError("SessionPersistenceConfigurationInvalid"),
    "address_taken": NamedError("IpAddressInUse"),
    "gateway_address": NamedError("IpAddressInUse", 409),
    "address_outside": NamedError("InvalidIpForSubnet"),
    "address_not_usable": NamedError("InvalidIpForSubnet"),
    "no_free_address": NamedError("IpAddressGenerationFailure"),
    "subnet_not_found": NamedError("SubnetNotFound", 404),
    "provider_unknown": NamedError("ServiceProviderNotFound"),
    "unsupported": NamedError("UnsupportedFeature"),
}

V1 = NeutronStyle(PREFIX, ErrorNames(CODES, MISSING))
