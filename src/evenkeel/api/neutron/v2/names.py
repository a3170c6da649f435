"""What LBaaS v2 calls errors, as ``neutron-lbaas`` 14 answered them, and what it takes to be what is not found."""

from evenkeel.api.neutron.errors import Named, Names
from evenkeel.api.neutron.style import BASE, NeutronStyle

ENTITY = "EntityNotFound"

MISSING = {
    "Load Balancer": (ENTITY, "loadbalancer"),
    "Listener": (ENTITY, "listener"),
    "Pool": (ENTITY, "pool"),
    "Member": (ENTITY, "member"),
    "Health Monitor": (ENTITY, "healthmonitor"),
    "L7Policy": (ENTITY, "l7policy"),
    "L7Rule": (ENTITY, "rule"),
    "Subnet": ("SubnetNotFound", "Subnet"),
    "Network": ("NetworkNotFound", "Network"),
    "Port": ("PortNotFound", "Port"),
    "Flavor": ("FlavorNotFound", "Flavor"),
    "Agent": ("AgentNotFound", "Agent"),
}

CODES = {
    "immutable": Named("StateInvalid"),
    "has_children": Named("EntityInUse", 409),
    "in_use": Named("EntityInUse"),
    "listener_port_taken": Named("LoadBalancerListenerProtocolPortExists"),
    "default_pool_set": Named("ListenerDefaultPoolAlreadySet"),
    "protocol_mismatch": Named("ListenerPoolProtocolMismatch", 409),
    "member_exists": Named("MemberExists"),
    "monitor_exists": Named("OneHealthMonitorPerPool"),
    "session_persistence": Named("SessionPersistenceConfigurationInvalid"),
    "address_taken": Named("IpAddressAlreadyAllocated"),
    "address_outside": Named("InvalidIpForSubnet"),
    "address_not_usable": Named("InvalidIpForSubnet"),
    "gateway_address": Named("InvalidIpForSubnet"),
    "no_free_address": Named("IpAddressGenerationFailure"),
    "subnet_not_found": Named("SubnetNotFound", 404),
    "network_not_found": Named("NetworkNotFound", 404),
    "provider_unknown": Named("ServiceProviderNotFound"),
    "flavor_unknown": Named("FlavorNotFound", 404),
    "l7rule_key_missing": Named("L7RuleKeyMissing", 404),
    "l7rule_regex": Named("L7RuleInvalidRegex"),
    "l7rule_compare_type": Named("L7RuleUnsupportedCompareType"),
    "unsupported": Named("UnsupportedFeature"),
}

V2 = NeutronStyle(BASE, Names(CODES, MISSING))
