"""LBaaS v2's names of errors, from ``neutron-lbaas`` 14, and of objects that are not found."""

from evenkeel.api.neutron.errors import ErrorNames, NamedError
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
    "immutable": NamedError("StateInvalid"),
    "has_children": NamedError("EntityInUse", 409),
    "in_use": NamedError("EntityInUse"),
    "listener_port_taken": NamedError("LoadBalancerListenerProtocolPortExists"),
    "default_pool_set": NamedError("ListenerDefaultPoolAlreadySet"),
    "protocol_mismatch": NamedError("ListenerPoolProtocolMismatch", 409),
    "member_exists": NamedError("MemberExists"),
    "monitor_exists": NamedError("OneHealthMonitorPerPool"),
    "session_persistence": NamedError("SessionPersistenceConfigurationInvalid"),
    "address_taken": NamedError("IpAddressAlreadyAllocated"),
    "address_outside": NamedError("InvalidIpForSubnet"),
    "address_not_usable": NamedError("InvalidIpForSubnet"),
    "gateway_address": NamedError("InvalidIpForSubnet"),
    "no_free_address": NamedError("IpAddressGenerationFailure"),
    "subnet_not_found": NamedError("SubnetNotFound", 404),
    "network_not_found": NamedError("NetworkNotFound", 404),
    "provider_unknown": NamedError("ServiceProviderNotFound"),
    "flavor_unknown": NamedError("FlavorNotFound", 404),
    "l7rule_key_missing": NamedError("L7RuleKeyMissing", 404),
    "l7rule_regex": NamedError("L7RuleInvalidRegex"),
    "l7rule_compare_type": NamedError("L7RuleUnsupportedCompareType"),
    "certificate_not_found": NamedError("TLSContainerNotFound", 404),
    "certificate_refused": NamedError("TLSContainerInvalid"),
    "unsupported": NamedError("UnsupportedFeature"),
}

V2 = NeutronStyle(BASE, ErrorNames(CODES, MISSING))
