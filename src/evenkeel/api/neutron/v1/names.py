"""What LBaaS v1 calls errors, as ``neutron-lbaas`` 7 (Liberty) had them, and what it takes to be what is not found."""

from evenkeel.api.neutron.errors import Named, Names
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
    "immutable": Named("StateInvalid"),
    "vip_exists": Named("VipExists"),
    "pool_has_vip": Named("PoolInUse"),
    "in_use": Named("PoolInUse"),
    "monitor_in_use": Named("HealthMonitorInUse"),
    "association_exists": Named("PoolMonitorAssociationExists"),
    "monitor_exists": Named("OneHealthMonitorPerPool"),
    "member_exists": Named("MemberExists"),
    "protocol_mismatch": Named("ProtocolMismatch"),
    "session_persistence": Named("SessionPersistenceConfigurationInvalid"),
    "address_taken": Named("IpAddressInUse"),
    "gateway_address": Named("IpAddressInUse", 409),
    "address_outside": Named("InvalidIpForSubnet"),
    "address_not_usable": Named("InvalidIpForSubnet"),
    "no_free_address": Named("IpAddressGenerationFailure"),
    "subnet_not_found": Named("SubnetNotFound", 404),
    "provider_unknown": Named("ServiceProviderNotFound"),
    "unsupported": Named("UnsupportedFeature"),
}

V1 = NeutronStyle(PREFIX, Names(CODES, MISSING))
