"""LBaaS v2's names of errors, from ``neutron-lbaas`` 14, and of objects that are not found."""

from evenkeel.api.neutron.errors import ErrorTypes, NeutronErrorType
from evenkeel.api.neutron.style import BASE, NeutronStyle

ENTITY = "EntityNotFound"

MISSING = {
    "Load Balancer": (ENTITY, "loadbalancer"),
    "Listener": (ENTITY, "listener"),
    "Pool": (ENTITY, "pool"),
    "Member": (ENTITY, "member"),
    "Health Monitor": (ENTITY, "healthmonitor"),
    "L7 Policy": (ENTITY, "l7policy"),
    "L7 Rule": (ENTITY, "rule"),
    "Subnet": ("SubnetNotFound", "Subnet"),
    "Network": ("NetworkNotFound", "Network"),
    "Port": ("PortNotFound", "Port"),
    "Flavor": ("FlavorNotFound", "Flavor"),
    "Agent": ("AgentNotFound", "Agent"),
}

CODES = {
    "immutable": NeutronErrorType("StateInvalid"),
    "has_children": NeutronErrorType("EntityInUse", 409),
    "in_use": NeutronErrorType("EntityInUse"),
    "listener_port_taken": NeutronErrorType("LoadBalancerListenerProtocolPortExists"),
    "default_pool_set": NeutronErrorType("ListenerDefaultPoolAlreadySet"),
    "protocol_mismatch": NeutronErrorType("ListenerPoolProtocolMismatch", 409),
    "member_exists": NeutronErrorType("MemberExists"),
    "monitor_exists": NeutronErrorType("OneHealthMonitorPerPool"),
    "session_persistence": NeutronErrorType("SessionPersistenceConfigurationInvalid"),
    "address_taken": NeutronErrorType("IpAddressAlreadyAllocated"),
    "address_outside": NeutronErrorType("InvalidIpForSubnet"),
    "address_not_usable": NeutronErrorType("InvalidIpForSubnet"),
    "gateway_address": NeutronErrorType("InvalidIpForSubnet"),
    "no_free_address": NeutronErrorType("IpAddressGenerationFailure"),
    "subnet_not_found": NeutronErrorType("SubnetNotFound", 404),
    "network_not_found": NeutronErrorType("VipNetworkInvalid", 400),
    "network_without_subnet": NeutronErrorType("VipNetworkInvalid"),
    "pool_elsewhere": NeutronErrorType("ListenerAndPoolMustBeOnSameLoadbalancer", 400),
    "provider_unknown": NeutronErrorType("ServiceProviderNotFound"),
    "flavor_unknown": NeutronErrorType("FlavorNotFound", 404),
    "l7rule_key_missing": NeutronErrorType("L7RuleKeyMissing", 404),
    "l7rule_key_invalid": NeutronErrorType("L7RuleInvalidKey"),
    "l7rule_value": NeutronErrorType("L7RuleInvalidHeaderValue"),
    "l7rule_cookie_value": NeutronErrorType("L7RuleInvalidCookieValue"),
    "l7rule_regex": NeutronErrorType("L7RuleInvalidRegex"),
    "l7rule_compare_type": NeutronErrorType("L7RuleUnsupportedCompareType"),
    "certificate_not_found": NeutronErrorType("TLSContainerNotFound", 404),
    "certificate_refused": NeutronErrorType("TLSContainerInvalid"),
    "unsupported": NeutronErrorType("UnsupportedFeature"),
}

V2 = NeutronStyle(BASE, ErrorTypes(CODES, MISSING))
